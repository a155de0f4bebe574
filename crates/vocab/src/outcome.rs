//! How something ended, and whether the world changed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an operation did to the world outside this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing changed; trying again is safe.
    NotStarted,
    /// It happened; trying again would do it twice.
    Completed,
    /// Nobody can tell; a person or a look at the world decides.
    Indeterminate,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotStarted => "not_started",
            Self::Completed => "completed",
            Self::Indeterminate => "indeterminate",
        })
    }
}

/// A failure as every wire tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Stable, `snake_case`; programs match on it.
    pub code: String,
    /// Whether the world changed.
    pub effect: Effect,
    /// One sentence for a person or a model.
    pub message: String,
    /// The next step, where somebody can take one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Failure {
    /// Builds a failure without a hint.
    #[must_use]
    pub fn new(code: &str, effect: Effect, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), effect, message: message.into(), hint: None }
    }

    /// Builds a failure that changed nothing.
    #[must_use]
    pub fn not_started(code: &str, message: impl Into<String>) -> Self {
        Self::new(code, Effect::NotStarted, message)
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A block of what a tool hands to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// The bytes, standard base64 with padding.
        data: String,
    },
}

impl Content {
    /// Builds a text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text blocks among some, joined by line ends.
    #[must_use]
    pub fn plain_text(blocks: &[Self]) -> String {
        let texts = blocks.iter().filter_map(|block| match block {
            Self::Text { text } => Some(text.as_str()),
            Self::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The end of a tool call. `content` is what the model reads, also when the call failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// What the model reads.
    pub content: Vec<Content>,
    /// Structured details for programs: truncation, patch, exit code. Kept on failures too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Absent when the call succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

impl Outcome {
    /// Builds a success from one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], details: None, failure: None }
    }

    /// Builds a failure whose message is also what the model reads, hint included.
    #[must_use]
    pub fn failed(failure: Failure) -> Self {
        let text = match &failure.hint {
            Some(hint) => format!("{}\n{hint}", failure.message),
            None => failure.message.clone(),
        };
        Self { content: vec![Content::text(text)], details: None, failure: Some(failure) }
    }

    /// Adds structured details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Tells whether the world changed. A success counts as completed.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.failure.as_ref().map_or(Effect::Completed, |failure| failure.effect)
    }

    /// Tells whether the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns the text blocks, joined by line ends.
    #[must_use]
    pub fn plain_text(&self) -> String {
        Content::plain_text(&self.content)
    }
}
