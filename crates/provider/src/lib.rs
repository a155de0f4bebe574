//! The seam to language models, and one file per vendor dialect.
//!
//! A provider sees a prompt and answers with deltas. It never sees a path, a session or a tool's code,
//! never retries, and never turns to another provider by itself.

pub mod delta;
pub mod prompt;
pub mod script;
pub mod scripted;
pub mod seam;
