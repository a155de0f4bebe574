//! Full outputs, kept for a while: private files below one directory, bounded each and together.
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
    time::Duration,
};

use rustix::fs::OFlags;
use stdx::{
    clock::{Clock, Timestamp},
    state_file,
};
use vocab::{
    ids::{ArtifactId, WorkspaceId},
    limits::{ARTIFACT_BYTES_MAX, ARTIFACT_TTL_MS, ARTIFACTS_BYTES_MAX, ARTIFACTS_MAX},
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
    bytes: u64,
    open: bool,
}

impl Store {
    /// Opens a store in a private directory of its own, which is made if it is missing.
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
        sweep(dir, bounds.ttl, clock)?;
        Ok(Self(Arc::new(Inner {
            dir: dir.to_owned(),
            workspace: workspace.clone(),
            bounds,
            clock: clock.clone(),
            kept: Mutex::default(),
        })))
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
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(no_follow())
            .open(self.path(&id))?;
        let mut kept = self.kept();
        kept.push_back(Kept { id: id.clone(), at: self.0.clock.now(), bytes: 0, open: true });
        self.make_room(&mut kept);
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
        self.make_room(&mut kept);
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

    /// Removes what is too old, then the oldest while all together are too large.
    fn make_room(&self, kept: &mut VecDeque<Kept>) {
        let now = self.0.clock.now();
        let mut total: u64 = kept.iter().map(|one| one.bytes).sum();
        let mut idx = 0;
        while let Some(one) = kept.get(idx) {
            let late = now.since(one.at) >= self.0.bounds.ttl;
            let crowded = total > self.0.bounds.total_bytes || kept.len() > ARTIFACTS_MAX;
            if one.open || !(late || crowded) {
                idx += 1;
                continue;
            }
            total -= one.bytes;
            // A file that is gone already is what we want.
            fs::remove_file(self.path(&one.id)).ok();
            kept.remove(idx);
        }
    }

    /// Removes every artifact.
    pub fn close(&self) {
        for one in self.kept().drain(..) {
            fs::remove_file(self.path(&one.id)).ok();
        }
        // Another process may still keep some there.
        fs::remove_dir(&self.0.dir).ok();
    }
}

fn no_follow() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits()).unwrap_or(0)
}

/// Removes what an earlier process left behind, once it is too old for anybody.
fn sweep(dir: &Path, ttl: Duration, clock: &Clock) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let ours =
            entry.file_name().to_str().is_some_and(|name| name.parse::<ArtifactId>().is_ok());
        let modified = entry.metadata()?.modified()?.duration_since(std::time::UNIX_EPOCH);
        let at = i64::try_from(modified.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
        if ours && clock.now().since(Timestamp::from_millis(at)) >= ttl {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
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

    /// Appends bytes up to the bound. A full disk ends the artifact, not the command it belongs to.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.store.0.bounds.bytes - self.bytes).unwrap_or(usize::MAX);
        let taken = if self.dropped > 0 { 0 } else { room.min(bytes.len()) };
        let (now, rest) = bytes.split_at(taken);
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
            one.bytes = self.bytes;
        }
        self.store.make_room(&mut kept);
    }
}

#[cfg(test)]
mod tests;
