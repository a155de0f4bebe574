//! Directories of sessions that have no place of their own: where they are, and how they go with their
//! session.
//!
//! Only a tombstone, or a name that was given because of one, is taken as the word that a session is gone.
//! One that the store does not know may live in a database that was set aside, or in a newer copy; so what
//! a run made there is kept.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use stdx::state_file;
use vocab::{ids::SessionId, limits::SCRATCH_SWEEP_MAX, outcome::Failure};

use crate::{sessions::Sessions, writer};

/// The directory in a session's own directory that its runs work in.
pub(crate) const NAME: &str = "scratch";

/// How the name of a directory ends whose session is deleted.
const GONE: &str = ".gone";

impl Sessions {
    /// Returns the directory that belongs to one session.
    pub(crate) fn scratch_of(&self, session: &SessionId) -> PathBuf {
        self.scratch.join(session.as_str())
    }

    /// Removes the directory of a session that is deleted. What cannot be removed is tried again by
    /// each sweep: the session is gone all the same.
    pub(crate) async fn remove_scratch(&self, session: &SessionId) {
        let dir = self.scratch_of(session);
        if let Err(error) = apart(dir, remove_gone).await {
            tracing::warn!(%session, %error, "a scratch directory was not removed");
        }
    }

    /// Removes directories whose sessions are deleted, and the empty ones of sessions that were never
    /// stored: a kill came in between. It looks at so many names behind `after` in their order, and
    /// returns the last of them; none when no more follow.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn sweep_scratch(
        &self,
        after: Option<OsString>,
    ) -> Result<Option<OsString>, Failure> {
        let scratch = self.scratch.clone();
        let look = move |dir: &Path| state_file::names(dir, after.as_deref(), SCRATCH_SWEEP_MAX);
        let names = apart(scratch, look).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "scratch directories were not looked at");
            Vec::new()
        });
        for name in names.iter().filter_map(|name| name.to_str()) {
            let swept = if name.ends_with(GONE) {
                apart(self.scratch.join(name), state_file::remove_tree).await
            } else if let Ok(session) = name.parse() {
                self.sweep_one(&session).await?
            } else {
                continue;
            };
            if let Err(error) = swept {
                tracing::warn!(name, %error, "a scratch directory was not removed");
            }
        }
        Ok(names.into_iter().nth(SCRATCH_SWEEP_MAX - 1))
    }

    async fn sweep_one(&self, session: &SessionId) -> Result<io::Result<bool>, Failure> {
        if self.is_stored(session).await? {
            return Ok(Ok(false));
        }
        // A session that is about to be stored, or to be deleted, has its slot.
        let Ok(_reservation) = self.runs.reserve(session) else { return Ok(Ok(false)) };
        if self.is_stored(session).await? {
            return Ok(Ok(false));
        }
        let gone = self.store.is_deleted(session).await?;
        let remove = if gone { remove_gone } else { remove_unused };
        Ok(apart(self.scratch_of(session), remove).await)
    }

    async fn is_stored(&self, session: &SessionId) -> Result<bool, Failure> {
        match self.row(session).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.code == "session_not_found" => Ok(false),
            Err(failure) => Err(failure),
        }
    }
}

/// Removes the directory of a deleted session. First its name says so, for as long as something of it
/// cannot be removed: the tombstone goes after a month, and then nothing else would.
fn remove_gone(dir: &Path) -> io::Result<bool> {
    let mut gone = dir.as_os_str().to_owned();
    gone.push(GONE);
    match state_file::set_aside(dir, gone.as_ref()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
        Ok(()) => state_file::remove_tree(gone.as_ref()),
    }
}

fn remove_unused(dir: &Path) -> io::Result<bool> {
    state_file::remove_empty(&dir.join(NAME))?;
    // A run that was killed before it was stored leaves its note; the session's slot is ours now.
    state_file::remove(&dir.join(writer::NAME))?;
    state_file::remove_empty(dir)
}

/// Works on files beside the runtime's threads: a directory may be large.
async fn apart<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(move || work(&path)).await;
    done.unwrap_or_else(|_panicked| Err(io::Error::other("it broke off")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage;

    #[tokio::test]
    async fn a_sweep_leaves_the_directory_of_a_run_that_begins() {
        let (_dir, sessions) = stage::sessions();
        let session = SessionId::generate();
        let dir = sessions.scratch_of(&session);
        state_file::ensure_dir(&dir).unwrap();
        let beginning = sessions.runs.admit(&session).unwrap();
        sessions.sweep_scratch(None).await.unwrap();
        assert!(dir.exists());
        drop(beginning);
        sessions.sweep_scratch(None).await.unwrap();
        assert!(!dir.exists());
    }
}
