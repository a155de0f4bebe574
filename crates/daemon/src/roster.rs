//! The one list of what works for a person: jobs and sessions, as rows of one shape. Tenants contribute
//! theirs.
//!
//! Not here: how a row is written on a wire, and which rows a list hides.

use std::path::{Path, PathBuf};

use arbiter::{Confidence, Explanation, Source};
use stdx::clock::Timestamp;
use vocab::{
    job::{JobState, Worktree},
    outcome::Failure,
};

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A program in a terminal of its own. It survives the daemon.
    Job,
    /// A conversation. Its runs live in the daemon.
    Session,
}

/// How a job's program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; none if a signal ended it or it never began.
    pub code: Option<i32>,
    /// The signal's name.
    pub signal: Option<String>,
    /// When that was seen.
    pub at: Timestamp,
}

/// How something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// In one word.
    pub state: JobState,
    /// In a few words.
    pub status: Option<String>,
    /// What it waits for, where somebody must act.
    pub waiting_for: Option<String>,
    /// Where that is known from.
    pub source: Option<String>,
    /// Why it is not wholly known, and what mends that.
    pub failure: Option<Failure>,
}

/// What only jobs have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its process id while it runs.
    pub pid: Option<u32>,
    /// Which build its host is, while it runs and where that is known.
    pub host_version: Option<String>,
    /// The session file that it writes, where that is known.
    pub session_file: Option<PathBuf>,
    /// The worktree of its own that it works in.
    pub worktree: Option<Worktree>,
    /// The names of the variables that a person gave it.
    pub env_names: Vec<String>,
    /// How it ended.
    pub exit: Option<Exit>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The job's or session's id.
    pub id: String,
    /// Which of them.
    pub kind: Kind,
    /// What people call it.
    pub name: String,
    /// Where it works.
    pub cwd: PathBuf,
    /// How it is.
    pub condition: Condition,
    /// Whether lists keep showing it.
    pub pinned: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The program, for jobs.
    pub program: Program,
}

impl Row {
    /// Explains the state of a row that its tenant knows exactly, as JSON of the shape that running jobs have:
    /// what decided, and since when it is so. A session says itself how it is; a job tells by its end.
    #[must_use]
    pub fn explained(&self, detail: String, for_ms: u64) -> Vec<u8> {
        let (source, agent) = match self.kind {
            Kind::Session => (Source::Session, Some("stead")),
            Kind::Job => {
                let agent = arbiter::agent::of(&self.program.command);
                (Source::Process, agent.map(|agent| agent.name))
            }
        };
        pty::hello::to_json(&Explanation {
            state: self.condition.state,
            status: self.condition.status.clone(),
            waiting_for: self.condition.waiting_for.clone(),
            source,
            confidence: Confidence::Certain,
            detail,
            for_ms,
            agent: agent.map(str::to_owned),
            version: None,
            rules_fault: None,
            heard: Vec::new(),
            weighed: Vec::new(),
            late_reports: 0,
            due_ms: None,
        })
    }
}

/// Which rows are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only those that have not ended before.
    pub since: Option<Timestamp>,
    /// Only those that work in this directory or below it, or in a worktree of a repository that lies there or
    /// holds it.
    pub cwd: Option<PathBuf>,
}

impl Wanted {
    /// Tells whether a row is wanted. What is pinned does not age.
    #[must_use]
    pub fn takes(&self, row: &Row) -> bool {
        let is_recent = match (self.since, row.ended_at) {
            (Some(since), Some(ended)) => row.pinned || since <= ended,
            _ => true,
        };
        is_recent && self.cwd.as_deref().is_none_or(|cwd| is_at(row, cwd))
    }
}

/// Tells whether a row belongs to a directory: by where it works, and by the repository whose worktree that is.
fn is_at(row: &Row, dir: &Path) -> bool {
    let repository = row.program.worktree.as_ref().map(|tree| tree.repository.as_path());
    row.cwd.starts_with(dir)
        || repository
            .is_some_and(|repository| repository.starts_with(dir) || dir.starts_with(repository))
}
