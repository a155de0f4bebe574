//! What time does to runs: questions that nobody answered count as denied, runs whose questions are all
//! answered go on, and runs whose end the store once refused get it as soon as it takes it.
//!
//! What failed is looked at again after a while: a key, a model or a disk may be there by then.

use std::{sync::Arc, time::Duration};

use agent::{answer, transcript::Transcript};
use vocab::{ids::SessionId, limits::GO_ON_RETRY_MS, message::RunState, outcome::Failure};

use crate::{resume::all_answered, sessions::Sessions};

const RETRY: Duration = Duration::from_millis(GO_ON_RETRY_MS);

impl Sessions {
    /// Watches for as long as the daemon lives. It sleeps until the next deadline is due, and looks again
    /// when a run leaves.
    pub async fn watch_deadlines(self: Arc<Self>) {
        loop {
            let wait = match self.expire_due().await {
                Ok(wait) => wait,
                Err(failure) => {
                    tracing::warn!(code = failure.code, "deadlines could not be looked at");
                    Some(RETRY)
                }
            };
            let parked = self.parked.notified();
            match wait {
                Some(wait) => {
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = parked => {}
                    }
                }
                None => parked.await,
            }
        }
    }

    /// Denies the questions that are overdue, lets the runs go on that wait for nothing, and ends those
    /// that nobody works on; returns how long until there is something to look at.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn expire_due(self: &Arc<Self>) -> Result<Option<Duration>, Failure> {
        let now = self.clock.now().as_millis();
        let mut next: Option<Duration> = None;
        for stored in self.store.live_runs().await? {
            let (session, run) = (&stored.session, &stored.run.id);
            let wait = if stored.run.state == RunState::Running {
                // One that works has its slot; one that has none lost its end to a disk in trouble.
                if let Ok(_reservation) = self.runs.reserve(session) {
                    self.end_orphan(session).await?;
                }
                None
            } else if answer::overdue(&stored.run.state, now).is_empty()
                && !all_answered(&stored.run.state)
            {
                until_due(&stored.run.state, now)
            } else {
                self.go_on(session, now).await.unwrap_or_else(|failure| {
                    let code = failure.code;
                    tracing::warn!(%session, %run, code, "an answered run cannot go on");
                    Some(RETRY)
                })
            };
            next = [next, wait].into_iter().flatten().min();
        }
        Ok(next)
    }

    /// Stores what time answered, which needs no model, and then lets the run go on. Returns how long
    /// until the next of its questions is due.
    async fn go_on(
        self: &Arc<Self>,
        session: &SessionId,
        now: i64,
    ) -> Result<Option<Duration>, Failure> {
        // Somebody may work on it already: then it is looked at again.
        let reservation = self.runs.reserve(session)?;
        let stored = self.store.transcript(session).await?;
        let Some(run) = stored.run else { return Ok(None) };
        let mut transcript =
            Transcript { session: session.clone(), messages: stored.messages, run };
        for block in answer::overdue(&transcript.run.state, now) {
            let entry = answer::expire(&transcript, &block)?;
            self.append_entry(transcript.clone(), entry.clone()).await?;
            transcript.apply(&entry);
        }
        if all_answered(&transcript.run.state) {
            self.resume(reservation, session).await?;
        }
        Ok(until_due(&transcript.run.state, now))
    }
}

/// Returns how long until the first open question of a run is due.
fn until_due(state: &RunState, now: i64) -> Option<Duration> {
    let RunState::Parked { blocks } = state else { return None };
    let open = blocks.iter().filter(|block| block.answer.is_none());
    let due = open.filter_map(|block| block.deadline_at).min()?;
    Some(Duration::from_millis(u64::try_from(due - now).unwrap_or(0)))
}
