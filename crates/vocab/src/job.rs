//! How a job is, in one word that every list, frame and fact uses, and where it works when that is a
//! worktree of its own.
//!
//! Not here: how that is found out, and how such a place is made.

use std::{fmt, path::PathBuf};

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

    /// Returns how a session is whose last run is told as `word`, so that lists of jobs and of sessions say the
    /// same. None for a word that is not known.
    #[must_use]
    pub fn of_run(word: &str) -> Option<Self> {
        Some(match word {
            "running" => Self::Working,
            "parked" => Self::Blocked,
            "idle" | "finished" => Self::Done,
            "failed" | "interrupted" | "step_limit" => Self::Failed,
            "aborted" => Self::Stopped,
            _ => return None,
        })
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A git worktree in which a job works, on a branch of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// Its directory.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// The commit that it began from.
    pub base: String,
    /// Where people find the repository.
    pub repository: PathBuf,
    /// Where the repository keeps its objects and references.
    pub git_dir: PathBuf,
}
