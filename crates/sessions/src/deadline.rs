//! What time does to runs: questions that nobody answered count as denied, runs whose questions are all
//! answered go on, and runs whose end the store once refused get it as soon as it takes it.
//!
//! What failed is looked at again after a while: a key, a model or a disk may be there by then.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use agent::{answer, transcript::Transcript};
use store::rows::StoredRun;
use vocab::{
    ids::{RunId, SessionId},
    limits::{GO_ON_RETRY_MS, LOOK_AGAIN_MS},
    message::RunState,
    outcome::Failure,
};

use crate::{resume::all_answered, sessions::Sessions};

const GO_ON_RETRY: Duration = Duration::from_millis(GO_ON_RETRY_MS);
const LOOK_AGAIN: Duration = Duration::from_millis(LOOK_AGAIN_MS);

impl Sessions {
    /// Watches for as long as the daemon lives. It sleeps until the next deadline is due, and looks again
    /// when a run leaves.
    pub async fn watch_deadlines(self: Arc<Self>) {
        loop {
            let wait = match self.expire_due().await {
                Ok(wait) => wait,
                Err(failure) => {
                    tracing::warn!(code = failure.code, "deadlines could not be looked at");
                    Some(LOOK_AGAIN)
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
    /// What fails for one run is logged, and keeps no other from its deadline.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn expire_due(self: &Arc<Self>) -> Result<Option<Duration>, Failure> {
        let now = self.clock.now().as_millis();
        let live = self.store.live_runs().await?;
        self.forget_launches(&live);
        let mut next: Option<Duration> = None;
        for stored in live {
            let wait = self.look_at(&stored, now).await.unwrap_or_else(|failure| {
                let (session, run, code) = (&stored.session, &stored.run.id, failure.code);
                tracing::warn!(%session, %run, code, "a run could not be looked after");
                Some(LOOK_AGAIN)
            });
            next = [next, wait].into_iter().flatten().min();
        }
        Ok(next)
    }

    async fn look_at(
        self: &Arc<Self>,
        stored: &StoredRun,
        now: i64,
    ) -> Result<Option<Duration>, Failure> {
        let (session, state) = (&stored.session, &stored.run.state);
        if *state == RunState::Running {
            // One that works has its slot; one that has none lost its end to a disk in trouble.
            let Ok(_reservation) = self.runs.reserve(session) else { return Ok(None) };
            self.end_orphan(session).await?;
            return Ok(None);
        }
        if answer::overdue(state, now).is_empty() && !all_answered(state) {
            return Ok(until_due(state, now));
        }
        self.go_on(session, now).await
    }

    /// Stores what time answered, which needs no model, and then lets the run go on. Returns how long
    /// until there is something to look at.
    async fn go_on(
        self: &Arc<Self>,
        session: &SessionId,
        now: i64,
    ) -> Result<Option<Duration>, Failure> {
        // Whoever has the slot works on it, or changes it in this moment.
        let Ok(reservation) = self.runs.reserve(session) else { return Ok(Some(LOOK_AGAIN)) };
        let stored = self.store.transcript(session).await?;
        let Some(run) = stored.run else { return Ok(None) };
        let run_id = run.id.clone();
        let mut transcript =
            Transcript { session: session.clone(), messages: stored.messages, run };
        for block in answer::overdue(&transcript.run.state, now) {
            let entry = answer::expire(&transcript, &block)?;
            self.append_entry(transcript.clone(), entry.clone()).await?;
            transcript.apply(&entry);
        }
        if !all_answered(&transcript.run.state) {
            return Ok(until_due(&transcript.run.state, now));
        }
        if let Some(rest) = self.rest_of_launch(&run_id) {
            return Ok(Some(rest));
        }
        if let Err(failure) = self.resume(reservation, session).await {
            let code = failure.code;
            tracing::warn!(%session, run = %run_id, code, "an answered run cannot go on");
            return Ok(Some(GO_ON_RETRY));
        }
        self.note_launch(run_id);
        Ok(None)
    }

    /// Remembers that a run was set to work from here. When the store refuses the first thing it does, it
    /// leaves at once and stands there as before; without this it would be set to work again at once.
    fn note_launch(&self, run: RunId) {
        let at = self.clock.monotonic();
        self.launched.lock().unwrap_or_else(PoisonError::into_inner).insert(run, at);
    }

    /// Returns how long a run that was set to work in vain is left alone; none when that is over.
    fn rest_of_launch(&self, run: &RunId) -> Option<Duration> {
        let at = *self.launched.lock().unwrap_or_else(PoisonError::into_inner).get(run)?;
        let rest = LOOK_AGAIN.saturating_sub(self.clock.monotonic().saturating_sub(at));
        Some(rest).filter(|rest| !rest.is_zero())
    }

    /// Forgets the launches of runs that went on since, or are over.
    fn forget_launches(&self, live: &[StoredRun]) {
        let mut launched = self.launched.lock().unwrap_or_else(PoisonError::into_inner);
        launched.retain(|run, _at| {
            live.iter().any(|stored| stored.run.id == *run && all_answered(&stored.run.state))
        });
    }
}

/// Returns how long until the first open question of a run is due.
fn until_due(state: &RunState, now: i64) -> Option<Duration> {
    let RunState::Parked { blocks } = state else { return None };
    let open = blocks.iter().filter(|block| block.answer.is_none());
    let due = open.filter_map(|block| block.deadline_at).min()?;
    Some(Duration::from_millis(u64::try_from(due - now).unwrap_or(0)))
}
