//! The right to write a session, said in its directory, so that two programs never write one.
//!
//! Within this daemon the slot of a session says the same; this is for everybody else.

use std::{io, path::PathBuf};

use stdx::{
    state_file,
    writer_lock::{Refused, WriterLock},
};
use vocab::{ids::SessionId, outcome::Failure};

use crate::sessions::Sessions;

/// The file in a session's directory.
pub(crate) const NAME: &str = "writer.lock";

/// The right. Dropping it gives it back, and a directory that nothing else is in goes with it.
#[derive(Debug)]
pub(crate) struct Writer {
    lock: Option<WriterLock>,
    dir: PathBuf,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.lock = None;
        // One that holds something stays.
        state_file::remove_empty(&self.dir).ok();
    }
}

impl Sessions {
    /// Takes the right to write a session.
    ///
    /// # Errors
    /// When another program that lives has it, or the session's directory cannot be used.
    pub(crate) async fn writer_of(&self, session: &SessionId) -> Result<Writer, Failure> {
        let (dir, at) = (self.scratch_of(session), self.clock.now());
        let taking = tokio::task::spawn_blocking(move || {
            state_file::ensure_dir(&dir)
                .map_err(|source| Refused::Io { path: dir.clone(), source })?;
            let lock = WriterLock::acquire(&dir.join(NAME), at)?;
            Ok(Writer { lock: Some(lock), dir })
        });
        let taken = taking.await.unwrap_or_else(|_| {
            let (path, source) = (PathBuf::new(), io::Error::other("it broke off"));
            Err(Refused::Io { path, source })
        });
        taken.map_err(|refused| match refused {
            Refused::Held { .. } => {
                let why = format!("another program writes {session}: {refused}");
                Failure::not_started("locked", why).with_hint("end it first")
            }
            Refused::Io { ref source, .. } => {
                let is_full = stdx::state_file::is_full(source);
                let code = if is_full { "disk_full" } else { "state_io" };
                Failure::not_started(code, refused.to_string())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage;

    #[tokio::test]
    async fn a_session_that_another_program_writes_is_locked() {
        let (_dir, sessions) = stage::sessions();
        let session = SessionId::generate();
        let dir = sessions.scratch_of(&session);
        let held = sessions.writer_of(&session).await.unwrap();
        let failure = sessions.writer_of(&session).await.unwrap_err();
        assert_eq!(failure.code, "locked");
        assert!(failure.message.contains(&std::process::id().to_string()), "{failure:?}");
        drop(held);
        assert!(!dir.exists());
        state_file::ensure_dir(&dir.join("scratch")).unwrap();
        drop(sessions.writer_of(&session).await.unwrap());
        assert!(dir.join("scratch").exists() && !dir.join(NAME).exists());
    }
}
