//! Full outputs, kept for a while: private files below one directory, bounded each and together. They
//! outlive whoever wrote them, and go by age and bounds alone.
//!
//! No path of an artifact is ever told; it is named by `stead-artifact://<workspace>/<id>`.

#![expect(
    clippy::disallowed_methods,
    reason = "the door to artifacts, which are Stead's own files"
)]

use std::{
    collections::VecDeque,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, UNIX_EPOCH},
};

use rustix::fs::OFlags;
use stdx::{
    clock::{Clock, Timestamp},
    state_file,
};
use vocab::{
    ids::{ArtifactId, WorkspaceId},
    limits::{
        ARTIFACT_BYTES_MAX, ARTIFACT_TTL_MS, ARTIFACTS_ALL_BYTES_MAX, ARTIFACTS_BYTES_MAX,
        ARTIFACTS_MAX,
    },
    outcome::Failure,
};

/// The scheme of an artifact's name.
pub const SCHEME: &str = "stead-artifact://";

/// How much is kept and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of one artifact; what comes after them is dropped.
    pub bytes: u64,
    /// Bytes of all; the oldest go first.
    pub total_bytes: u64,
    /// How long one is kept.
    pub ttl: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bytes: ARTIFACT_BYTES_MAX,
            total_bytes: ARTIFACTS_BYTES_MAX,
            ttl: Duration::from_millis(ARTIFACT_TTL_MS),
        }
    }
}

/// The artifacts of a workspace. Clones share them.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    workspace: WorkspaceId,
    bounds: Bounds,
    clock: Clock,
    kept: Mutex<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    id: ArtifactId,
    at: Timestamp,
    /// What it may take of the disk, counted before it is written.
    bytes: u64,
    open: bool,
}

impl Store {
    /// Opens a store in a private directory of its own, which is made if it is missing. What an earlier
    /// one kept there is kept on.
    ///
    /// # Errors
    /// When the directory is not private or cannot be made.
    pub fn open(
        dir: &Path,
        workspace: &WorkspaceId,
        bounds: Bounds,
        clock: &Clock,
    ) -> io::Result<Self> {
        state_file::ensure_dir(dir)?;
        let mut found = found(dir)?;
        found.sort_by_key(|one| one.at);
        let store = Self(Arc::new(Inner {
            dir: dir.to_owned(),
            workspace: workspace.clone(),
            bounds,
            clock: clock.clone(),
            kept: Mutex::new(found.into()),
        }));
        store.make_room(&mut store.kept(), 0);
        Ok(store)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, id: &ArtifactId) -> PathBuf {
        self.0.dir.join(id.as_str())
    }

    /// Returns the name under which an artifact can be read.
    #[must_use]
    pub fn uri(&self, id: &ArtifactId) -> String {
        format!("{SCHEME}{}/{id}", self.0.workspace)
    }

    /// Starts an artifact.
    ///
    /// # Errors
    /// When its file cannot be made.
    pub fn create(&self) -> io::Result<Writer> {
        let id = ArtifactId::generate();
        let make = || {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .custom_flags(no_follow())
                .open(self.path(&id))
        };
        let file = make().or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            // The directory was empty for a while, and was swept.
            state_file::ensure_dir(&self.0.dir)?;
            make()
        })?;
        let mut kept = self.kept();
        kept.push_back(Kept { id: id.clone(), at: self.0.clock.now(), bytes: 0, open: true });
        self.make_room(&mut kept, 0);
        Ok(Writer { store: self.clone(), id, file, bytes: 0, dropped: 0 })
    }

    /// Opens an artifact by its name.
    ///
    /// # Errors
    /// When the name is malformed, of another workspace, or the artifact is gone.
    pub fn read(&self, uri: &str) -> Result<(File, u64), Failure> {
        let gone = || {
            Failure::not_started("artifact_gone", format!("{uri} is no longer kept"))
                .with_hint("run the command again")
        };
        let (workspace, id) = uri
            .strip_prefix(SCHEME)
            .and_then(|rest| rest.split_once('/'))
            .ok_or_else(|| Failure::not_started("artifact_malformed", "not an artifact's name"))?;
        if workspace != self.0.workspace.0 {
            let message = format!("the artifact belongs to workspace {workspace}");
            return Err(Failure::not_started("wrong_workspace", message));
        }
        let id: ArtifactId = id
            .parse()
            .map_err(|error| Failure::not_started("artifact_malformed", format!("{error}")))?;
        let mut kept = self.kept();
        self.make_room(&mut kept, 0);
        if !kept.iter().any(|one| one.id == id) {
            return Err(gone());
        }
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(no_follow())
            .open(self.path(&id))
            .map_err(|_io| gone())?;
        let size = file.metadata().map(|meta| meta.len()).unwrap_or(0);
        Ok((file, size))
    }

    /// Removes what is too old, then the oldest while there is no room for so many bytes more. Returns
    /// the room there is; what is being written is never removed.
    fn make_room(&self, kept: &mut VecDeque<Kept>, wanted: u64) -> u64 {
        let (now, bounds) = (self.0.clock.now(), self.0.bounds);
        let mut total: u64 = kept.iter().map(|one| one.bytes).sum();
        let mut idx = 0;
        while let Some(one) = kept.get(idx) {
            let is_late = bounds.ttl <= now.since(one.at);
            let is_crowded = bounds.total_bytes < total + wanted || ARTIFACTS_MAX < kept.len();
            if one.open || !(is_late || is_crowded) || !removed(&self.path(&one.id)) {
                idx += 1;
                continue;
            }
            total -= one.bytes;
            kept.remove(idx);
        }
        bounds.total_bytes.saturating_sub(total).min(wanted)
    }

    /// Takes room for what is about to be written, and returns how much of it there is.
    fn reserve(&self, id: &ArtifactId, wanted: u64) -> u64 {
        let mut kept = self.kept();
        let room = self.make_room(&mut kept, wanted);
        let one = kept.iter_mut().find(|one| one.id == *id);
        one.map_or(0, |one| {
            one.bytes += room;
            room
        })
    }
}

/// Removes a file; one that is gone already is what was wanted.
fn removed(path: &Path) -> bool {
    fs::remove_file(path).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
}

/// Lists the artifacts of a directory: plain files with names of ours. Whatever else is there is not.
fn found(dir: &Path) -> io::Result<Vec<Kept>> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // Links are not followed. What vanishes meanwhile is not there.
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_file() {
            let modified = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            let millis = i64::try_from(modified.as_millis()).unwrap_or(i64::MAX);
            let at = Timestamp::from_millis(millis);
            found.push(Kept { id, at, bytes: meta.len(), open: false });
        }
    }
    Ok(found)
}

/// Removes what is too old of all workspaces whose directories lie in `dir`, and the oldest while they
/// are too much together: of workspaces that are not opened again too. Returns how many were removed.
///
/// # Errors
/// When a directory cannot be read; the others were looked at.
pub fn sweep(dir: &Path, clock: &Clock) -> io::Result<usize> {
    sweep_to(dir, clock, Bounds { total_bytes: ARTIFACTS_ALL_BYTES_MAX, ..Bounds::default() })
}

fn sweep_to(dir: &Path, clock: &Clock, bounds: Bounds) -> io::Result<usize> {
    let (mut all, mut places, mut failed) = (Vec::new(), Vec::new(), None);
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let place = entry.path();
            match found(&place) {
                Ok(kept) => all.extend(kept.into_iter().map(|one| (places.len(), one))),
                Err(error) => failed = Some(error),
            }
            places.push(place);
        }
    }
    all.sort_by_key(|(_, one)| one.at);
    let mut total: u64 = all.iter().map(|(_, one)| one.bytes).sum();
    let (now, mut n_removed) = (clock.now(), 0);
    for (place_idx, one) in all {
        let surplus = bounds.ttl <= now.since(one.at) || bounds.total_bytes < total;
        if surplus && removed(&places[place_idx].join(one.id.as_str())) {
            total -= one.bytes;
            n_removed += 1;
        }
    }
    for place in places {
        // Only one that is empty goes, and it is made anew when it is needed.
        fs::remove_dir(place).ok();
    }
    failed.map_or(Ok(n_removed), Err)
}

fn no_follow() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits()).unwrap_or(0)
}

/// An artifact being written. Dropping it ends it; what was written is kept.
#[derive(Debug)]
pub struct Writer {
    store: Store,
    id: ArtifactId,
    file: File,
    bytes: u64,
    dropped: u64,
}

impl Writer {
    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> &ArtifactId {
        &self.id
    }

    /// Returns how many bytes did not fit.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Appends bytes up to the bounds. A full disk ends the artifact, not the command it belongs to.
    pub fn push(&mut self, bytes: &[u8]) {
        let wanted = (self.store.0.bounds.bytes - self.bytes).min(bytes.len() as u64);
        // What has a hole is not the first part of anything.
        let room = if self.dropped > 0 { 0 } else { self.store.reserve(&self.id, wanted) };
        let (now, rest) = bytes.split_at(usize::try_from(room).unwrap_or(bytes.len()));
        self.dropped += rest.len() as u64;
        if !now.is_empty() && self.file.write_all(now).is_err() {
            self.dropped += now.len() as u64;
            return;
        }
        self.bytes += now.len() as u64;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut kept = self.store.kept();
        if let Some(one) = kept.iter_mut().find(|one| one.id == self.id) {
            one.open = false;
            // A failed write may have left less than was reserved.
            one.bytes = self.file.metadata().map_or(one.bytes, |meta| meta.len());
        }
        self.store.make_room(&mut kept, 0);
    }
}

#[cfg(test)]
mod tests;
