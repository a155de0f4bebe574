//! What a job is and how it ended, in files: `STEAD_HOME/jobs/<id>/…`. They outlive daemon and host, and
//! are the truth about a job.
//!
//! Times are milliseconds since the Unix epoch. `state.json` is the daemon's alone: no host reads it.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use stdx::state_file;
use vocab::{
    ids::JobId,
    job::Worktree,
    limits::{JOB_FILE_BYTES_MAX, SOCKET_PATH_BYTES_MAX},
    outcome::Failure,
};

use crate::hello;

mod error;
mod keep;
mod note;

pub use keep::{BrokenStart, SCHEMA, Salvaged, sweep};
pub use note::{HostNote, JobNote, Told};

/// `job.json`: what was asked to be started. Written once, before anything is started.
///
/// It holds values that nobody else may see (the token, the environment) and has therefore no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRecord {
    /// Its id.
    pub id: JobId,
    /// What people call it.
    pub name: String,
    /// Where it starts.
    pub cwd: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it sees of the environment: what the allow-list let through, and what was named.
    pub env: BTreeMap<String, String>,
    /// The names among them that a person gave. Listings show these and no value.
    #[serde(default)]
    pub env_names: Vec<String>,
    /// What the program proves itself with when it reports.
    pub token: String,
    /// The session file that the program writes, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_file: Option<PathBuf>,
    /// The worktree that was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// What has asked for it: `bg`, `dispatch`, `respawn`.
    pub origin: String,
    /// Tells whether an agent has asked for it, or it is one. Its programs are no person's then.
    #[serde(default)]
    pub agent: bool,
    /// What else was said when it was asked for.
    #[serde(flatten)]
    pub asked: Asked,
    /// When it was asked for.
    pub created_at: i64,
    /// The daemon's socket, for what the program reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_socket: Option<PathBuf>,
    /// The version that wrote this.
    pub stead_version: String,
    /// Tells whether what it shows is recorded.
    #[serde(default = "is_recorded")]
    pub record: bool,
}

/// What a record that does not say means.
fn is_recorded() -> bool {
    true
}

/// What is noted of a wish, and changes nothing about how the program is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Tells whether an agent has asked: agents may touch such a job, and no other.
    #[serde(default)]
    pub by_agent: bool,
    /// The model that the program was told to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much it was told to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
}

impl std::fmt::Debug for JobRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobRecord").field("id", &self.id).finish_non_exhaustive()
    }
}

/// `exit.json`: how a job ended. Written by its host, before its socket goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// The exit code; none if a signal ended it, or if it never began.
    pub code: Option<i32>,
    /// The signal's name, `SIG` included.
    pub signal: Option<String>,
    /// When it was seen.
    pub at: i64,
    /// Tells whether it was asked to end.
    #[serde(default)]
    pub stopped: bool,
    /// Why it never began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Where the files of one job are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFiles {
    id: JobId,
    dir: PathBuf,
    socket: PathBuf,
}

/// A job's files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// There is no such job.
    #[error("there is no job {0}")]
    Missing(JobId),
    /// What stands in a file is none of ours.
    #[error("{path} cannot be understood: {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A newer build has written it.
    #[error("{path} is of form {found}, and this build reads forms up to {SCHEMA}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its form.
        found: u64,
    },
    /// The directory is none of ours.
    #[error("{0}")]
    Refused(String),
    /// The socket's path is longer than the kernel takes.
    #[error(
        "{0} is longer than a socket's path may be; set STEAD_RUNTIME_DIR to a shorter directory"
    )]
    SocketPath(PathBuf),
    /// A record would be longer than any is read.
    #[error("the command and its environment are longer than {JOB_FILE_BYTES_MAX} bytes")]
    TooLong,
    /// The system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<FilesError> for Failure {
    fn from(error: FilesError) -> Self {
        let failure = Self::not_started(error.code(), error.to_string());
        if failure.code == "disk_full" {
            failure.with_hint("make room and try again")
        } else {
            failure
        }
    }
}

/// Returns the directory that holds all jobs.
#[must_use]
pub fn jobs_dir(home: &Path) -> PathBuf {
    home.join("jobs")
}

impl JobFiles {
    /// Says where a job's files are, given the directories of state and of sockets.
    #[must_use]
    pub fn new(home: &Path, runtime: &Path, id: &JobId) -> Self {
        // No version in the name: hosts outlive the program that started them.
        let socket = runtime.join(format!("host-{id}.sock"));
        Self { id: id.clone(), dir: jobs_dir(home).join(id.as_str()), socket }
    }

    /// Returns whose files they are.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// Returns the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the host's socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns the same with the socket where the job's host has said that it listens. The directory of sockets
    /// may be another one for whoever looks: after `su`, from cron, or inside another job. Where there is no
    /// socket of ours, the usual place is left.
    #[must_use]
    pub fn located(mut self) -> Self {
        let bytes_max = u64::try_from(SOCKET_PATH_BYTES_MAX).unwrap_or(u64::MAX);
        let noted = state_file::read(&self.socket_note(), bytes_max).ok().flatten();
        let noted = noted.map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
        let is_ours = |path: &Path| {
            rustix::fs::lstat(path).is_ok_and(|found| {
                FileType::from_raw_mode(found.st_mode) == FileType::Socket
                    && found.st_uid == rustix::process::geteuid().as_raw()
            })
        };
        if let Some(noted) = noted.filter(|noted| noted.is_absolute() && is_ours(noted)) {
            self.socket = noted;
        }
        self
    }

    /// Notes where the job's host listens, for [`Self::located`].
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note_socket(&self) -> io::Result<()> {
        state_file::replace(&self.socket_note(), self.socket.as_os_str().as_bytes())
    }

    fn socket_note(&self) -> PathBuf {
        self.dir.join("socket")
    }

    /// Returns the file of the screen's text.
    #[must_use]
    pub fn screen(&self) -> PathBuf {
        self.dir.join("screen.txt")
    }

    /// Returns the directory of what was recorded.
    #[must_use]
    pub fn recording(&self) -> PathBuf {
        self.dir.join("recording")
    }

    /// Returns the file of rules that stand in place of the embedded ones, if whoever started the job wrote one.
    #[must_use]
    pub fn rules(&self) -> PathBuf {
        self.dir.join("rules.toml")
    }

    /// Returns the file that the daemon keeps the state in.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.dir.join("state.json")
    }

    fn record(&self) -> PathBuf {
        self.dir.join("job.json")
    }

    fn exit(&self) -> PathBuf {
        self.dir.join("exit.json")
    }

    /// Checks that the kernel takes the socket's path.
    ///
    /// # Errors
    /// When it is too long.
    pub fn check_socket(&self) -> Result<(), FilesError> {
        if SOCKET_PATH_BYTES_MAX < self.socket.as_os_str().len() {
            return Err(FilesError::SocketPath(self.socket.clone()));
        }
        Ok(())
    }

    /// Tells whether there is such a job, in a directory of ours.
    #[must_use]
    pub fn exists(&self) -> bool {
        state_file::check_private(&self.dir).is_ok()
            && matches!(state_file::size(&self.record()), Ok(Some(_)))
    }

    /// Makes the job's directory and writes what it is.
    ///
    /// # Errors
    /// When it is too long, the directory cannot be made or is not ours alone, or it cannot be written.
    pub fn create(&self, record: &JobRecord) -> Result<(), FilesError> {
        self.check_socket()?;
        let bytes = hello::to_json(record);
        if JOB_FILE_BYTES_MAX < u64::try_from(bytes.len()).unwrap_or(u64::MAX) {
            return Err(FilesError::TooLong);
        }
        if let Some(jobs) = self.dir.parent() {
            state_file::ensure_dir(jobs)?;
        }
        state_file::ensure_dir(&self.dir)?;
        Ok(state_file::publish(&self.record(), &bytes)?)
    }

    /// Reads what the job is.
    ///
    /// # Errors
    /// When there is no such job, or its record cannot be read.
    pub fn read(&self) -> Result<JobRecord, FilesError> {
        let record: Option<JobRecord> = keep::read(&self.record())?;
        let record = record.ok_or_else(|| FilesError::Missing(self.id.clone()))?;
        if record.id != self.id {
            let why = format!("it is the record of {}", record.id);
            return Err(FilesError::Malformed { path: self.record(), why });
        }
        Ok(record)
    }

    /// Writes how the job ended. A record that stands there and cannot be read is kept beside.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_exit(&self, exit: &ExitRecord) -> Result<(), FilesError> {
        self.make_room_for_exit()?;
        Ok(state_file::publish(&self.exit(), &hello::to_json(exit))?)
    }

    /// Reads how the job ended, none if nobody has seen its end.
    ///
    /// # Errors
    /// When there is a record that cannot be read.
    pub fn read_exit(&self) -> Result<Option<ExitRecord>, FilesError> {
        keep::read(&self.exit())
    }

    /// Reads what the daemon has noted.
    ///
    /// # Errors
    /// When there is a note that cannot be read.
    pub fn read_note(&self) -> Result<Option<JobNote>, FilesError> {
        keep::read(&self.state())
    }

    /// Writes what the daemon has noted, to survive the loss of power.
    ///
    /// # Errors
    /// When it cannot be written; the note before stands.
    pub fn write_note(&self, note: &JobNote) -> Result<(), FilesError> {
        Ok(state_file::publish(&self.state(), &hello::to_json(note))?)
    }

    /// Writes what the daemon has noted, to survive the death of any process: for what changes often and
    /// is found out again.
    ///
    /// # Errors
    /// When it cannot be written; the note before stands.
    pub fn replace_note(&self, note: &JobNote) -> Result<(), FilesError> {
        Ok(state_file::replace(&self.state(), &hello::to_json(note))?)
    }

    fn exit_before(&self) -> PathBuf {
        self.dir.join("exit.json.before")
    }

    fn exit_begun(&self) -> PathBuf {
        self.dir.join("exit.json.begun")
    }
}

#[cfg(test)]
mod tests;
