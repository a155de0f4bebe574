//! What time does to runs: questions that nobody answered count as denied, and runs whose end the store
//! once refused get it as soon as it takes it.

use std::{sync::Arc, time::Duration};

use vocab::{ids::SessionId, message::RunState, outcome::Failure};

use crate::sessions::Sessions;

/// How long the next look waits when the store was in trouble.
const RETRY: Duration = Duration::from_secs(60);

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

    /// Resumes the runs whose questions are overdue and ends those that nobody works on; returns how long
    /// until the next one is due.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn expire_due(self: &Arc<Self>) -> Result<Option<Duration>, Failure> {
        let now = self.clock.now().as_millis();
        let mut next: Option<i64> = None;
        for stored in self.store.live_runs().await? {
            if stored.run.state == RunState::Running {
                // One that works has its slot; one that has none lost its end to a disk in trouble.
                if let Ok(_reservation) = self.runs.reserve(&stored.session) {
                    self.end_orphan(&stored.session).await?;
                }
                continue;
            }
            let Some(deadline) = earliest(&stored.run.state) else { continue };
            if deadline > now {
                next = Some(next.map_or(deadline, |known| known.min(deadline)));
                continue;
            }
            self.expire(&stored.session).await;
        }
        Ok(next.map(|at| Duration::from_millis(u64::try_from(at - now).unwrap_or(0))))
    }

    async fn expire(self: &Arc<Self>, session: &SessionId) {
        // Somebody works on it already: then it is not parked any more.
        let Ok(reservation) = self.runs.reserve(session) else { return };
        if let Err(failure) = self.resume(reservation, session).await {
            tracing::warn!(%session, code = failure.code, "an overdue run cannot go on");
        }
    }
}

fn earliest(state: &RunState) -> Option<i64> {
    let RunState::Parked { blocks } = state else { return None };
    let open = blocks.iter().filter(|block| block.answer.is_none());
    open.filter_map(|block| block.deadline_at).min()
}
