//! The format of a plan: what the server answers, and how it breaks.
//!
//! A plan is JSON; unknown fields are refused and every field has a default.
//!
//! ```json
//! { "turns": [ { "blocks": [ { "type": "text", "text": "I look." },
//!                            { "type": "call", "tool": "bash", "input": { "command": "ls" } } ] },
//!              { "blocks": [ { "type": "text", "text": "Done." } ] } ],
//!   "faults": [ { "kind": "status", "status": 529 }, { "kind": "none" } ] }
//! ```
//!
//! The turn is the number of assistant messages after the last plain user message (one without tool
//! results or their images); the fault is the number of the request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the server does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// The turns when no story fits.
    pub turns: Vec<Turn>,
    /// Turns for certain user messages.
    pub stories: Vec<Story>,
    /// In place of `turns`: so many turns that each call `bash` with `true`, then a last word.
    pub instant: Option<usize>,
    /// What happens to each request, in order; later ones are served well.
    pub faults: Vec<Fault>,
    /// The key that clients must show; none: any or none.
    pub key: Option<String>,
    /// The models that exist; none: any.
    pub models: Vec<String>,
    /// The most characters of a streamed piece.
    pub piece_chars: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            turns: Vec::new(),
            stories: Vec::new(),
            instant: None,
            faults: Vec::new(),
            key: None,
            models: Vec::new(),
            piece_chars: 16,
        }
    }
}

/// Turns for user messages that hold a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// The text.
    pub when: String,
    /// The turns.
    pub turns: Vec<Turn>,
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// What it holds.
    pub blocks: Vec<Block>,
    /// The vendor's own word for why it ends; by default what fits.
    pub stop: Option<String>,
    /// What it costs; by default counted from the sizes.
    pub usage: Option<Tokens>,
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
        /// The signature that must come back with it.
        #[serde(default)]
        signature: String,
    },
    /// Thinking that the vendor hides; not part of Chat Completions.
    Redacted {
        /// The encrypted block.
        data: String,
    },
    /// A tool call.
    Call {
        /// The tool's name.
        tool: String,
        /// The arguments; a string is sent as it is, so that it may be broken JSON.
        #[serde(default)]
        input: Value,
        /// The id; made from the call's place when absent.
        #[serde(default)]
        id: Option<String>,
    },
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// Input in no cache.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Reasoning.
    pub reasoning: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
}

/// How a request goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// It does not.
    None,
    /// An error status.
    Status {
        /// The status.
        status: u16,
        /// Further headers.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The body; by default the vendor's own for that status.
        #[serde(default)]
        body: Option<String>,
        /// The body's media type.
        #[serde(default)]
        content_type: Option<String>,
    },
    /// An error page of a proxy.
    Html {
        /// The status.
        status: u16,
    },
    /// The connection ends after so many bytes of the body.
    Cut {
        /// How many.
        after_bytes: usize,
    },
    /// The body stops after so many bytes and the connection stays open.
    Silence {
        /// How many.
        after_bytes: usize,
    },
    /// Nothing is ever answered.
    Hang,
    /// The body comes byte by byte, with pauses.
    Dribble {
        /// The pause, milliseconds.
        pause_ms: u64,
    },
    /// Every byte of the body is a piece of its own.
    Split,
    /// The body is right and its media type is not.
    ContentType {
        /// The media type.
        value: String,
    },
    /// A streaming request is answered whole.
    Whole,
    /// The stream ends in order, without its last events.
    NoEnd,
    /// So many events, then the vendor's error event.
    ErrorEvent {
        /// How many.
        after_events: usize,
        /// The vendor's error type.
        error: String,
    },
    /// Pieces of several calls take turns. Chat Completions only.
    Interleave,
}

impl Plan {
    /// Returns a plan of so many `bash` calls and a last word.
    #[must_use]
    pub fn instant(calls: usize) -> Self {
        Self { instant: Some(calls), piece_chars: 4_096, ..Self::default() }
    }

    /// Returns a plan of turns.
    #[must_use]
    pub fn of(turns: Vec<Turn>) -> Self {
        Self { turns, ..Self::default() }
    }

    /// Returns the turn for a place in a conversation.
    pub(crate) fn turn(&self, user: &str, step: usize) -> Option<Turn> {
        if let Some(story) = self.stories.iter().find(|story| user.contains(&story.when)) {
            return story.turns.get(step).cloned();
        }
        let Some(calls) = self.instant else { return self.turns.get(step).cloned() };
        let block = if step < calls {
            let input = serde_json::json!({ "command": "true" });
            Block::Call { tool: "bash".into(), input, id: None }
        } else {
            Block::Text { text: "done".into() }
        };
        Some(Turn { blocks: vec![block], ..Turn::default() })
    }
}

impl Turn {
    /// Returns a turn of words.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { blocks: vec![Block::Text { text: text.into() }], ..Self::default() }
    }

    /// Returns the tokens: as planned, else four bytes each.
    pub(crate) fn tokens(&self, asked_bytes: usize) -> Tokens {
        let size = |block: &Block| match block {
            Block::Text { text } | Block::Reasoning { text, .. } => text.len(),
            Block::Redacted { data } => data.len(),
            Block::Call { input, .. } => input.to_string().len(),
        };
        let output: usize = self.blocks.iter().map(size).sum();
        self.usage.unwrap_or_else(|| Tokens {
            input: u64::try_from(asked_bytes / 4 + 1).unwrap_or(u64::MAX),
            output: u64::try_from(output / 4 + 1).unwrap_or(u64::MAX),
            ..Tokens::default()
        })
    }

    /// Tells whether it calls a tool.
    pub(crate) fn calls(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Call { .. }))
    }
}

/// Cuts a text into pieces of at most so many characters; an empty text has none.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Returns the text that a call's arguments are sent as.
pub(crate) fn raw_input(input: &Value) -> String {
    match input.as_str() {
        Some(raw) => raw.to_owned(),
        None if input.is_null() => "{}".to_owned(),
        None => input.to_string(),
    }
}
