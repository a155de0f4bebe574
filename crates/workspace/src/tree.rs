//! A directory as one stream: `u32` big-endian length, a manifest of that many bytes, then the content of its files in
//! the manifest's order.
//!
//! The manifest is JSON and holds the hash of each file, so that its own hash vouches for all. Pure: nothing is opened
//! here. Links are told and never followed, and whoever receives them makes none.

use std::{cmp::Ordering, collections::HashSet};

use bytes::{BufMut, Bytes, BytesMut};
use sha2::{Digest, Sha256};
use vocab::{
    limits::{TREE_DEPTH_MAX, TREE_ENTRIES_MAX, TREE_MANIFEST_BYTES_MAX},
    outcome::Failure,
};

mod reader;

pub use reader::{NoSink, Reader, Sink};
pub use vocab::tree::{Entries, Entry};

/// Bytes of the length before the manifest.
pub const HEAD_BYTES: usize = 4;

/// Why something is no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The stream has another form.
    #[error("no directory's transfer: {0}")]
    Form(&'static str),
    /// A path that may not be in one.
    #[error("{0:?} cannot be a path in a transfer")]
    Path(String),
    /// Too many entries.
    #[error("more than {TREE_ENTRIES_MAX} files and directories")]
    TooMany,
    /// Too many directories inside one another.
    #[error("more than {TREE_DEPTH_MAX} directories inside one another")]
    TooDeep,
    /// The manifest is too long.
    #[error("what its entries are called takes more than {TREE_MANIFEST_BYTES_MAX} bytes")]
    TooLong,
    /// What came is not what was promised.
    #[error("{0} is not what was promised")]
    Mismatch(String),
}

impl TreeError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Form(_) => "tree_invalid",
            Self::Path(_) => "name_invalid",
            Self::TooMany => "too_many_entries",
            Self::TooDeep => "too_deep",
            Self::TooLong => "too_large",
            Self::Mismatch(_) => "transfer_mismatch",
        }
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        Self::not_started(error.code(), error.to_string())
    }
}

/// All entries of a directory, checked: having one proves that its paths stay inside, in an order in which each
/// directory stands before what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    entries: Vec<Entry>,
    json: Bytes,
}

impl Manifest {
    /// Checks entries and brings them into order.
    ///
    /// # Errors
    /// When there are too many, or a path cannot be.
    pub fn new(mut entries: Vec<Entry>) -> Result<Self, TreeError> {
        entries.sort_by(|a, b| compare(a.path(), b.path()));
        check(&entries)?;
        let written = Entries { entries };
        let json = serde_json::to_vec(&written)
            .map_err(|_json| TreeError::Form("it cannot be written"))?;
        if json.len() > TREE_MANIFEST_BYTES_MAX {
            return Err(TreeError::TooLong);
        }
        Ok(Self { entries: written.entries, json: json.into() })
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(json: Bytes) -> Result<Self, TreeError> {
        if json.len() > TREE_MANIFEST_BYTES_MAX {
            return Err(TreeError::TooLong);
        }
        let written: Entries = serde_json::from_slice(&json)
            .map_err(|_json| TreeError::Form("its manifest cannot be read"))?;
        let entries = written.entries;
        let is_ordered =
            entries.is_sorted_by(|a, b| compare(a.path(), b.path()) != Ordering::Greater);
        if !is_ordered {
            return Err(TreeError::Form("its entries are not in order"));
        }
        check(&entries)?;
        Ok(Self { entries, json })
    }

    /// Returns the entries, each directory before what is in it.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns how many bytes the whole stream has.
    #[must_use]
    pub fn stream_bytes(&self) -> u64 {
        let content = self.entries.iter().map(|entry| match entry {
            Entry::File { size, .. } => *size,
            Entry::Dir { .. } | Entry::Left { .. } => 0,
        });
        content.fold((HEAD_BYTES + self.json.len()) as u64, u64::saturating_add)
    }

    /// Returns the hash that vouches for all.
    #[must_use]
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(&self.json))
    }

    /// Returns what stands before the content.
    #[must_use]
    pub fn head(&self) -> Bytes {
        let mut head = BytesMut::with_capacity(HEAD_BYTES + self.json.len());
        // Its bound is far below.
        head.put_u32(u32::try_from(self.json.len()).unwrap_or(u32::MAX));
        head.extend_from_slice(&self.json);
        head.freeze()
    }
}

/// Compares name by name, so that what is in a directory follows it at once.
fn compare(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

fn check(entries: &[Entry]) -> Result<(), TreeError> {
    if entries.len() > TREE_ENTRIES_MAX {
        return Err(TreeError::TooMany);
    }
    let mut dirs = HashSet::new();
    let mut last = None;
    for entry in entries {
        let path = entry.path();
        let bad = || TreeError::Path(path.to_owned());
        let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\0', '\\']);
        if !path.split('/').all(is_name) || last == Some(path) {
            return Err(bad());
        }
        if path.split('/').count() > TREE_DEPTH_MAX {
            return Err(TreeError::TooDeep);
        }
        if path.rsplit_once('/').is_some_and(|(parent, _)| !dirs.contains(parent)) {
            return Err(bad());
        }
        match entry {
            Entry::Dir { mode, .. } if *mode <= 0o7777 => {
                dirs.insert(path);
            }
            Entry::File { mode, sha256, .. } if *mode <= 0o7777 && is_hash(sha256) => {}
            Entry::Left { .. } => {}
            Entry::Dir { .. } | Entry::File { .. } => {
                return Err(TreeError::Form("a mode or a hash is none"));
            }
        }
        last = Some(path);
    }
    Ok(())
}

/// Tells whether a text is a hash as it is written here.
#[must_use]
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes a hash down.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

#[cfg(test)]
mod tests;
