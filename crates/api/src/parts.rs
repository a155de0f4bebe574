//! What the run stream and stored messages tell alike: the parts that are ours, and how a call ended.
//!
//! Everything borrows, so that a long conversation is written without becoming a tree in memory.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use vocab::{
    ids::MessageId,
    outcome::{Content, Effect, Outcome},
};

/// A part that is ours; the SDK carries it along as it is.
#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(crate) enum DataPart<'a> {
    /// What the SDK's error state has no room for.
    #[serde(rename = "data-stead-outcome")]
    Outcome {
        /// The call's.
        id: &'a str,
        /// Code, effect and details of a failed call.
        data: OutcomeData<'a>,
    },
    /// A message that entered a live run.
    #[serde(rename = "data-stead-steer")]
    Steer {
        /// The message's.
        id: &'a str,
        /// Which message.
        data: SteerData<'a>,
    },
    /// A note of the run itself.
    #[serde(rename = "data-stead-note")]
    Note {
        /// The part's.
        id: TextId,
        /// What it says.
        data: NoteData<'a>,
    },
}

impl<'a> DataPart<'a> {
    /// Tells more of a call that failed.
    pub(crate) fn outcome(call: &'a str, outcome: &'a Outcome) -> Self {
        let failure = outcome.failure.as_ref();
        let data = OutcomeData {
            call_id: call,
            code: failure.map(|failure| failure.code.as_str()),
            effect: outcome.effect(),
            hint: failure.and_then(|failure| failure.hint.as_deref()),
            details: outcome.details.as_ref(),
        };
        Self::Outcome { id: call, data }
    }

    /// Tells which message steers.
    pub(crate) fn steer(message: &'a MessageId) -> Self {
        Self::Steer { id: message.as_str(), data: SteerData { message_id: message.as_str() } }
    }

    /// Tells a note.
    pub(crate) fn note(part: usize, kind: &'a str, text: &'a str) -> Self {
        Self::Note { id: TextId(part), data: NoteData { kind, text } }
    }
}

/// The data of [`DataPart::Outcome`].
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutcomeData<'a> {
    call_id: &'a str,
    code: Option<&'a str>,
    effect: Effect,
    hint: Option<&'a str>,
    details: Option<&'a Value>,
}

/// The data of [`DataPart::Steer`].
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SteerData<'a> {
    message_id: &'a str,
}

/// The data of [`DataPart::Note`].
#[derive(Debug, Serialize)]
pub(crate) struct NoteData<'a> {
    kind: &'a str,
    text: &'a str,
}

/// A successful outcome as the `output` of a tool part.
#[derive(Debug, Serialize)]
pub(crate) struct ToolOutput<'a> {
    content: Blocks<'a>,
    details: Option<&'a Value>,
}

impl<'a> ToolOutput<'a> {
    /// Tells what a call gave.
    pub(crate) fn of(outcome: &'a Outcome) -> Self {
        Self { content: Blocks(&outcome.content), details: outcome.details.as_ref() }
    }
}

#[derive(Debug)]
struct Blocks<'a>(&'a [Content]);

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|block| match block {
            Content::Text { text } => Block::Text { text },
            Content::Image { media_type, data } => Block::Image { media_type, data },
        }))
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Block<'a> {
    Text { text: &'a str },
    Image { media_type: &'a str, data: &'a str },
}

/// The id that text of a part has on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextId(pub(crate) usize);

impl fmt::Display for TextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl Serialize for TextId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
