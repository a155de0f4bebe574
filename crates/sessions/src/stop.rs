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

use crate::{
    runs::{self, Claim, LiveRun},
    sessions::Sessions,
};

const LIMIT: Duration = Duration::from_millis(ABORT_WAIT_MS_MAX);

impl Sessions {
    /// Stops the live or parked run of a session and waits for its last fact, as long as that should take. None
    /// there: nothing to do.
    ///
    /// # Errors
    /// When there is no such session, or a parked run's end cannot be stored.
    pub async fn abort(&self, _caller: &Caller, session: &SessionId) -> Result<(), Failure> {
        loop {
            match self.runs.claim(session).await? {
                Claim::Live(run) => match stop_live(&run).await {
                    // It parked before it heard; somebody may even have set it to work again.
                    Some(RunState::Parked { .. }) => {}
                    // One that does not end in time was told to; its end comes as a fact.
                    Some(_) | None => return Ok(()),
                },
                Claim::Free(_reservation) => return self.stop_parked(session).await,
            }
        }
    }

    /// Ends a session's run that waits. The caller holds the session's slot.
    async fn stop_parked(&self, session: &SessionId) -> Result<(), Failure> {
        self.row(session).await?;
        let stored = self.store.transcript(session).await?;
        let Some(run @ Run { state: RunState::Parked { .. }, .. }) = stored.run else {
            return Ok(());
        };
        let run_id = run.id.clone();
        // What its calls left running ends with it, as it does with a run that works.
        if let Ok(lease) = self.open(&stored.session.place).await {
            let ended = tokio::time::timeout(LIMIT, lease.workspace().end_run(&run_id)).await;
            let left = ended.map_or(0, |left| left.len());
            tracing::info!(%session, run = %run_id, left, "a parked run was stopped");
        }
        let transcript = Transcript { session: session.clone(), messages: stored.messages, run };
        let entry = agent::close::close(&transcript, RunEnd::Aborted);
        self.append_entry(transcript, entry).await?;
        self.forget_keys(&run_id);
        Ok(())
    }

    /// Waits until nobody works on a session: its last fact is told, and its slot is free.
    pub async fn at_rest(&self, session: &SessionId) {
        while let Some(run) = self.runs.settled(session).await {
            run.over().await;
        }
    }

    /// Deletes a session: content, facts and scratch directory go, one tombstone stays. A live run is
    /// stopped first.
    ///
    /// # Errors
    /// When there is none, or it cannot be stopped or deleted.
    pub async fn delete(&self, caller: &Caller, session: &SessionId) -> Result<(), Failure> {
        caller.person()?;
        self.row(session).await?;
        let _reservation = loop {
            match self.runs.claim(session).await? {
                Claim::Live(run) => {
                    stop_live(&run).await.ok_or_else(|| runs::in_flight(session))?;
                }
                Claim::Free(reservation) => break reservation,
            }
        };
        self.stop_parked(session).await?;
        let tombstone = self.store.delete_session(session).await?;
        self.hub.tell(vec![tombstone]);
        // After the tombstone, which a kill in between leaves behind for the next sweep to go by.
        self.remove_scratch(session).await;
        Ok(())
    }
}

/// Tells a run to stop and waits for its last fact. Returns how it stood then; none for one that did not
/// end in time.
async fn stop_live(run: &LiveRun) -> Option<RunState> {
    run.cancel.cancel();
    tokio::time::timeout(LIMIT, run.over()).await.ok()?;
    Some(run.pen.transcript().run.state.clone())
}

#[cfg(test)]
mod tests;
