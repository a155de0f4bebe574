//! What a host hands to the build that goes on in its place: a header as JSON, then the bytes that it
//! counts. It lives in memory that both can see, for the moment between the two.
//!
//! The header says what it says in names, and unknown ones are ignored, so that builds a little apart
//! understand each other. Those further apart do not, and the job goes on with less.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
};

use arbiter::Evidence;
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use screen::{Persona, Size};
use serde::{Deserialize, Serialize};
use vocab::limits::HOST_STATE_BYTES_MAX;

use super::{client::Flow, typed::Sorter};
use crate::{
    hello::{self, Role, State, Terminal},
    record::Began,
};

/// The versions of it that this build understands; it writes the newest that the other one does.
pub(super) const VERSIONS: &[u32] = &[1];

const MAGIC: [u8; 8] = *b"STEADHST";

/// Magic, version and the header's length.
const PREAMBLE_BYTES: usize = 16;

/// All that is handed over, besides descriptors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Handed {
    /// The build that wrote it.
    pub(super) from: String,
    /// Who asked for it, and is to be answered.
    pub(super) asker: u64,
    pub(super) size: (u16, u16),
    pub(super) terminal: Terminal,
    pub(super) began: Began,
    pub(super) writer: Option<u64>,
    pub(super) is_asked: bool,
    pub(super) n_seen: u64,
    /// What is known of how the job is.
    #[serde(default)]
    pub(super) known: Option<Known>,
    pub(super) clients: Vec<Connection>,
    /// The screen and its scrollback.
    #[serde(skip)]
    pub(super) snapshot: Vec<u8>,
    /// What was typed and not read.
    #[serde(skip)]
    pub(super) input: Vec<u8>,
}

/// What is known of how the job is, and the moment on the clock that it speaks of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) now_ms: i64,
    pub(super) evidence: Evidence,
}

/// A client.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Connection {
    pub(super) id: u64,
    pub(super) role: Option<Role>,
    pub(super) size: Option<(u16, u16)>,
    pub(super) sorter: Sorter,
    pub(super) told: Option<State>,
    pub(super) follows: bool,
    #[serde(default)]
    pub(super) within: Option<PathBuf>,
    pub(super) flow: Flow,
    pub(super) is_behind: bool,
    pub(super) n_skipped: usize,
    #[serde(skip)]
    pub(super) unread: Vec<u8>,
    #[serde(skip)]
    pub(super) unsent: Vec<u8>,
}

/// What was handed over cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandedError {
    #[error("the state has {0} bytes, more than {HOST_STATE_BYTES_MAX}")]
    TooLarge(usize),
    #[error("the state cannot be understood: {0}")]
    Malformed(String),
    #[error("the state cannot be handed over: {0}")]
    Io(#[from] io::Error),
}

impl Handed {
    /// Writes it where the next program can read it.
    pub(super) fn write(&self) -> Result<OwnedFd, HandedError> {
        let mut lengths = Vec::new();
        let mut bodies = Vec::new();
        for body in self.bodies() {
            lengths.push(body.len());
            bodies.extend_from_slice(body);
        }
        let header = hello::to_json(&(self, lengths));
        let mut bytes = MAGIC.to_vec();
        let version = VERSIONS.last().copied().unwrap_or_default();
        bytes.extend_from_slice(&version.to_be_bytes());
        let n_header = u32::try_from(header.len()).ok().ok_or_else(|| too_large(header.len()))?;
        bytes.extend_from_slice(&n_header.to_be_bytes());
        bytes.extend_from_slice(&header);
        bytes.append(&mut bodies);
        if HOST_STATE_BYTES_MAX < bytes.len() {
            return Err(too_large(bytes.len()));
        }
        let memory = memfd_create("stead-host", MemfdFlags::CLOEXEC).map_err(io::Error::from)?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let n_written = rustix::io::write(&memory, rest).map_err(io::Error::from)?;
            rest = &rest[n_written..];
        }
        Ok(memory)
    }

    fn bodies(&self) -> impl Iterator<Item = &[u8]> {
        let clients = self.clients.iter();
        let clients = clients.flat_map(|client| [&client.unread[..], &client.unsent[..]]);
        [&self.snapshot[..], &self.input[..]].into_iter().chain(clients)
    }

    /// Reads what the program before has written.
    pub(super) fn read(memory: impl AsFd) -> Result<Self, HandedError> {
        let n_bytes = fstat(&memory).map_err(io::Error::from)?.st_size;
        let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        if HOST_STATE_BYTES_MAX < n_bytes {
            return Err(too_large(n_bytes));
        }
        let mut bytes = vec![0; n_bytes];
        let mut n_read = 0;
        while n_read < n_bytes {
            let at = u64::try_from(n_read).unwrap_or(u64::MAX);
            match rustix::io::pread(&memory, &mut bytes[n_read..], at).map_err(io::Error::from)? {
                0 => return Err(HandedError::Malformed("it is cut".into())),
                n_more => n_read += n_more,
            }
        }
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self, HandedError> {
        let malformed = |why: &str| HandedError::Malformed(why.to_owned());
        let (preamble, rest) = bytes
            .split_first_chunk::<PREAMBLE_BYTES>()
            .filter(|(preamble, _)| preamble.starts_with(&MAGIC))
            .ok_or_else(|| malformed("it is none of a host"))?;
        let [.., a, b, c, d, e, f, g, h] = *preamble;
        let version = u32::from_be_bytes([a, b, c, d]);
        if !VERSIONS.contains(&version) {
            return Err(HandedError::Malformed(format!("it is of version {version}")));
        }
        let n_header = usize::try_from(u32::from_be_bytes([e, f, g, h])).unwrap_or(usize::MAX);
        let (header, mut rest) =
            rest.split_at_checked(n_header).ok_or_else(|| malformed("it is cut"))?;
        let (mut handed, lengths): (Self, Vec<usize>) =
            serde_json::from_slice(header).map_err(|error| malformed(&error.to_string()))?;
        let mut lengths = lengths.into_iter();
        let mut take = || {
            let (body, after) = rest.split_at_checked(lengths.next()?)?;
            rest = after;
            Some(body.to_vec())
        };
        let mut body = || take().ok_or_else(|| malformed("it is cut"));
        handed.snapshot = body()?;
        handed.input = body()?;
        for client in &mut handed.clients {
            client.unread = body()?;
            client.unsent = body()?;
        }
        Ok(handed)
    }
}

fn too_large(n_bytes: usize) -> HandedError {
    HandedError::TooLarge(n_bytes)
}

/// Returns a size as it is handed over.
pub(super) fn numbers(size: Size) -> (u16, u16) {
    (size.columns(), size.lines())
}

/// Returns the terminal that a program believes to be in, as it is handed over.
pub(super) fn terminal(persona: &Persona) -> Terminal {
    let Persona { attributes, version, name, cell, foreground, background } = persona.clone();
    Terminal { attributes, version, name, cell, foreground, background }
}

#[cfg(test)]
mod tests;
