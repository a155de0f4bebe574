//! What a model answers, piece by piece.
//!
//! Blocks never overlap: a block is ended before the next one starts, whatever order the wire used.

use serde_json::Value;
use vocab::{
    ids::CallId,
    message::{StopReason, Usage},
    outcome::{Effect, Failure},
};

/// A piece of an answer. A stream of them ends with exactly one [`Delta::Done`] or [`Delta::Failed`].
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Words begin.
    TextStart,
    /// Words.
    Text(String),
    /// The words are complete.
    TextEnd,
    /// Thinking begins.
    ReasoningStart,
    /// Thinking.
    Reasoning(String),
    /// The thinking is complete.
    ReasoningEnd {
        /// What the provider wants back unchanged.
        signature: Option<String>,
        /// Whether `signature` is an encrypted block in place of the text.
        redacted: bool,
    },
    /// A tool call begins.
    CallStart {
        /// The model's id for it; made up when the wire had none.
        id: CallId,
        /// The tool's name.
        tool: String,
    },
    /// A piece of the call's arguments, raw.
    CallInput(String),
    /// The arguments are complete.
    CallEnd {
        /// The arguments: an object, or the raw text when it was not JSON.
        input: Value,
    },
    /// Tokens so far; each replaces the one before.
    Usage(Usage),
    /// The model is done.
    Done(StopReason),
    /// The answer broke off. What came before it stands.
    Failed(ProviderFailure),
}

/// Why a model call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFailure {
    /// Code, message and hint. The effect says whether the model may have answered.
    pub failure: Failure,
    /// Whether trying again could help, told from the structured status alone.
    pub retry: Retry,
}

/// Whether trying a model call again could help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It could not.
    Never,
    /// It could, after the usual wait.
    Backoff,
    /// It could, after the wait the provider asked for.
    After {
        /// Milliseconds.
        wait_ms: u64,
    },
}

impl ProviderFailure {
    /// Builds a failure that no retry helps.
    #[must_use]
    pub fn fatal(code: &str, effect: Effect, message: impl Into<String>) -> Self {
        Self { failure: Failure::new(code, effect, message), retry: Retry::Never }
    }
}
