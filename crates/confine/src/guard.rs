//! Stead's own files, closed to tools wherever they appear: under their path, through a link, as a
//! hard link, or mounted somewhere else.
//!
//! Things are compared by device and inode, never by path. What is protected is looked up anew, so a
//! directory made later is covered. What lies inside a protected directory is reached through it, or
//! as another name of a file, or by a mount: only for the latter two its inodes are collected, and
//! kept for a moment.

use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::{
    fs::{CWD, Mode, OFlags},
    io::Errno,
};
use stdx::clock::Clock;
use vocab::limits::PROTECTED_ENTRIES_MAX;

use crate::{
    dir::{self, FileId, Kind, Meta},
    error::{Reason, Result},
};

/// How long the inodes inside protected directories may be old. Linking one of our files into a
/// workspace takes somebody who can read it anyway.
const INSIDE_MAX_AGE: Duration = Duration::from_millis(200);
/// A walk over our own files may take this part of the time, at most.
const INSIDE_SHARE: u32 = 20;
/// How long a look at the protected paths themselves holds within one walk of a tree.
const PATHS_MAX_AGE: Duration = Duration::from_millis(10);

/// The protected paths of a root; clones share what was seen.
#[derive(Clone)]
pub(crate) struct Guarded(Arc<Shared>);

struct Shared {
    paths: Vec<PathBuf>,
    exempt: Vec<PathBuf>,
    clock: Clock,
    entries_max: usize,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    paths: Option<(Duration, Arc<Paths>)>,
    inside: Inside,
}

/// The protected paths as they are now.
#[derive(Default)]
struct Paths {
    ids: HashSet<FileId>,
    /// Names that would bring a protected path into being: directory and next component.
    births: HashMap<FileId, Vec<OsString>>,
}

/// Everything below the protected directories.
#[derive(Default)]
struct Inside {
    ids: HashSet<FileId>,
    devices: HashSet<u64>,
    overflow: bool,
    fresh_until: Option<Duration>,
}

impl Inside {
    /// Tells whether something lies below a protected directory, or may: where not all of it could be
    /// collected, everything on its devices may.
    fn may_hold(&self, id: FileId) -> bool {
        self.ids.contains(&id) || (self.overflow && self.devices.contains(&id.dev))
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("paths", &self.0.paths.len()).finish_non_exhaustive()
    }
}

impl Guarded {
    pub(crate) fn new(paths: Vec<PathBuf>, exempt: Vec<PathBuf>) -> Self {
        Self::with_entries_max(paths, exempt, PROTECTED_ENTRIES_MAX)
    }

    fn with_entries_max(paths: Vec<PathBuf>, exempt: Vec<PathBuf>, entries_max: usize) -> Self {
        let (clock, seen) = (Clock::system(), Mutex::default());
        Self(Arc::new(Shared { paths, exempt, clock, entries_max, seen }))
    }

    /// Looks at the protected paths now, so that the checks that follow know what exists.
    pub(crate) fn refresh(&self) {
        if !self.0.paths.is_empty() {
            let now = self.0.clock.monotonic();
            let paths = Arc::new(self.look());
            self.seen().paths = Some((now, paths));
        }
    }

    /// Refuses a protected directory. One that is mounted where it was found may also be the inside
    /// of a protected one; any other was reached through what it lies in.
    pub(crate) fn check_dir(&self, id: FileId, crossed: bool) -> Result<()> {
        if self.0.paths.is_empty() {
            return Ok(());
        }
        let inside = || self.with_inside(|inside| inside.may_hold(id));
        if self.paths().ids.contains(&id) || (crossed && inside()) {
            return Err(Reason::Protected);
        }
        Ok(())
    }

    /// Refuses a protected file, and one with several names if one of them is protected.
    pub(crate) fn check_file(&self, meta: &Meta, crossed: bool) -> Result<()> {
        if self.0.paths.is_empty() {
            return Ok(());
        }
        self.check_dir(meta.id, crossed)?;
        let several = meta.links > 1 && meta.kind != Kind::Dir;
        let closed = || self.with_inside(|inside| inside.may_hold(meta.id));
        if several && closed() { Err(Reason::Protected) } else { Ok(()) }
    }

    /// Does what [`Guarded::check_file`] does, and first looks again at what lies inside the
    /// protected directories if the file has several names.
    pub(crate) fn check_file_now(&self, meta: &Meta, crossed: bool) -> Result<()> {
        if meta.links > 1 && meta.kind != Kind::Dir {
            self.seen().inside.fresh_until = None;
        }
        self.check_file(meta, crossed)
    }

    /// Refuses to make a name that would be, or lead to, a protected path.
    pub(crate) fn check_birth(&self, dir: FileId, name: &OsStr) -> Result<()> {
        let paths = self.paths();
        match paths.births.get(&dir) {
            Some(names) if names.iter().any(|one| one == name) => Err(Reason::Protected),
            Some(_) | None => Ok(()),
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn paths(&self) -> Arc<Paths> {
        if self.0.paths.is_empty() {
            return Arc::default();
        }
        let now = self.0.clock.monotonic();
        if let Some((at, paths)) = &self.seen().paths
            && now.saturating_sub(*at) < PATHS_MAX_AGE
        {
            return Arc::clone(paths);
        }
        let paths = Arc::new(self.look());
        self.seen().paths = Some((now, Arc::clone(&paths)));
        paths
    }

    fn look(&self) -> Paths {
        let mut found = Paths::default();
        for path in &self.0.paths {
            if let Ok(stat) = rustix::fs::stat(path) {
                found.ids.insert(Meta::from_stat(&stat).id);
                continue;
            }
            // It does not exist yet: whoever makes its next component would own it.
            for ancestor in path.ancestors().skip(1) {
                let Ok(stat) = rustix::fs::stat(ancestor) else { continue };
                let next = path.strip_prefix(ancestor).ok().and_then(|rest| rest.iter().next());
                if let Some(name) = next {
                    let names = found.births.entry(Meta::from_stat(&stat).id).or_default();
                    names.push(name.to_owned());
                }
                break;
            }
        }
        found
    }

    fn with_inside<T>(&self, ask: impl FnOnce(&Inside) -> T) -> T {
        let now = self.0.clock.monotonic();
        let mut seen = self.seen();
        if seen.inside.fresh_until.is_none_or(|until| now >= until) {
            seen.inside = self.scan();
            let done = self.0.clock.monotonic();
            let rest = INSIDE_MAX_AGE.max(done.saturating_sub(now) * INSIDE_SHARE);
            seen.inside.fresh_until = Some(done + rest);
        }
        ask(&seen.inside)
    }

    /// Collects what lies below the protected directories, except below the exempt ones.
    fn scan(&self) -> Inside {
        let mut inside = Inside::default();
        let exempt: HashSet<FileId> =
            self.0.exempt.iter().filter_map(|path| id_of(path).ok()).collect();
        // Paths, not handles, wait here: there may be more directories than handles, and nobody but
        // the daemon writes in them.
        let mut waiting = self.0.paths.clone();
        // All devices first: what is not looked at later, because there is too much, lies on them.
        inside.devices.extend(waiting.iter().filter_map(|path| id_of(path).ok()).map(|id| id.dev));
        while let Some(path) = waiting.pop() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let fd = match rustix::fs::openat(CWD, &path, flags, Mode::empty()) {
                Ok(fd) => fd,
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                Err(_) => {
                    inside.overflow = true;
                    continue;
                }
            };
            let Ok(entries) = dir::read_entries(&fd, PROTECTED_ENTRIES_MAX) else {
                inside.overflow = true;
                continue;
            };
            for entry in entries {
                let nofollow = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
                let meta = match rustix::fs::statat(&fd, &entry.name, nofollow) {
                    Ok(stat) => Meta::from_stat(&stat),
                    Err(Errno::NOENT) => continue,
                    Err(_) => {
                        inside.overflow = true;
                        continue;
                    }
                };
                if exempt.contains(&meta.id) {
                    continue;
                }
                inside.devices.insert(meta.id.dev);
                if inside.ids.len() >= self.0.entries_max {
                    inside.overflow = true;
                    return inside;
                }
                inside.ids.insert(meta.id);
                if meta.kind == Kind::Dir {
                    waiting.push(path.join(&entry.name));
                }
            }
        }
        inside
    }

    /// Refuses a root that is protected, or lies in a protected directory and is not exempt.
    pub(crate) fn check_root(&self, real: &Path) -> Result<()> {
        let exempt: HashSet<FileId> =
            self.0.exempt.iter().filter_map(|path| id_of(path).ok()).collect();
        let paths = self.look();
        for ancestor in real.ancestors() {
            let id = id_of(ancestor)?;
            if exempt.contains(&id) {
                return Ok(());
            }
            if paths.ids.contains(&id) {
                return Err(Reason::Protected);
            }
        }
        Ok(())
    }
}

fn id_of(path: &Path) -> Result<FileId> {
    Ok(Meta::from_stat(&rustix::fs::stat(path)?).id)
}

#[cfg(test)]
mod tests;
