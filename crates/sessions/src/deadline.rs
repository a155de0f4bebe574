//! Questions that nobody answered in time: they count as denied, and their runs go on.

use std::{sync::Arc, time::Duration};

use vocab::{ids::SessionId, message::RunState, outcome::Failure};

use crate::sessions::Sessions;

/// How long a look at the deadlines waits when the store could not be read.
const RETRY: Duration = Duration::from_secs(60);

impl Sessions {
    /// Watches the deadlines of parked runs for as long as the daemon lives. It sleeps until the next
    /// one is due, and looks again when a run parks.
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

    /// Resumes the runs whose questions are overdue; returns how long until the next one is.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn expire_due(self: &Arc<Self>) -> Result<Option<Duration>, Failure> {
        let now = self.clock.now().as_millis();
        let mut next: Option<i64> = None;
        for stored in self.store.live_runs().await? {
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
