//! Where a walk begins, and whether that is still there when it ends.

use std::{ffi::OsString, sync::Arc};

use crate::{
    dir::{Dir, Meta},
    error::Reason,
    walk::{End, Walked},
};

/// Where a walk begins.
pub(super) struct Origin {
    dir: Arc<Dir>,
    /// The file that is visited alone.
    file: Option<OsString>,
    /// Whether its file system counts names, and it had one. Small ones tell 0 of all they hold.
    linked: bool,
}

impl Origin {
    pub(super) fn of(walked: &Walked) -> Self {
        let file = match &walked.end {
            End::Entry { name, .. } => Some(name.clone()),
            End::Dir | End::Missing { .. } => None,
        };
        let dir = Arc::clone(walked.top());
        let linked = Meta::of(&dir.fd).is_ok_and(|meta| meta.links > 0);
        Self { dir, file, linked }
    }

    /// Tells whether it was removed since. A directory without a name has no link left.
    pub(super) fn is_gone(&self) -> bool {
        match &self.file {
            Some(name) => self.dir.stat(name) == Err(Reason::NotFound),
            None => self.linked && Meta::of(&self.dir.fd).is_ok_and(|meta| meta.links == 0),
        }
    }
}
