//! The format of a script: what a scripted model says, turn by turn.
//!
//! A script is JSON. Every field but the blocks has a default; unknown fields are refused.
//!
//! ```json
//! { "turns": [
//!     { "blocks": [ { "type": "text", "text": "I will look." },
//!                   { "type": "call", "tool": "bash", "input": { "command": "ls" } } ] },
//!     { "expect": [ { "in": "last", "contains": "README.md" } ],
//!       "refuse": "the listing does not show README.md",
//!       "blocks": [ { "type": "text", "text": "The first file is {{last:(\\S+)}}." } ] } ],
//!   "stories": [ { "when": "(?i)title", "turns": [ … ] } ] }
//! ```
//!
//! The story is the first whose `when` is found in the last user message, else `turns`. The turn is
//! the number of assistant messages after that user message: a pure function of the prompt, so a
//! restarted process goes on where the last one stopped.
//!
//! In texts and in strings of inputs, `{{last}}`, `{{all}}`, `{{user}}` and `{{system}}` stand for a
//! [`Source`]; `{{last:REGEX}}` for the first group (else the whole) of the first match in it. A
//! placeholder that finds nothing fails the turn like a failed expectation. Other double braces are
//! left alone.
//!
//! Nothing here reads a file; whoever holds the path hands over the text.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vocab::message::{StopReason, Usage};

use crate::delta::Retry;

/// What a scripted model says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The turns when no story fits.
    #[serde(default)]
    pub turns: Vec<Turn>,
    /// Turns for certain user messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stories: Vec<Story>,
    /// How fast it speaks.
    #[serde(default)]
    pub pace: Pace,
}

/// Turns for user messages that a pattern is found in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// The pattern.
    pub when: String,
    /// The turns.
    pub turns: Vec<Turn>,
}

/// How an answer is cut into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pace {
    /// The most characters of a piece; zero: a block is one piece.
    pub piece_chars: usize,
    /// The wait before each piece, milliseconds.
    pub pause_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { piece_chars: 24, pause_ms: 0 }
    }
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// What must hold before it speaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// What it says before it fails when an expectation does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse: Option<String>,
    /// What it says.
    #[serde(default)]
    pub blocks: Vec<Block>,
    /// Why it stops; by default `tool_use` when it calls a tool, else `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The failure that ends it after its blocks, in place of a stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail: Option<Fail>,
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// Thinking.
    Reasoning {
        /// The thinking.
        text: String,
        /// What the model wants back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call.
    Call {
        /// The tool's name.
        tool: String,
        /// The arguments.
        #[serde(default)]
        input: Value,
        /// The call's id; made from the call's place when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
}

/// Which text of the prompt is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The last tool result after the last user message.
    #[default]
    Last,
    /// Every tool result after the last user message, joined by line ends.
    All,
    /// The last user message.
    User,
    /// The system text.
    System,
}

impl Source {
    /// Reads the name that placeholders use.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "last" => Some(Self::Last),
            "all" => Some(Self::All),
            "user" => Some(Self::User),
            "system" => Some(Self::System),
            _ => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Last => "the last result",
            Self::All => "the results",
            Self::User => "the user's message",
            Self::System => "the system text",
        })
    }
}

/// What the model must have been shown. Every given condition must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Where to look.
    #[serde(default, rename = "in")]
    pub source: Source,
    /// A text that must be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// A text that must not be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// A pattern that must be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// Whether the last tool result must be a failure or a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
}

/// A failure told by the script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    /// Its code.
    pub code: String,
    /// Its message.
    pub message: String,
    /// Whether a retry is worth it; with a number, after so many milliseconds.
    #[serde(default)]
    pub retry: FailRetry,
}

/// Whether a scripted failure may be retried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailRetry {
    /// It may not.
    #[default]
    Never,
    /// It may, after the usual wait.
    Backoff,
    /// It may, after so many milliseconds.
    AfterMs(u64),
}

impl From<FailRetry> for Retry {
    fn from(told: FailRetry) -> Self {
        match told {
            FailRetry::Never => Self::Never,
            FailRetry::Backoff => Self::Backoff,
            FailRetry::AfterMs(wait_ms) => Self::After { wait_ms },
        }
    }
}

/// Why a text is not a script.
#[derive(Debug, thiserror::Error)]
#[error("not a script")]
pub struct BadScript(#[from] serde_json::Error);

impl Script {
    /// Reads a script from its JSON text.
    ///
    /// # Errors
    /// When it is not JSON of this shape.
    pub fn parse(text: &str) -> Result<Self, BadScript> {
        Ok(serde_json::from_str(text)?)
    }

    /// Reads a script from a value.
    ///
    /// # Errors
    /// When it is not of this shape.
    pub fn from_value(value: Value) -> Result<Self, BadScript> {
        Ok(serde_json::from_value(value)?)
    }
}
