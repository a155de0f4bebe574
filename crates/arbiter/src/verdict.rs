//! What the arbiter says.

use serde::{Deserialize, Serialize};
pub use vocab::job::JobState as State;

use crate::fact::Moment;

/// Where a verdict comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The program runs or has ended; nothing more is known.
    Process,
    /// Somebody inside the job reported.
    Report,
    /// The program said so in band.
    Signal,
    /// Its screen shows it.
    Screen,
    /// It has fallen silent.
    Quiet,
    /// It is a session, which the daemon itself runs.
    Session,
}

impl Source {
    /// Returns the word for it on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Report => "report",
            Self::Signal => "signal",
            Self::Screen => "screen",
            Self::Quiet => "quiet",
            Self::Session => "session",
        }
    }
}

/// How much a verdict is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Nothing speaks against it, and little for it.
    Low,
    /// It was inferred from what is shown.
    Medium,
    /// The program or its hooks said so.
    High,
    /// The kernel said so.
    Certain,
}

/// How a job is, and where that is known from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How it is.
    pub state: State,
    /// What it says of that in a few words: `idle` at its prompt, `quiet` when nothing more is known.
    pub status: Option<String>,
    /// What it waits for, where somebody must act.
    pub waiting_for: Option<String>,
    /// Where that is known from.
    pub source: Source,
    /// Since when it is in that state.
    pub since: Moment,
    /// How much that is worth.
    pub confidence: Confidence,
    /// What decided, for a person.
    pub detail: String,
}
