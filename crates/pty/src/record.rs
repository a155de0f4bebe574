//! What a job has shown over time: written by its host as the program's own bytes with their times, read
//! by whoever wants to see it again, the screen at some moment, or what a host that was killed has left.
//!
//! The format is a promise, `docs/protocol/recording.md`. Not here: what was typed, which is never
//! recorded, and how a recording is shown on a terminal ([`crate::replay`]).

pub mod cast;
mod format;
pub mod page;
mod player;
mod reader;
mod writer;

use std::time::Duration;

pub use player::{mended, recover, text};
pub use reader::{Reader, RecordingError};

pub(crate) use format::Told;
pub(crate) use player::{Player, last};
pub(crate) use writer::{Began, Recorder};

use crate::job::ExitRecord;

/// Something that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When, counted from the recording's beginning.
    pub at: Duration,
    /// What.
    pub what: What,
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The whole terminal as it was.
    Keyframe(Keyframe),
    /// The program wrote these bytes. They may end within a character or a sequence.
    Output(Vec<u8>),
    /// The terminal took another size.
    Size {
        /// Columns.
        columns: u16,
        /// Lines.
        lines: u16,
    },
    /// Something worth finding again, in a few words.
    Marker(String),
    /// The program ended.
    Exit(ExitRecord),
    /// So many bytes of output could not be recorded.
    Gap {
        /// How many.
        n_bytes: u64,
    },
}

/// A terminal as it was at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyframe {
    /// Columns.
    pub columns: u16,
    /// Lines.
    pub lines: u16,
    /// The time of day, in milliseconds since the Unix epoch.
    pub wall: i64,
    /// Tells whether it is what a terminal is before a program has written anything.
    pub is_fresh: bool,
    /// Tells whether it is needed: the events before it do not lead here. Who has followed them skips it
    /// otherwise.
    pub is_jump: bool,
    /// The bytes that rebuild it in a terminal of that size.
    pub snapshot: Vec<u8>,
}

#[cfg(test)]
pub(crate) mod tests;
