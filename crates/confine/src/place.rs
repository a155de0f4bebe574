//! A place for a file: the open directory that holds it and its name there.
//!
//! Having one proves that the directory lay beneath the root when it was opened. Whether it still is
//! the one the path leads to is asked again before anything is published.

use std::{
    ffi::{OsStr, OsString},
    sync::Arc,
};

use vocab::{limits::PATH_RETRIES_MAX, path::WorkspacePath};

use crate::{
    dir::{Dir, Kind, Meta, OpenFile},
    error::{ConfineError, Reason, Result},
    lane::{self, Guard, LaneKey},
    root::Root,
    walk::{self, End, Last, Walked},
};

/// Where a file is or would be.
#[derive(Debug)]
pub struct Place {
    root: Root,
    path: WorkspacePath,
    dir: Arc<Dir>,
    name: OsString,
    existing: Option<Meta>,
}

impl Place {
    pub(crate) fn new(root: &Root, path: &WorkspacePath, walked: Walked) -> Result<Self> {
        let dir = Arc::clone(walked.top());
        let (name, existing) = match walked.end {
            End::Dir => return Err(Reason::IsADirectory),
            End::Missing { name } => (name, None),
            End::Entry { name, meta } if meta.kind == Kind::File => (name, Some(meta)),
            End::Entry { .. } => return Err(Reason::NotARegularFile),
        };
        Ok(Self { root: root.clone(), path: path.clone(), dir, name, existing })
    }

    /// Returns what was there when the place was found.
    #[must_use]
    pub fn existing(&self) -> Option<&Meta> {
        self.existing.as_ref()
    }

    /// Returns the directory that holds it.
    #[must_use]
    pub fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// Returns its name in that directory, after links were followed.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns the path it was found by.
    #[must_use]
    pub fn path(&self) -> &WorkspacePath {
        &self.path
    }

    /// Returns the lane in which changes of this file wait for each other.
    #[must_use]
    pub fn lane(&self) -> LaneKey {
        LaneKey { dir: self.dir.id, name: self.name.clone() }
    }

    /// Waits for this file's lane, then finds the place anew: what happened meanwhile is seen.
    ///
    /// # Errors
    /// When too many wait already, or the place is gone or leads to another file every time.
    pub fn enter(self) -> Result<(Self, Guard), ConfineError> {
        let mut place = self;
        for _ in 0..PATH_RETRIES_MAX {
            let key = place.lane();
            let ticket = lane::register(key.clone()).map_err(|reason| place.error(reason))?;
            let guard = ticket.wait();
            place = place.root.locate(&place.path)?;
            if place.lane() == key {
                return Ok((place, guard));
            }
        }
        Err(place.error(Reason::Busy))
    }

    /// Opens the file as it is now, for reading.
    ///
    /// # Errors
    /// When it is missing, protected, no regular file, or not readable.
    pub fn open(&self) -> Result<OpenFile, ConfineError> {
        self.dir.scope.guarded.refresh();
        self.dir
            .open_file(&self.name)
            .and_then(|opened| {
                self.dir.scope.guarded.check_file_now(&opened.meta, false)?;
                Ok(opened)
            })
            .map_err(|reason| self.error(reason))
    }

    /// Makes sure that the path still leads to this directory and name, and that what is there may
    /// be replaced.
    pub(crate) fn recheck(&self) -> Result<Option<Meta>, ConfineError> {
        walk::with(&self.root, &self.path, Last::Follow, |walked| {
            let same = walked.top().id == self.dir.id;
            let place = Self::new(&self.root, &self.path, walked)?;
            if same && place.name == self.name { Ok(place.existing) } else { Err(Reason::Changed) }
        })
    }

    pub(crate) fn error(&self, reason: impl Into<Reason>) -> ConfineError {
        ConfineError::new(&self.path, reason)
    }
}
