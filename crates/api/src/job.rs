//! Jobs and sessions in one list, and what can be done with jobs.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use vocab::{job::JobState, outcome::Failure};

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// A program in a terminal of its own.
    Job,
    /// A conversation.
    Session,
}

/// How a job's program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code; null if a signal ended it or it never began.
    pub code: Option<i32>,
    /// The signal's name, `SIG` included.
    pub signal: Option<String>,
    /// When that was seen. RFC 3339.
    pub at: String,
}

/// A row of `GET /jobs`. Absent values are null, so that every row has every field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    /// The job's or session's id.
    pub id: String,
    /// Which of them.
    pub kind: RowKind,
    /// What people call it.
    pub name: String,
    /// Where it works.
    pub cwd: String,
    /// The program and its arguments; empty for sessions.
    pub command: Vec<String>,
    /// How it is.
    pub state: JobState,
    /// A few words about that.
    pub status: Option<String>,
    /// Where that is known from: `process`, `report`, `signal`, `screen` or `quiet`; `session` for sessions.
    pub state_source: Option<String>,
    /// What it waits for, where somebody must act.
    pub waiting_for: Option<String>,
    /// The program's process id while it runs.
    pub pid: Option<u32>,
    /// The version of the job's host, where that is another one than the daemon's. There only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_version: Option<String>,
    /// Whether lists keep showing it.
    pub pinned: bool,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339.
    pub ended_at: Option<String>,
    /// The session's id, for sessions.
    pub session: Option<String>,
    /// The session file that the program writes, where that is known.
    pub session_file: Option<String>,
    /// The git worktree of its own that it works in.
    #[serde(default)]
    pub worktree: Option<Worktree>,
    /// The names of the variables that a person gave it. Their values are told to nobody.
    pub env_names: Vec<String>,
    /// How the program ended.
    pub exit: Option<Exit>,
    /// Why the row is not wholly known, and what mends that: a file of it that cannot be read. There only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// A git worktree that a job has for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Its directory.
    pub path: String,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// Where people find the repository.
    pub repository: String,
}

/// The query of `GET /jobs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobQuery {
    /// Also those that ended more than 48 hours ago.
    #[serde(default)]
    pub all: bool,
    /// Only those that work in this directory or below it, or in a worktree of a repository that lies there or
    /// holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The body of `POST /jobs`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatchJob {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it starts. Absolute.
    pub cwd: PathBuf,
    /// What to call it; made from the command when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it sees of the environment. What the job policy does not let through must be named in
    /// `env_names`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The names in `env` that a person gave.
    #[serde(default, alias = "envNames")]
    pub env_names: Vec<String>,
    /// The worktree that it works in; the directory itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeWish>,
    /// The session file that the program writes.
    #[serde(default, alias = "sessionFile", skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    /// What asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Whether what it shows is kept. What is typed never is.
    #[serde(default = "yes")]
    pub record: bool,
    /// The model that the program was told to use; only noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much it was told to think; only noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
}

impl std::fmt::Debug for DispatchJob {
    /// Shows no value of the environment, and no argument, which may hold one as well.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DispatchJob").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A git worktree that a job is to work in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorktreeWish {
    /// What to call its branch; made from the job's name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// The answer to `DELETE /jobs/{job}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// True: the job is gone.
    pub ok: bool,
    /// What was saved of its worktree, the files first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<Saved>,
}

/// Work of a removed worktree, in its repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// The reference that holds it: `refs/stead/saved/…`.
    pub reference: String,
    /// The repository.
    pub repository: String,
    /// The command of a shell that makes a branch of it.
    pub command: String,
}

/// The body of `POST /jobs/resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolveJob {
    /// An id, its beginning or end, or a part of a name.
    pub query: String,
}

/// The answer to `POST /jobs/resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// The id of what is meant.
    pub id: String,
    /// Which of them it is.
    pub kind: RowKind,
}

/// The body of `POST /jobs/{job}/send`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendText {
    /// What to type, line ends as a keyboard makes them (`\r`).
    pub text: String,
}

/// The body of `POST /jobs/{job}/upgrade`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpgradeJob {
    /// The build that its host becomes. Absolute.
    pub program: PathBuf,
}

/// The body of `POST /jobs/{job}/report`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportJob {
    /// How it is.
    pub state: Said,
    /// What it says or waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The report's number among those of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Who reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The job's token: `STEAD_JOB_TOKEN` in its environment.
    pub token: String,
}

impl std::fmt::Debug for ReportJob {
    /// Does not show the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReportJob").field("state", &self.state).finish_non_exhaustive()
    }
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

/// The body of `POST /jobs/{job}/rename`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameJob {
    /// What to call it.
    pub name: String,
}

/// The body of `POST /jobs/{job}/pin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinJob {
    /// Whether lists keep showing it.
    #[serde(default = "yes")]
    pub pinned: bool,
}

fn yes() -> bool {
    true
}

/// The body of what is asked for without any wish: nothing, or an empty object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoWishes {}

/// The answer to `GET /jobs/{job}/screen`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    /// The lines of the screen, without blanks at their ends.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_has_every_field_of_the_contract_and_times_are_told_alike() {
        let row = json!({
            "id": "01234567", "kind": "job", "name": "n", "cwd": "/w", "command": ["sh"],
            "state": "failed", "status": "exit code 1", "state_source": "process",
            "waiting_for": null, "pid": null, "pinned": false,
            "started_at": "2023-11-14T22:13:20.000Z", "ended_at": "2023-11-14T22:13:21.000Z",
            "session": null, "session_file": null, "worktree": null, "env_names": ["KEY"],
            "exit": {"code": 1, "signal": null, "at": "2023-11-14T22:13:21.000Z"},
        });
        let read: JobRow = serde_json::from_value(row.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), row);
    }

    #[test]
    fn a_dispatch_also_takes_the_older_spelling_and_shows_no_value() {
        let body = json!({
            "command": ["claude", "secret-argument"], "cwd": "/w", "env": {"A_KEY": "secret-value"},
            "envNames": ["A_KEY"], "sessionFile": "/s.jsonl", "worktree": {},
        });
        let read: DispatchJob = serde_json::from_value(body).unwrap();
        assert_eq!(read.env_names, ["A_KEY"]);
        assert_eq!(read.session_file, Some("/s.jsonl".into()));
        assert_eq!(read.worktree, Some(WorktreeWish::default()));
        assert!(!format!("{read:?}").contains("secret"), "{read:?}");
    }
}
