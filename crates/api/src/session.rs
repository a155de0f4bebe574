//! Sessions as lists and readers see them.

use serde::{Deserialize, Serialize};
use vocab::message::{Mode, Run, Usage};

/// A row of a list of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Its id.
    pub id: String,
    /// The client's own id for it, where one chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Its title; the beginning of the first message until somebody names it.
    pub title: String,
    /// The workspace's name or id.
    pub workspace: String,
    /// Its root, as people write it.
    pub cwd: String,
    /// `provider/model`, once a run chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much it asks.
    pub mode: Mode,
    /// `idle`, `running`, `parked`, or how the last run ended.
    pub state: String,
    /// How many messages it holds.
    pub messages: u64,
    /// Tokens of all its runs.
    pub usage: Usage,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionPage {
    /// The rows, latest activity first.
    pub items: Vec<SessionRow>,
    /// What to pass as `cursor` for the next page.
    pub next_cursor: Option<String>,
}

/// One session with its present or last run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionDetail {
    /// The row.
    #[serde(flatten)]
    pub row: SessionRow,
    /// The run, with the questions it waits for.
    pub run: Option<Run>,
}

/// The query of `GET /sessions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionQuery {
    /// A part of the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Where the former page ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How many rows, at most 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The body of `POST /sessions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A registered workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// A local directory in place of it. Absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Two requests with the same key are one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}
