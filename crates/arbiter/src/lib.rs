//! What state a job is in, as a pure function of timestamped facts.
//!
//! Whoever holds a job notes [`fact::Fact`]s; an [`Arbiter`] weighs them and returns a [`Verdict`] with its
//! source, and on request the whole [`Explanation`]: which facts it had, which rules fired, and why the others
//! were overruled. What is particular to one agent stands in data: the table of [`agent`]s and a file of
//! [`rules`] for each whose screens were recorded.
//!
//! Not here: a terminal, a process, a clock, a file. Facts are handed in, and nothing is done about a verdict.

pub mod agent;
pub mod fact;
pub mod rules;

mod court;
mod evidence;
mod explain;
mod judge;
mod verdict;

pub use court::Arbiter;
pub use evidence::Evidence;
pub use explain::{Explanation, Heard, Outcome, Weighed};
pub use verdict::{Confidence, Source, State, Verdict};

#[cfg(test)]
mod recordings;
