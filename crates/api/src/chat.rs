//! The AI SDK's default request, taken as it is: its extra fields are its own business, so unknown
//! fields of messages are accepted here, and only the last user message is read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body that `DefaultChatTransport` sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The chat's id, chosen by the client; it names a session from the first request on.
    pub id: String,
    /// The conversation as the client sees it.
    #[serde(default)]
    pub messages: Vec<ChatMessage>,
    /// `submit-message` or `regenerate-message`.
    #[serde(default)]
    pub trigger: Option<String>,
    /// The message to regenerate.
    #[serde(default, rename = "messageId")]
    pub message_id: Option<String>,
}

/// A message as the SDK keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// The client's id for it.
    #[serde(default)]
    pub id: String,
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// Its parts, as the SDK writes them.
    #[serde(default)]
    pub parts: Vec<Value>,
}
