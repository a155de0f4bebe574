//! What clients and hosts say to each other inside frames, as JSON. Unknown fields are ignored on both
//! sides: a host may be older or newer than whoever talks to it.
//!
//! Not here: what a host does with it.

use std::path::PathBuf;

use arbiter::Explanation;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
pub use vocab::job::JobState as Life;
use vocab::outcome::Failure;

/// The protocol spoken here. A host also understands the one before.
pub const PROTOCOL: u32 = 1;

/// What this program understands beyond the protocol's first version.
pub const FEATURES: &[&str] = &[
    "explain", "flush", "focus", "record", "report", "resync", "roles", "send", STATES, "upgrade",
    "within",
];

/// The feature of a `control` client that wants to be told every change of STATE.
pub const STATES: &str = "states";

/// What a client wants to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks and types. Takes the writer's place.
    Attach,
    /// Looks. Never types, never gives its size.
    View,
    /// Asks for operations and sees nothing.
    #[default]
    Control,
    /// Gets the raw output from now on.
    Tail,
}

/// What a client wants to see of what has scrolled away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scrollback {
    /// Below what its terminal has already.
    #[default]
    Append,
    /// In place of what its terminal has.
    Replace,
    /// Nothing of it.
    None,
}

/// HELLO: the first frame of every client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What it wants to be.
    pub role: Role,
    /// The columns of its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u32>,
    /// The lines of its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// The protocol it speaks; the first one if it does not say.
    #[serde(default = "first_protocol")]
    pub protocol: u32,
    /// What it understands beyond that.
    #[serde(default)]
    pub features: Vec<String>,
    /// Sends the writer before it away.
    #[serde(default)]
    pub steal: bool,
    /// What it wants to see of what has scrolled away.
    #[serde(default)]
    pub scrollback: Scrollback,
    /// What its terminal answers when it is asked who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<Terminal>,
    /// The socket of the host in whose job it shows this one, if it runs in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<PathBuf>,
}

fn first_protocol() -> u32 {
    1
}

/// A client's terminal, so that its answers are the same after it has left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Parameters of its primary attributes (DA1).
    pub attributes: String,
    /// Parameters of its secondary attributes (DA2).
    pub version: String,
    /// Its name and version (XTVERSION).
    pub name: String,
    /// A cell's width and height in pixels.
    pub cell: (u16, u16),
    /// The color of text.
    pub foreground: (u8, u8, u8),
    /// The color behind it.
    pub background: (u8, u8, u8),
}

/// RESIZE: a client's new size. Any number may be said; a host takes the nearest that can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resize {
    /// Columns.
    pub cols: u32,
    /// Lines.
    pub rows: u32,
}

/// FOCUS: whether a client's window has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Focus {
    /// It has.
    pub focused: bool,
}

/// CONTROL: an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Control {
    /// Returns the screen as text.
    Snapshot {
        /// Lines as they were written, in place of the rows that the terminal has made of them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
    },
    /// Returns what the host knows.
    Status,
    /// Lets go of everyone who looks.
    Detach,
    /// Ends the program and all it has started.
    Terminate,
    /// Writes what is recorded so far, for whoever wants to read it now.
    Flush,
    /// Goes on as another build of the program; neither the job nor its clients notice.
    Upgrade {
        /// The program's file.
        path: PathBuf,
    },
    /// Reports from inside the job how it is.
    Report {
        /// How it is.
        state: Said,
        /// What it says or waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The report's number among those of its source.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
        /// Who reports.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The job's token, which only its program knows.
        token: Token,
    },
    /// Returns why the job is in the state it is in.
    Explain,
    /// Types a text.
    Send {
        /// The text, line ends as a keyboard makes them (`\r`).
        text: String,
    },
}

/// How a job says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// It works.
    Working,
    /// It goes on once somebody has acted.
    Blocked,
    /// It stands at its prompt.
    Idle,
    /// Its turn has ended; the same.
    Done,
}

/// What a job proves itself with. It is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// REPLY: the answer to an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reply {
    /// To `snapshot`.
    Snapshot {
        /// The lines of the screen, without blanks at their ends.
        text: String,
    },
    /// To `status`.
    Status(Box<Status>),
    /// To `explain`.
    Explained(Box<Explanation>),
    /// To what was done and has nothing to tell.
    Done {
        /// Always true.
        ok: bool,
    },
    /// To what was not done.
    Failed {
        /// Why.
        error: Failure,
    },
}

/// What a host knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The program's process id.
    pub worker_pid: u32,
    /// Tells whether the program runs.
    pub alive: bool,
    /// How many look or type.
    pub attached: usize,
    /// The terminal's columns.
    pub cols: u16,
    /// The terminal's lines.
    pub rows: u16,
    /// The host's process id.
    pub host_pid: u32,
    /// The host's version.
    pub version: String,
    /// The protocol that the host speaks.
    pub protocol: u32,
    /// What it understands beyond that.
    pub features: Vec<String>,
    /// The title that the program set.
    pub title: String,
    /// Whether what it shows is recorded.
    #[serde(default)]
    pub recording: Recording,
    /// The sockets of hosts in whose jobs this one is shown, as clients have said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_within: Vec<PathBuf>,
}

/// Whether a job is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Recording {
    /// Nobody wanted it, or the host is too old to say.
    #[default]
    Off,
    /// It is.
    On,
    /// It cannot be written at the moment, and goes on once it can.
    Paused {
        /// What the system said.
        why: String,
    },
}

/// STATE: what a client may do, the terminal's size, and how the job is. Sent whenever one of it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// What the client is.
    pub role: Role,
    /// Tells whether what it types reaches the program.
    pub writer: bool,
    /// Columns.
    pub cols: u16,
    /// Lines.
    pub rows: u16,
    /// How the job is.
    pub state: Life,
    /// What it says of that in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What it waits for, where somebody must act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// Where that is known from: `process`, `report`, `signal`, `screen` or `quiet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_source: Option<String>,
    /// Since when it is so, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// The protocol that the host speaks.
    #[serde(default = "first_protocol")]
    pub protocol: u32,
}

/// RESYNC: so many bytes of the data after it are a snapshot, whatever came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resync {
    /// The snapshot's length.
    pub bytes: usize,
}

/// DETACHED: why a host lets go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detached {
    /// Why.
    pub reason: Reason,
    /// What was wrong, for `refused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// Why a host lets go of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Another client took its place and sent it away.
    Takeover,
    /// The program has ended.
    Exit,
    /// Somebody asked for it.
    Request,
    /// It said what no client may say, or there are too many.
    Refused,
}

/// Returns a payload's JSON.
#[must_use]
pub fn to_json(value: &impl Serialize) -> Vec<u8> {
    // These shapes have string keys and finite numbers, which JSON can always hold.
    serde_json::to_vec(value).unwrap_or_default()
}

/// Reads a payload; an empty one is an empty object.
///
/// # Errors
/// When it is not of that shape.
pub fn from_json<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Failure> {
    let payload = if payload.is_empty() { b"{}" } else { payload };
    serde_json::from_slice(payload).map_err(|error| {
        Failure::not_started("frame_malformed", format!("a frame cannot be understood: {error}"))
    })
}

#[cfg(test)]
mod tests;
