//! Registered places: what a workspace's name stands for.

use serde::{Deserialize, Serialize};

/// What a registered place is. No kind holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Place {
    /// A directory of the daemon's machine.
    Local {
        /// Where it is, a whole path.
        path: String,
    },
    /// A runtime that is called.
    Remote {
        /// Its address: `wss://HOST[:PORT]`, `ws://` on this machine, `unix:/PATH`.
        address: String,
        /// A file of authorities to trust in the place of the machine's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ca: Option<String>,
        /// Which workspace is meant, where the runtime serves several below a shared parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
    },
    /// A runtime that is started over ssh, and speaks over its pipe.
    Ssh {
        /// The host, as ssh knows it.
        host: String,
        /// The directory there.
        root: String,
        /// Whether programs may run there.
        #[serde(default)]
        exec: bool,
    },
    /// A directory that is known before a runtime serves it.
    Deferred {
        /// The root that a runtime must serve.
        expected_root: String,
        /// The runtime that was attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
        /// A file of authorities to trust in the place of the machine's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ca: Option<String>,
    },
}

/// Where a place was registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In the configuration: only its editor changes it.
    Config,
    /// By a request to the daemon.
    Added,
}

/// How a place is reached at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// Nobody has asked for it yet, or it was let go since.
    Closed,
    /// It is open here.
    Open,
    /// There is a line.
    Connected,
    /// The line is lost and is being taken up again.
    Resuming,
    /// The line is lost; the next request opens one.
    Lost,
    /// No runtime is attached.
    Detached,
}

/// A place with its name, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// What it is.
    pub place: Place,
}

/// The file of places that were added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Them, by name.
    pub workspaces: Vec<Named>,
}

impl Kept {
    /// Reads the file.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Writes it.
    ///
    /// # Errors
    /// Never, as far as is known: every part of it can be written.
    pub fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec_pretty(self)
    }
}
