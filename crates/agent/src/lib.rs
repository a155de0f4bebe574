//! The loop: a prompt goes to a model, its calls go to tools, their outcomes go back, until it is done.
//!
//! A run is a function of the stored transcript. Each step reads what is stored, does one thing and
//! stores it; no state that matters lives in a future. The crate touches no clock of its own, no file,
//! no socket, no environment and no SQL: it speaks to three seams, a provider, a source of tools and a
//! journal.

pub mod journal;
pub mod transcript;
