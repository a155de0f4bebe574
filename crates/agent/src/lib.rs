//! The loop: a prompt goes to a model, its calls go to tools, their outcomes go back, until it is done.
//!
//! A run is a function of the stored transcript. Each step reads what is stored, does one thing and
//! stores it; no state that matters lives in a future. The crate touches no clock of its own, no file,
//! no socket, no environment and no SQL: it speaks to three seams, a provider, a source of tools and a
//! journal.

mod ahead;
pub mod answer;
pub mod approve;
mod calls;
pub mod check;
pub mod close;
mod draft;
pub mod journal;
mod model;
pub mod next;
mod outlook;
mod parts;
pub mod pen;
pub mod project;
pub mod prompt;
pub mod system;
pub mod toolbelt;
pub mod transcript;
pub mod turn;

#[cfg(test)]
mod tests;
