//! A directory that appears whole: it is filled beside its place under another name, then renamed.
//!
//! Everything in it is reached by handle from the directory that was made here, never through a link, and nothing that
//! exists is ever opened. Links are not made.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::fd::OwnedFd,
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};
use vocab::path::WorkspacePath;

use crate::{
    dir::{self, Dir, Kind, Meta},
    error::{ConfineError, Reason, Result},
    publish::temporary_name,
    root::Root,
    sys,
    walk::{self, End, Last, Walked},
};

/// What the owner needs to fill a directory.
const OWNER: u32 = 0o700;

/// A directory inside the one that is being filled, with the name it has there.
#[derive(Debug)]
struct Step {
    name: OsString,
    fd: OwnedFd,
}

/// A directory that is being filled. Dropping it leaves no trace.
#[derive(Debug)]
pub struct Stage {
    root: Root,
    path: WorkspacePath,
    dir: Arc<Dir>,
    name: OsString,
    /// The name it has until it is published; empty once it has the final one.
    temporary: OsString,
    top: OwnedFd,
    /// Where the last thing was put, since the next one is mostly beside it.
    steps: Vec<Step>,
    /// Directories whose owner shall be able to do less than filling them takes, and what that is.
    narrow: Vec<(Vec<OsString>, u32)>,
}

impl Root {
    /// Begins a directory at a place where nothing is.
    ///
    /// # Errors
    /// When something is there, its parent is missing, or it is outside or protected.
    pub fn stage(&self, path: &WorkspacePath) -> Result<Stage, ConfineError> {
        let refused = |reason: Reason| ConfineError::new(path, reason);
        let (dir, name) = walk::with(self, path, Last::Keep, |walked| vacant(&walked))?;
        let temporary = temporary_name().map_err(|errno| refused(errno.into()))?;
        let make = || -> Result<OwnedFd> {
            rustix::fs::mkdirat(&dir.fd, &temporary, Mode::from_raw_mode(OWNER))?;
            open_dir(&dir.fd, &temporary)
        };
        let top = make().map_err(refused)?;
        let (root, path) = (self.clone(), path.clone());
        let (steps, narrow) = (Vec::new(), Vec::new());
        Ok(Stage { root, path, dir, name, temporary, top, steps, narrow })
    }
}

fn vacant(walked: &Walked) -> Result<(Arc<Dir>, OsString)> {
    match &walked.end {
        End::Missing { name } => Ok((Arc::clone(walked.top()), name.clone())),
        End::Dir | End::Entry { .. } => Err(Reason::Exists),
    }
}

fn open_dir(dir: &OwnedFd, name: &OsStr) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, name, flags, Mode::empty())?)
}

impl Stage {
    /// Makes a directory in it. Its parent was made before.
    ///
    /// # Errors
    /// When a name is there, or the system refuses.
    pub fn make_dir(&mut self, path: &[&OsStr], mode: u32) -> Result<(), ConfineError> {
        self.put(path, |dir, name| {
            // The kernel takes the umask away; what the owner lacks is taken once all is in it.
            rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(mode & 0o777 | OWNER))?;
            Ok(())
        })?;
        if mode & OWNER != OWNER {
            let names = path.iter().map(|name| (*name).to_owned()).collect();
            self.narrow.push((names, mode & OWNER));
        }
        Ok(())
    }

    /// Makes a file in it, to be written. Its directory was made before.
    ///
    /// # Errors
    /// When a name is there, or the system refuses.
    pub fn make_file(&mut self, path: &[&OsStr], mode: u32) -> Result<File, ConfineError> {
        self.put(path, |dir, name| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(mode & 0o777))?;
            Ok(File::from(fd))
        })
    }

    /// Turns an error of writing into one that names the directory.
    #[must_use]
    pub fn error(&self, error: std::io::Error) -> ConfineError {
        ConfineError::new(&self.path, error)
    }

    fn put<T>(
        &mut self,
        path: &[&OsStr],
        act: impl FnOnce(&OwnedFd, &OsStr) -> Result<T>,
    ) -> Result<T, ConfineError> {
        let Some((name, parents)) = path.split_last() else {
            return Err(ConfineError::new(&self.path, Reason::IsADirectory));
        };
        let put = self.enter(parents).and_then(|dir| act(dir, name));
        put.map_err(|reason| ConfineError::new(&self.path, reason))
    }

    /// Goes to a directory in it, as far as possible from where the last thing was put.
    fn enter(&mut self, parents: &[&OsStr]) -> Result<&OwnedFd> {
        let same = self.steps.iter().zip(parents).take_while(|(step, name)| step.name == **name);
        let n_same = same.count();
        self.steps.truncate(n_same);
        for name in parents.iter().skip(n_same) {
            let dir = self.steps.last().map_or(&self.top, |step| &step.fd);
            let fd = open_dir(dir, name)?;
            self.steps.push(Step { name: (*name).to_owned(), fd });
        }
        Ok(self.steps.last().map_or(&self.top, |step| &step.fd))
    }

    /// Gives the directory its name, with that mode.
    ///
    /// # Errors
    /// When something is there by now, the place changed, or the system refuses; then nothing changed.
    pub fn commit(mut self, mode: u32) -> Result<(), ConfineError> {
        let narrow = std::mem::take(&mut self.narrow);
        // The innermost first: whoever takes a right away cannot enter any more.
        for (names, owner) in narrow.iter().rev() {
            let names: Vec<&OsStr> = names.iter().map(OsString::as_os_str).collect();
            let narrowed = self.enter(&names).and_then(|dir| {
                let mode = Meta::of(dir)?.mode & !OWNER | owner;
                Ok(rustix::fs::fchmod(dir, Mode::from_raw_mode(mode))?)
            });
            narrowed.map_err(|reason| ConfineError::new(&self.path, reason))?;
        }
        self.publish(mode).map_err(|reason| ConfineError::new(&self.path, reason))?;
        self.temporary.clear();
        Ok(())
    }

    fn publish(&self, mode: u32) -> Result<()> {
        let found = walk::with(&self.root, &self.path, Last::Keep, |walked| vacant(&walked));
        let (dir, name) = found.map_err(|error| error.reason)?;
        if dir.id() != self.dir.id() || name != self.name {
            return Err(Reason::Changed);
        }
        // A directory of that mode, as the system would make it under this umask, says what it becomes.
        let probe = temporary_name()?;
        rustix::fs::mkdirat(&self.top, &probe, Mode::from_raw_mode(mode & 0o777))?;
        let seen = rustix::fs::statat(&self.top, &probe, AtFlags::SYMLINK_NOFOLLOW);
        rustix::fs::unlinkat(&self.top, &probe, AtFlags::REMOVEDIR)?;
        let mode = Meta::from_stat(&seen?).mode;
        let (from, to) = (&self.temporary, &self.name);
        match rustix::fs::renameat_with(&dir.fd, from, &dir.fd, to, RenameFlags::NOREPLACE) {
            // Where the flag is lacking, a rename replaces no file and no directory that has something in it.
            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(&dir.fd, from, &dir.fd, to)?,
            other => other?,
        }
        rustix::fs::fchmod(&self.top, Mode::from_raw_mode(mode)).ok();
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.temporary.is_empty() {
            self.steps.clear();
            // Nothing else can be done about what cannot be removed.
            empty(&self.top);
            rustix::fs::unlinkat(&self.dir.fd, &self.temporary, AtFlags::REMOVEDIR).ok();
        }
    }
}

/// Removes all that is in a directory, by handle, without following links.
fn empty(dir: &OwnedFd) {
    rustix::fs::fchmod(dir, Mode::from_raw_mode(OWNER)).ok();
    let Ok(readable) = sys::readable(dir) else { return };
    let Ok(entries) = dir::read_entries(&readable, usize::MAX) else { return };
    for entry in entries {
        let mut flags = AtFlags::empty();
        if entry.kind == Kind::Dir {
            if let Ok(inner) = open_dir(dir, &entry.name) {
                empty(&inner);
            }
            flags = AtFlags::REMOVEDIR;
        }
        rustix::fs::unlinkat(dir, &entry.name, flags).ok();
    }
}
