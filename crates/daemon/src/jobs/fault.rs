//! Jobs whose files cannot be read: they stay in lists with what is known of them, and can be ended and
//! removed all the same.
//!
//! Not here: reading, and keeping what cannot be read.

use std::path::PathBuf;

use pty::job::{Asked, FilesError, JobFiles, JobNote, JobRecord};
use vocab::{
    ids::JobId,
    outcome::{Effect, Failure},
};

/// What of a job cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    /// What was asked for: it cannot be started again.
    Record,
    /// How it ended.
    Exit,
    /// All of it: the directory is none of ours, and nothing in it is looked at.
    Directory,
}

/// Why a job is not wholly known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: Unusable,
    pub(super) failure: Failure,
}

impl Fault {
    pub(super) fn new(id: &JobId, what: Unusable, error: &FilesError) -> Self {
        let subject = match what {
            Unusable::Record => format!("the record of job {id} cannot be read"),
            Unusable::Exit => format!("how job {id} ended cannot be read"),
            Unusable::Directory => format!("the directory of job {id} is refused"),
        };
        let mend = match error {
            FilesError::Newer { .. } => "a newer stead reads it".to_owned(),
            FilesError::Refused(_) => "nothing in it is looked at".to_owned(),
            // It names the command itself, or the directory.
            FilesError::Io(_) => "give it back to yourself (chmod 600)".to_owned(),
            FilesError::Missing(_)
            | FilesError::Malformed { .. }
            | FilesError::SocketPath(_)
            | FilesError::TooLong => "it is kept as it is for you to mend".to_owned(),
        };
        let again = "stead daemon stop --keep-jobs lets the next command read it again";
        let hint = format!("{mend}; {again}, and stead rm {id} removes the job with it");
        let failure =
            Failure::new(error.code(), Effect::Indeterminate, format!("{subject}: {error}"));
        Self { what, failure: failure.with_hint(hint) }
    }
}

/// Returns what stands in for a record that cannot be read: what could be made out of it, and nothing that
/// would let anybody do more.
pub(super) fn stand_in(files: &JobFiles, note: Option<&JobNote>, now: i64) -> JobRecord {
    let id = files.id().clone();
    let salvaged = files.salvage();
    let written = || files.written_at().map(|at| at.as_millis());
    let created_at = salvaged.created_at.or_else(|| note.map(|note| note.started_at));
    JobRecord {
        name: salvaged.name.unwrap_or_else(|| id.to_string()),
        cwd: salvaged.cwd.unwrap_or_else(|| PathBuf::from("/")),
        command: salvaged.command,
        worktree: salvaged.worktree,
        ..blank(&id, created_at.or_else(written).unwrap_or(now))
    }
}

/// Returns the stand-in for a job of which nothing may be looked at.
pub(super) fn blank(id: &JobId, created_at: i64) -> JobRecord {
    JobRecord {
        id: id.clone(),
        name: id.to_string(),
        cwd: PathBuf::from("/"),
        command: Vec::new(),
        env: std::collections::BTreeMap::new(),
        env_names: Vec::new(),
        token: String::new(),
        session_file: None,
        worktree: None,
        origin: "unknown".to_owned(),
        record: false,
        // Its programs are taken for an agent's, which may do less, and the job for a person's, which agents
        // may not touch.
        agent: true,
        asked: Asked::default(),
        created_at,
        daemon_socket: None,
        stead_version: String::new(),
    }
}
