//! What a directory's transfer says of its entries, as it is written.
//!
//! What may be in one, and in which order, is checked where it is read.

use serde::{Deserialize, Serialize};

/// One thing in a directory. Paths are relative to it, with `/` between names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// A directory.
    Dir {
        /// Where.
        path: String,
        /// Its permission bits.
        mode: u32,
    },
    /// A regular file.
    File {
        /// Where.
        path: String,
        /// Its permission bits.
        mode: u32,
        /// Its size in bytes.
        size: u64,
        /// SHA-256 of it.
        sha256: String,
    },
    /// Something that does not travel: a link, a pipe, a device.
    Left {
        /// Where.
        path: String,
        /// What it is, for people.
        what: String,
    },
}

impl Entry {
    /// Returns where it stands.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Dir { path, .. } | Self::File { path, .. } | Self::Left { path, .. } => path,
        }
    }
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entries {
    /// In the order of their paths, name by name.
    pub entries: Vec<Entry>,
}
