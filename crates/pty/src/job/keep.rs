//! A job's directory when luck is bad: files that cannot be read are kept beside and never written over,
//! access that others got is taken away, and what is not ours is not followed. The host's lock says
//! whether the job has a host, whatever the files say.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use stdx::{clock::Timestamp, lock::Lock, state_file};
use vocab::{
    job::Worktree,
    limits::{JOB_ENTRIES_MAX, JOB_FILE_BYTES_MAX, JOB_FILES_ASIDE_MAX},
};

use super::{ExitRecord, FilesError, JobFiles};

/// The form of a job's files that this build reads and writes. One that says nothing has the first.
pub const SCHEMA: u64 = 1;

/// What a file says about its own form.
#[derive(Deserialize)]
struct Form {
    schema: Option<u64>,
}

/// Reads a file; none if it is missing.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FilesError> {
    let Some(bytes) = state_file::read(path, JOB_FILE_BYTES_MAX)? else { return Ok(None) };
    let form = serde_json::from_slice::<Form>(&bytes).ok().and_then(|form| form.schema);
    if let Some(found) = form.filter(|found| SCHEMA < *found) {
        return Err(FilesError::Newer { path: path.to_owned(), found });
    }
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(FilesError::Malformed { path: path.to_owned(), why: error.to_string() }),
    }
}

/// What became of a start that nobody has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokenStart {
    /// There is none, or its host lives.
    None,
    /// No program began, and how the job had ended stands again.
    PutBack,
    /// A program may have begun, and how it ended was not told.
    Begun,
}

/// Renames a file, and tells whether it was there.
fn rename_if_there(from: &Path, to: &Path) -> io::Result<bool> {
    match state_file::set_aside(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives a file that cannot be read another name beside, which nobody else has.
fn set_aside(path: &Path) -> io::Result<()> {
    state_file::set_aside(path, &free_beside(path)?)
}

/// Finds a name beside a file that nobody else has, for what cannot be read.
fn free_beside(path: &Path) -> io::Result<PathBuf> {
    let aside = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".unreadable-{number}"));
        PathBuf::from(name)
    };
    let mut names = (1..=JOB_FILES_ASIDE_MAX).map(aside);
    let free = names.find(|name| matches!(state_file::size(name), Ok(None)));
    free.ok_or_else(|| {
        let why = format!("{} was unreadable too often; move it away", path.display());
        io::Error::new(io::ErrorKind::AlreadyExists, why)
    })
}

/// What could be made out of a record that cannot be read as one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// What people call it.
    pub name: Option<String>,
    /// Where it started.
    pub cwd: Option<PathBuf>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// When it was asked for.
    pub created_at: Option<i64>,
    /// The worktree that was made for it.
    pub worktree: Option<Worktree>,
}

/// What the name of a directory ends in that is being removed.
const GONE: &str = "gone";

/// Goes on with removals that were broken off, in the directory of all jobs.
pub fn sweep(jobs: &Path, names: &[OsString]) {
    let is_gone = |path: &PathBuf| path.extension().is_some_and(|end| end == GONE);
    for path in names.iter().map(|name| jobs.join(name)).filter(is_gone) {
        // The next start tries again.
        state_file::remove_tree(&path).ok();
    }
}

impl JobFiles {
    /// Takes the lock that a job's host holds for as long as it lives; none when another one has it.
    ///
    /// # Errors
    /// When the file cannot be opened or is not ours alone.
    pub fn lock(&self) -> io::Result<Option<Lock>> {
        Lock::try_acquire(&self.host_lock())
    }

    /// Tells whether the job has a host that lives, whatever was noted of it.
    #[must_use]
    pub fn is_hosted(&self) -> bool {
        // A lock that cannot be opened says nothing; who holds it does.
        Lock::is_held(&self.host_lock()).unwrap_or_else(|_| self.host_pid().is_some())
    }

    /// Returns the process of the job's host, as far as it can be seen who holds its lock.
    #[must_use]
    pub fn host_pid(&self) -> Option<u32> {
        Lock::holder(&self.host_lock())
    }

    /// Tells whether a host has ever been started for it.
    #[must_use]
    pub fn had_host(&self) -> bool {
        matches!(state_file::size(&self.host_lock()), Ok(Some(_)))
    }

    /// Returns the file whose lock the job's host holds.
    #[must_use]
    pub fn host_lock(&self) -> PathBuf {
        self.dir.join("host.lock")
    }

    /// Removes all of it. A job that runs is ended first, by whoever calls; what its host or a daemon still has
    /// to write finds no directory of that name any more.
    ///
    /// # Errors
    /// When something of it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        // Whatever has its name.
        state_file::remove_tree(self.socket())?;
        let gone = self.dir.with_extension(GONE);
        state_file::remove_tree(&gone)?;
        match state_file::set_aside(&self.dir, &gone) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        state_file::remove_tree(&gone)?;
        Ok(())
    }

    /// Takes away what others may do in the job's directory, and returns what there was to take from. A
    /// file in it that is none of ours is left alone: whoever reads it refuses it.
    ///
    /// # Errors
    /// When the directory itself is a link, or belongs to somebody else. Nothing in it was looked at.
    pub fn tighten(&self) -> Result<Vec<PathBuf>, FilesError> {
        let mut tightened = Vec::new();
        let refused = |error: io::Error| FilesError::Refused(error.to_string());
        if state_file::tighten(&self.dir).map_err(refused)? {
            tightened.push(self.dir.clone());
        }
        for dir in [self.dir.clone(), self.recording()] {
            let names: Vec<OsString> = match state_file::check_private(&dir) {
                Ok(()) => state_file::names(&dir, None, JOB_ENTRIES_MAX).unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            let paths = names.into_iter().map(|name| dir.join(name));
            tightened.extend(paths.filter(|path| state_file::tighten(path).unwrap_or(false)));
        }
        Ok(tightened)
    }

    /// Makes out of a record what can be made out of it.
    #[must_use]
    pub fn salvage(&self) -> Salvaged {
        let bytes = state_file::read(&self.record(), JOB_FILE_BYTES_MAX).ok().flatten();
        let record = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let Some(record) = record else { return Salvaged::default() };
        let text = |field: &str| record.get(field)?.as_str().map(str::to_owned);
        let words = record.get("command").and_then(Value::as_array);
        let words = words.into_iter().flatten().filter_map(Value::as_str);
        let worktree = record.get("worktree").cloned();
        Salvaged {
            name: text("name"),
            cwd: text("cwd").map(PathBuf::from),
            command: words.map(str::to_owned).collect(),
            created_at: record.get("createdAt").and_then(Value::as_i64),
            worktree: worktree.and_then(|tree| serde_json::from_value(tree).ok()),
        }
    }

    /// Returns when the job's record was written, and where there is none, when something in its directory
    /// was made or removed last.
    #[must_use]
    pub fn written_at(&self) -> Option<Timestamp> {
        let of = |path: &Path| state_file::written_at(path).ok().flatten();
        of(&self.record()).or_else(|| of(&self.dir))
    }

    /// Keeps a note that cannot be read beside, so that the next one is written over nothing.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn set_note_aside(&self) -> io::Result<()> {
        set_aside(&self.state())
    }

    /// Keeps an end that cannot be read beside, whatever stands there.
    pub(super) fn make_room_for_exit(&self) -> io::Result<()> {
        if self.read_exit().is_err() { set_aside(&self.exit()) } else { Ok(()) }
    }

    /// Puts how the job ended aside, so that it can be started again. It is put back if nothing begins.
    ///
    /// # Errors
    /// When it cannot be renamed; it stands then.
    pub fn set_exit_aside(&self) -> io::Result<()> {
        if state_file::size(&self.exit())?.is_none() {
            // One that stands aside is of a start that was broken off, and still the last end, unless a program
            // began after it.
            return state_file::remove(&self.exit_begun()).map(drop);
        }
        self.drop_exit_before()?;
        if self.read_exit().is_err() {
            // It will have to be kept, so there must be a name for it.
            free_beside(&self.exit())?;
        }
        state_file::set_aside(&self.exit(), &self.exit_before())
    }

    /// Marks how the job ended before as no longer its end: a program is about to begin. Where it does not,
    /// [`Self::put_exit_back`] takes that back.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn mark_begun(&self) -> io::Result<()> {
        rename_if_there(&self.exit_before(), &self.exit_begun()).map(drop)
    }

    /// Puts back how the job ended before somebody tried to start it again, over what is said of that, and tells
    /// whether there was anything to put back. For whoever knows that no program began.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn put_exit_back(&self) -> io::Result<bool> {
        let is_back = rename_if_there(&self.exit_begun(), &self.exit())?;
        Ok(rename_if_there(&self.exit_before(), &self.exit())? || is_back)
    }

    /// Finishes a start that was broken off where no host is left that would: what ended last is put back, unless
    /// a program may have begun after it. One that lives decides itself. `is_begun` says what is known besides:
    /// that a host was noted after the end before was put aside.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn settle_broken_start(&self, is_begun: bool) -> io::Result<BrokenStart> {
        let stands = |path: &Path| matches!(state_file::size(path), Ok(Some(_)));
        let (before, begun) = (stands(&self.exit_before()), stands(&self.exit_begun()));
        if !before && !begun || self.is_hosted() {
            return Ok(BrokenStart::None);
        }
        if stands(&self.exit()) {
            // An end that is newer is the truth.
            return Ok(BrokenStart::None);
        }
        if begun || is_begun {
            return Ok(BrokenStart::Begun);
        }
        self.put_exit_back()?;
        Ok(BrokenStart::PutBack)
    }

    /// Forgets how a job did not begin that had no end on record before.
    ///
    /// # Errors
    /// When the record cannot be removed.
    pub fn forget_exit(&self) -> io::Result<()> {
        self.make_room_for_exit()?;
        state_file::remove(&self.exit()).map(drop)
    }

    /// Forgets how the job ended before it was started again: its program runs. A record that cannot be read is
    /// kept beside.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn drop_exit_before(&self) -> io::Result<()> {
        for before in [self.exit_begun(), self.exit_before()] {
            if read::<ExitRecord>(&before).is_err() {
                state_file::set_aside(&before, &free_beside(&self.exit())?)?;
            } else {
                state_file::remove(&before)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
