//! Running a prompt.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use vocab::{
    limits::USER_PARTS_MAX,
    message::{Mode, Role},
};

use crate::{
    history::{self, Few},
    secret::Key,
};

/// The body of `POST /agent/run`. Whoever receives it reads the messages as a [`History`].
///
/// [`History`]: crate::history::History
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest<M = Vec<RunMessage>> {
    /// The conversation as the client sees it; only its last user message is new. The stored transcript
    /// is the authority.
    pub messages: M,
    /// An existing session; a new one is made when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The model's id; the session's or the configured default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// The provider's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// A registered workspace, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// A local directory in place of a registered workspace. Absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// How much to ask; the session's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Whether somebody is there to answer questions; false when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    /// Two requests with the same key are one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Keys the client resolved from its own environment, by provider. Held for this run only, and
    /// taken over the Unix socket only.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "history::keys"
    )]
    pub keys: BTreeMap<String, Key>,
}

/// A message of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunMessage {
    /// The client's id for it; ours replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `user` or `assistant`.
    pub role: Role,
    /// Its text; or `parts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Its parts; or `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<RunPart>>,
}

/// A part of a user's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum RunPart {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture or file, inline.
    File {
        /// Its media type.
        #[serde(rename = "mediaType")]
        media_type: String,
        /// A `data:` URL in base64.
        url: String,
        /// Its name, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
    },
}

/// The last message of a request, as it is read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastMessage {
    /// The client's id for it; ours replaces it.
    #[serde(default)]
    pub id: Option<String>,
    /// `user` or `assistant`.
    pub role: Role,
    /// Its text; or `parts`.
    #[serde(default)]
    pub content: Option<String>,
    /// Its parts; or `content`.
    #[serde(default)]
    pub parts: Option<Few<LastPart, USER_PARTS_MAX>>,
}

/// A [`RunPart`] as it is read: a tagged enum would be held as a tree first, of any size.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastPart {
    /// Which part it is.
    #[serde(rename = "type")]
    pub kind: PartKind,
    /// The words of a text.
    #[serde(default)]
    pub text: Option<String>,
    /// The media type of a file.
    #[serde(default, rename = "mediaType")]
    pub media_type: Option<String>,
    /// A file's `data:` URL.
    #[serde(default)]
    pub url: Option<String>,
    /// A file's name, for people.
    #[serde(default)]
    pub filename: Option<String>,
}

/// Which part a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Words.
    Text,
    /// A picture or file.
    File,
}

/// The first frame of `POST /agent/run`: `event: stead-session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFrame {
    /// The session.
    pub session_id: String,
    /// The run.
    pub run_id: String,
    /// The assistant message it writes.
    pub message_id: String,
}

/// The body of `POST /agent/abort`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbortRequest {
    /// The session.
    pub session_id: String,
}

/// The answer to a request that has nothing else to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Always true; failures are problems.
    pub ok: bool,
}

/// The body of `POST /agent/answer`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// The session.
    pub session_id: String,
    /// The question.
    pub block_id: String,
    /// Whether the call may run.
    pub approved: bool,
    /// What to tell the model when it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Keys the client resolved from its own environment, by provider; Unix socket only.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "history::keys"
    )]
    pub keys: BTreeMap<String, Key>,
}

/// The answer to `POST /agent/answer`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerDone {
    /// Always true.
    pub ok: bool,
    /// Whether the run works again; false while it waits for other answers.
    pub resumed: bool,
    /// The run.
    pub run_id: String,
}
