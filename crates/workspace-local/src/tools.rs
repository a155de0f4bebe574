//! The seven tools: what each is called, what it takes, and who runs it.
//!
//! The order here is the order in which models are told of them.

use std::sync::Arc;

use serde_json::Value;
use vocab::{
    ids::RunId,
    outcome::{Failure, Outcome},
    tool::ToolSpec,
};
use workspace::call::{Envelope, ProgressSink};

use crate::{site::Site, stop::Stop, turn::Turn};

mod arguments;
mod bash;
mod edit;
mod find;
mod grep;
mod ls;
mod read;
mod write;

pub(crate) use bash::{Command, bound_timeout, execute, not_granted};
pub use edit::preview;
pub(crate) use find::walk as find_paths;

/// One call, on a thread where it may block.
pub(crate) struct Job {
    pub(crate) site: Arc<Site>,
    pub(crate) arguments: Value,
    pub(crate) run: RunId,
    pub(crate) envelope: Envelope,
    pub(crate) progress: ProgressSink,
    pub(crate) stop: Stop,
    /// The place in the order of changes; only tools that change files have one.
    pub(crate) turn: Option<Turn>,
}

/// How a tool ends. A failure that has details is an outcome too.
pub(crate) type Ended = Result<Outcome, Failure>;

/// Runs a tool to its end.
pub(crate) type Run = fn(Job) -> Ended;

/// Lists the tools; `bash` only where programs may be run.
/// Returns all tools that a local workspace can have.
#[must_use]
pub fn all() -> Vec<ToolSpec> {
    specs(true)
}

pub(crate) fn specs(exec: bool) -> Vec<ToolSpec> {
    let mut all =
        vec![read::spec(), write::spec(), edit::spec(), ls::spec(), find::spec(), grep::spec()];
    if exec {
        all.insert(1, bash::spec());
    }
    all
}

/// Returns what runs a tool.
pub(crate) fn runner(name: &str) -> Option<Run> {
    match name {
        "read" => Some(read::run),
        "write" => Some(write::run),
        "edit" => Some(edit::run),
        "ls" => Some(ls::run),
        "find" => Some(find::run),
        "grep" => Some(grep::run),
        "bash" => Some(bash::run),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
