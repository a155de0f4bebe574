//! How a job is, in one word that every list, frame and fact uses.
//!
//! Not here: how that is found out.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a job is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It runs.
    #[default]
    Working,
    /// It runs, and goes on once somebody has acted.
    Blocked,
    /// It ended with code 0; or it runs, and its turn has ended.
    Done,
    /// It ended otherwise.
    Failed,
    /// It was ended.
    Stopped,
}

impl JobState {
    /// Returns the word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Blocked => "blocked",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
