//! The root of a workspace: its handle, its spellings, and what can be asked below it.
//!
//! A `Root` is cheap to clone and usable from any thread. It does not know who asks.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use vocab::{
    limits::TRAVERSE_DIR_ENTRIES_MAX,
    outcome::Effect,
    path::{self, Flavor, PathError, RootKind, Roots, Spelling, WorkspacePath},
};

use crate::{
    dir::{Dir, DirEntry, FileId, Kind, Meta, OpenFile, Scope},
    error::{ConfineError, Reason, Result},
    escape,
    guard::Guarded,
    place::Place,
    sys,
    walk::{self, End, Last, Made, Missing, Walked, Walker},
};

/// How a root is to be served.
#[derive(Debug, Clone, Default)]
pub struct RootOptions {
    /// Whether mounts below the root may be crossed.
    pub mounts: bool,
    /// Stead's own files and directories, closed to tools. They need not exist yet.
    pub protected: Vec<PathBuf>,
    /// Directories inside protected ones that may be roots themselves: scratch, writers' clones.
    pub exempt: Vec<PathBuf>,
    /// A scratch directory beside the root.
    pub temp: Option<PathBuf>,
    /// What `~` means in a path.
    pub home: Option<PathBuf>,
}

/// What somebody wants to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only be there.
    Exists,
    /// Read it, or list it.
    Read,
    /// Write it, or make entries in it.
    Write,
    /// Run it, or enter it.
    Execute,
}

/// An open root.
#[derive(Debug, Clone)]
pub struct Root(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    workspace: Base,
    temp: Option<Base>,
    roots: Roots,
}

/// A directory from which walks start.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) dir: Arc<Dir>,
    registered: PathBuf,
    real: PathBuf,
}

impl Base {
    fn open(path: &Path, scope: &Scope) -> Result<Self, ConfineError> {
        let refused = |reason: Reason| ConfineError::new(&path.display(), reason);
        let registered = escape::absolute(path).map_err(|error| refused(error.into()))?;
        let real = canonical(&registered).map_err(|error| refused(error.into()))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, &real, flags, Mode::empty())
            .map_err(|error| refused(error.into()))?;
        let id = Meta::of(&fd).map_err(|error| refused(error.into()))?.id;
        sys::check_files(&fd).map_err(refused)?;
        scope.guarded.check_root(&real).map_err(refused)?;
        let dir = Arc::new(Dir { fd, id, scope: scope.clone() });
        Ok(Self { dir, registered, real })
    }

    pub(crate) fn spellings(&self) -> [&Path; 2] {
        [&self.real, &self.registered]
    }

    fn spelling(&self) -> Spelling {
        let registered = self.registered.clone().into_os_string();
        Spelling { registered, real: self.real.clone().into_os_string() }
    }
}

#[expect(clippy::disallowed_methods, reason = "the root itself is found by path, once")]
fn canonical(path: &Path) -> std::io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

impl Root {
    /// Opens a directory as a root.
    ///
    /// # Errors
    /// When it is missing, no directory, or lies in a protected directory without being exempt.
    pub fn open(path: &Path, options: RootOptions) -> Result<Self, ConfineError> {
        Self::with_entries_max(path, options, TRAVERSE_DIR_ENTRIES_MAX)
    }

    /// Opens a root whose directories may hold so many names.
    pub(crate) fn with_entries_max(
        path: &Path,
        options: RootOptions,
        entries_max: usize,
    ) -> Result<Self, ConfineError> {
        let guarded = Guarded::new(options.protected, options.exempt);
        let scope = Scope { mounts: options.mounts, guarded, entries_max };
        let workspace = Base::open(path, &scope)?;
        let temp = options.temp.as_deref().map(|temp| Base::open(temp, &scope)).transpose()?;
        let roots = Roots {
            flavor: Flavor::Posix,
            workspace: workspace.spelling(),
            temp: temp.as_ref().map(Base::spelling),
            home: options.home.map(PathBuf::into_os_string),
        };
        Ok(Self(Arc::new(Inner { workspace, temp, roots })))
    }

    /// Returns the canonical path of the root, for registrations and children's working directory.
    #[must_use]
    pub fn real(&self) -> &Path {
        &self.0.workspace.real
    }

    /// Returns what a parse of path texts needs.
    #[must_use]
    pub fn roots(&self) -> &Roots {
        &self.0.roots
    }

    /// Returns the device and inode of the root directory.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.0.workspace.dir.id
    }

    pub(crate) fn base(&self, kind: RootKind) -> Result<&Base> {
        match kind {
            RootKind::Workspace => Ok(&self.0.workspace),
            RootKind::Temp => self.0.temp.as_ref().ok_or(Reason::NotFound),
        }
    }

    /// Parses a text and picks the reading that exists: as written first, then the repairs. When
    /// none exists it is the one a new file should get: as written if its directory exists and is
    /// not the root, else without mention mark and Unicode spaces.
    ///
    /// # Errors
    /// When no reading is a path of this workspace.
    pub fn parse(&self, text: &str) -> Result<WorkspacePath, ConfineError> {
        let refused = |error: PathError| ConfineError::new(&text, error);
        let readings = path::candidates(text, self.roots()).map_err(refused)?;
        if let Some(found) = readings.iter().find(|reading| self.lstat(reading).is_ok()) {
            return Ok(found.clone());
        }
        let written = &readings[0];
        let parent = written.parent().filter(|parent| !parent.components().is_empty());
        if parent.is_some_and(|parent| self.open_dir(&parent).is_ok()) {
            return Ok(written.clone());
        }
        Ok(path::parse_new(text, self.roots()).unwrap_or_else(|_| written.clone()))
    }

    /// Opens a regular file for reading, following links that stay inside.
    ///
    /// # Errors
    /// When it is missing, outside, protected, no regular file, or not readable.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<OpenFile, ConfineError> {
        walk::with(self, path, Last::Follow, |walked| open_end(&walked))
    }

    /// Opens a directory, following links that stay inside.
    ///
    /// # Errors
    /// When it is missing, outside, protected or no directory.
    pub fn open_dir(&self, path: &WorkspacePath) -> Result<Arc<Dir>, ConfineError> {
        walk::with(self, path, Last::Follow, |walked| match walked.end {
            End::Dir => Ok(Arc::clone(walked.top())),
            End::Entry { .. } => Err(Reason::NotADirectory),
            End::Missing { .. } => Err(Reason::NotFound),
        })
    }

    /// Asks about what the path leads to, following links that stay inside.
    ///
    /// # Errors
    /// When it is missing, outside or protected.
    pub fn stat(&self, path: &WorkspacePath) -> Result<Meta, ConfineError> {
        walk::with(self, path, Last::Follow, |walked| meta_of(&walked))
    }

    /// Asks about the last name itself; a link there is not followed.
    ///
    /// # Errors
    /// When it is missing, outside or protected.
    pub fn lstat(&self, path: &WorkspacePath) -> Result<Meta, ConfineError> {
        walk::with(self, path, Last::Keep, |walked| meta_of(&walked))
    }

    /// Lists a directory, sorted by the bytes of the names, without `.` and `..`.
    ///
    /// # Errors
    /// When it is missing, outside, protected, no directory, or not readable.
    pub fn read_dir(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, ConfineError> {
        let dir = self.open_dir(path)?;
        dir.entries().map_err(|reason| ConfineError::new(path, reason))
    }

    /// Reads the text of a link. It is shown, never followed.
    ///
    /// # Errors
    /// When it is missing, outside, or no link.
    pub fn read_link(&self, path: &WorkspacePath) -> Result<OsString, ConfineError> {
        use std::os::unix::ffi::OsStringExt;
        walk::with(self, path, Last::Keep, |walked| match &walked.end {
            End::Entry { name, meta } if meta.kind == Kind::Link => {
                let text = rustix::fs::readlinkat(&walked.top().fd, name, Vec::new())?;
                Ok(OsString::from_vec(text.into_bytes()))
            }
            End::Missing { .. } => Err(Reason::NotFound),
            End::Dir | End::Entry { .. } => Err(Reason::Io("not a link".to_owned())),
        })
    }

    /// Tells whether the system would let this process do something.
    ///
    /// # Errors
    /// When it would not, or the place is missing, outside or protected.
    pub fn access(&self, path: &WorkspacePath, access: Access) -> Result<(), ConfineError> {
        let wanted = match access {
            Access::Exists => rustix::fs::Access::EXISTS,
            Access::Read => rustix::fs::Access::READ_OK,
            Access::Write => rustix::fs::Access::WRITE_OK,
            Access::Execute => rustix::fs::Access::EXEC_OK,
        };
        walk::with(self, path, Last::Follow, |walked| {
            let top = &walked.top().fd;
            let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
            match &walked.end {
                End::Dir => Ok(rustix::fs::accessat(top, c".", wanted, flags)?),
                End::Entry { name, .. } => Ok(rustix::fs::accessat(top, name, wanted, flags)?),
                End::Missing { .. } => Err(Reason::NotFound),
            }
        })
    }

    /// Finds the place where a file is or would be. A link in the last place is followed inside.
    ///
    /// # Errors
    /// When its directory is missing, it is outside or protected, or the root itself is named.
    pub fn locate(&self, path: &WorkspacePath) -> Result<Place, ConfineError> {
        walk::with(self, path, Last::Follow, |walked| Place::new(self, path, walked))
    }

    /// Makes a directory and its missing parents; one that exists is fine. Returns those that were made,
    /// the outermost first.
    ///
    /// # Errors
    /// When it is outside or protected, a file is in the way, or the system refuses.
    pub fn create_dirs(&self, path: &WorkspacePath) -> Result<Vec<Made>, ConfineError> {
        let refused = |reason| ConfineError::new(path, reason);
        let mut walker = Walker::new(self, path, Last::Follow).map_err(refused)?;
        walker.missing = Missing::Create;
        let walked = walker.run();
        let created = std::mem::take(&mut walker.created);
        let reason = match walked {
            Ok(Walked { end: End::Dir, .. }) => return Ok(created),
            Ok(_) => Reason::NotADirectory,
            Err(reason) => reason,
        };
        let undone = created.iter().rev().all(Made::undo);
        let effect = if undone { Effect::NotStarted } else { Effect::Indeterminate };
        Err(refused(reason).with_effect(effect))
    }
}

pub(crate) fn open_end(walked: &Walked) -> Result<OpenFile> {
    match &walked.end {
        End::Dir => Err(Reason::IsADirectory),
        End::Missing { .. } => Err(Reason::NotFound),
        End::Entry { meta, .. } if meta.kind != Kind::File => Err(Reason::NotARegularFile),
        End::Entry { name, .. } => {
            let opened = walked.top().open_file(name).map_err(swapped)?;
            walked.top().scope.guarded.check_file_now(&opened.meta, false)?;
            Ok(opened)
        }
    }
}

/// A regular file a moment ago: whatever else is there now was put there meanwhile.
fn swapped(reason: Reason) -> Reason {
    let gone = matches!(reason, Reason::NotFound | Reason::IsADirectory | Reason::NotARegularFile);
    if gone { Reason::Busy } else { reason }
}

fn meta_of(walked: &Walked) -> Result<Meta> {
    match &walked.end {
        End::Dir => Ok(Meta::of(&walked.top().fd)?),
        End::Entry { meta, .. } => Ok(*meta),
        End::Missing { .. } => Err(Reason::NotFound),
    }
}
