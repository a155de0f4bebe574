//! Stopping runs and deleting sessions.

use std::time::Duration;

use agent::transcript::Transcript;
use daemon::caller::Caller;
use vocab::{
    ids::SessionId,
    limits::ABORT_WAIT_MS_MAX,
    message::{Run, RunEnd, RunState},
    outcome::Failure,
};

use crate::sessions::Sessions;

impl Sessions {
    /// Stops the live or parked run of a session and waits for its last fact. None there: nothing to do.
    ///
    /// # Errors
    /// When there is no such session, or a parked run's end cannot be stored.
    pub async fn abort(&self, _caller: &Caller, session: &SessionId) -> Result<(), Failure> {
        let limit = Duration::from_millis(ABORT_WAIT_MS_MAX);
        if let Some(run) = self.runs.settled(session).await {
            run.cancel.cancel();
            // A run that does not end in time was told to; its end comes as a fact.
            let over = tokio::time::timeout(limit, run.over()).await.is_ok();
            let parked = matches!(run.pen.transcript().run.state, RunState::Parked { .. });
            if !over || !parked {
                return Ok(());
            }
        }
        self.row(session).await?;
        let _reservation = self.runs.reserve(session)?;
        let stored = self.store.transcript(session).await?;
        let Some(run @ Run { state: RunState::Parked { .. }, .. }) = stored.run else {
            return Ok(());
        };
        let run_id = run.id.clone();
        // What its calls left running ends with it, as it does with a run that works.
        if let Ok(lease) = self.open(stored.session.place.cwd.as_deref()).await {
            let ended = tokio::time::timeout(limit, lease.workspace().end_run(&run_id)).await;
            let left = ended.map_or(0, |left| left.len());
            tracing::info!(%session, run = %run_id, left, "a parked run was stopped");
        }
        let transcript = Transcript { session: session.clone(), messages: stored.messages, run };
        let entry = agent::close::close(&transcript, RunEnd::Aborted);
        self.append_entry(transcript, entry).await?;
        self.forget_keys(&run_id);
        Ok(())
    }

    /// Deletes a session: content, facts and scratch directory go, one tombstone stays. A live run is
    /// stopped first.
    ///
    /// # Errors
    /// When there is none, or it cannot be stopped or deleted.
    pub async fn delete(&self, caller: &Caller, session: &SessionId) -> Result<(), Failure> {
        caller.person()?;
        self.row(session).await?;
        self.abort(caller, session).await?;
        let _reservation = self.runs.reserve(session)?;
        let tombstone = self.store.delete_session(session).await?;
        self.hub.tell(vec![tombstone]);
        // After the tombstone, which a kill in between leaves behind for the next start to go by.
        self.remove_scratch(session).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
