//! Registered workspaces: listed, added, attached, removed. No shape here holds a token.

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
