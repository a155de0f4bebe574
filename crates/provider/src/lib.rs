//! The seam to language models, and one file per vendor dialect.
//!
//! A provider sees a prompt and answers with deltas. It never sees a path, a session or a tool's code,
//! never retries, and never turns to another provider by itself.

pub mod arguments;
pub mod catalog;
pub mod delta;
pub mod local;
pub mod models;
pub mod prompt;
pub mod resolve;
pub mod script;
pub mod scripted;
pub mod seam;
pub mod sse;
pub mod timeouts;

mod anthropic;
mod blocks;
mod client;
mod dialect;
mod exchange;
#[cfg(test)]
mod goldens;
mod json;
mod openai_chat;
mod refusal;
mod speaker;
mod transcript;
