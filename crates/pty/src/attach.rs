//! The terminal that looks at a job.

mod chord;
mod keys;
mod sequence;

pub use chord::{BadChord, Chord};
