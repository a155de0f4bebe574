//! Registered workspaces: listed, added, attached, removed, and files that are copied between them. No shape here holds
//! a token.

use serde::{Deserialize, Serialize};
use vocab::place::{Link, Place, Source};

/// A registered workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRow {
    /// Its name.
    pub name: String,
    /// What it is.
    pub place: Place,
    /// Where it was registered.
    pub source: Source,
    /// How it is reached at present.
    pub link: Link,
    /// The directory that is served, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Whether a token is stored for it.
    pub has_token: bool,
}

/// The answer to `GET /workspaces`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceList {
    /// All of them, those of the configuration first.
    pub workspaces: Vec<WorkspaceRow>,
}

/// The body of `POST /workspaces`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddWorkspace {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// What it is.
    pub place: Place,
}

/// The body of `POST /workspaces/{workspace}/attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachWorkspace {
    /// The runtime's address.
    pub address: String,
    /// A file of authorities to trust in the place of the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
}

/// Returns the name under which a workspace's token is stored.
#[must_use]
pub fn token_name(workspace: &str) -> String {
    format!("workspace/{workspace}")
}

/// One end of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyEnd {
    /// A registered workspace; this machine's files when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Where in it; a whole path where there is no workspace.
    pub path: String,
}

/// The body of `POST /workspaces/copy`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyRequest {
    /// What is copied.
    pub from: CopyEnd,
    /// Where to. Into a directory that is there it goes under its own name.
    pub to: CopyEnd,
    /// Whether a directory may be copied, with all in it.
    #[serde(default)]
    pub recursive: bool,
    /// Whether an existing file may be replaced. Directories are never replaced.
    #[serde(default)]
    pub overwrite: bool,
}

/// The name of the event that tells how far a copy has come, with [`CopyProgress`] as data.
pub const COPY_PROGRESS: &str = "stead-copy";
/// The name of the last event of a copy, with [`CopyDone`] as data.
pub const COPY_DONE: &str = "stead-copied";
/// The name of the last event of a copy that failed, with a problem as data.
pub const COPY_FAILED: &str = "stead-copy-failed";

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyProgress {
    /// Bytes that are there.
    pub bytes: u64,
    /// Bytes of the whole.
    pub size: u64,
    /// The attempt, from 1; each goes on where the one before broke off.
    pub attempt: u32,
}

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyDone {
    /// Where it went.
    pub path: String,
    /// Whether it is a directory.
    pub directory: bool,
    /// Bytes that stand there: of a directory, with the list of its entries.
    pub size: u64,
    /// SHA-256 of a file, or of a directory's list of entries with their hashes.
    pub sha256: String,
    /// Whether nothing had that name before.
    pub created: bool,
    /// Bytes that were there from an attempt that broke off.
    pub resumed_from: u64,
    /// How many things of a directory did not travel: links, pipes, devices.
    #[serde(default)]
    pub left_out: usize,
    /// The first of them, each with what it is.
    #[serde(default)]
    pub left_out_first: Vec<String>,
}
