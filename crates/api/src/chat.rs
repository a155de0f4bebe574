//! The AI SDK's default request, taken as it is: its extra fields are its own business, so unknown
//! fields of messages are accepted here, and only the last message is read.
//!
//! Everything borrows from the body: nothing that a client sends becomes a tree in memory.

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::limits::CHAT_PARTS_MAX;

use crate::history::{Few, History};

/// The body that `DefaultChatTransport` sends.
#[derive(Debug, Clone, Deserialize)]
pub struct ChatRequest<'a> {
    /// The chat's id, chosen by the client; it names a session from the first request on.
    pub id: String,
    /// The conversation as the client sees it.
    #[serde(default, borrow)]
    pub messages: History<'a>,
    /// `submit-message` or `regenerate-message`.
    #[serde(default)]
    pub trigger: Option<String>,
}

/// The last message, as the SDK keeps it.
#[derive(Debug, Clone, Deserialize)]
pub struct ChatMessage<'a> {
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// Its parts, as the SDK writes them.
    #[serde(default, borrow)]
    pub parts: Few<ChatPart<'a>, CHAT_PARTS_MAX>,
}

/// What is looked at of a part, each field as it stands in the body: which of them mean something, and
/// of what kind they are, differs from part to part.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ChatPart<'a> {
    /// What kind of part it is.
    #[serde(borrow, rename = "type")]
    pub kind: Option<&'a RawValue>,
    /// The words of a text.
    #[serde(borrow)]
    pub text: Option<&'a RawValue>,
    /// The media type of a file.
    #[serde(borrow)]
    pub media_type: Option<&'a RawValue>,
    /// A file's `data:` URL.
    #[serde(borrow)]
    pub url: Option<&'a RawValue>,
    /// How far a tool call is.
    #[serde(borrow)]
    pub state: Option<&'a RawValue>,
    /// A person's answer to a tool call.
    #[serde(borrow)]
    pub approval: Option<&'a RawValue>,
}

/// A person's answer to a tool call.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ChatApproval<'a> {
    /// Which question it answers.
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    /// Whether the call may run.
    pub approved: bool,
    /// What to tell the model when it may not.
    #[serde(default, borrow)]
    pub reason: Option<&'a RawValue>,
}

/// Reads a text; none when it is something else.
#[must_use]
pub fn word(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}
