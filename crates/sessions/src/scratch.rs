//! Directories of sessions that have no place of their own: where they are, and how they go with their
//! session.
//!
//! Only a tombstone is taken as the word that a session is gone. One that the store does not know may
//! live in a database that was set aside, or in a newer copy; so what a run made there is kept.

use std::{
    io,
    path::{Path, PathBuf},
};

use stdx::state_file;
use vocab::{ids::SessionId, outcome::Failure};

use crate::sessions::Sessions;

/// The directory in a session's own directory that its runs work in.
pub(crate) const NAME: &str = "scratch";

impl Sessions {
    /// Returns the directory that belongs to one session.
    pub(crate) fn scratch_of(&self, session: &SessionId) -> PathBuf {
        self.scratch.join(session.as_str())
    }

    /// Removes the directory of a session that is deleted. What cannot be removed is tried again at the
    /// next start: the session is gone all the same.
    pub(crate) async fn remove_scratch(&self, session: &SessionId) {
        let dir = self.scratch_of(session);
        if let Err(error) = apart(dir, state_file::remove_tree).await {
            tracing::warn!(%session, %error, "a scratch directory was not removed");
        }
    }

    /// Removes the directories whose sessions are deleted, and the empty ones of sessions that were never
    /// stored: a kill came in between.
    pub(crate) async fn sweep_scratch(&self) -> Result<(), Failure> {
        let names = apart(self.scratch.clone(), state_file::names).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "scratch directories were not looked at");
            Vec::new()
        });
        for name in names {
            let Some(session) = name.to_str().and_then(|name| name.parse::<SessionId>().ok())
            else {
                continue;
            };
            if self.store.is_deleted(&session).await? {
                self.remove_scratch(&session).await;
            } else if self.row(&session).await.is_err_and(|why| why.code == "session_not_found") {
                let dir = self.scratch_of(&session);
                if let Err(error) = apart(dir, remove_unused).await {
                    tracing::warn!(%session, %error, "an empty directory was not removed");
                }
            }
        }
        Ok(())
    }
}

fn remove_unused(dir: &Path) -> io::Result<bool> {
    state_file::remove_empty(&dir.join(NAME))?;
    state_file::remove_empty(dir)
}

/// Works on files beside the runtime's threads: a directory may be large.
async fn apart<T: Send + 'static>(
    path: PathBuf,
    work: fn(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(move || work(&path)).await;
    done.unwrap_or_else(|_panicked| Err(io::Error::other("it broke off")))
}
