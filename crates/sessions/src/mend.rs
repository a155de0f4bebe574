//! What a start does with what the last daemon left behind.

use std::sync::Arc;

use agent::{close, transcript::Transcript};
use vocab::{message::RunState, outcome::Failure};

use crate::{resume::all_answered, sessions::Sessions};

impl Sessions {
    /// Closes the runs that nobody works on any more, finishes deletions that were cut off, and lets the
    /// runs go on whose answers were all given. Parked runs stay parked. Called once, before anything
    /// else; doing it again changes nothing. Returns how many runs were closed.
    ///
    /// # Errors
    /// When the store cannot be read or written; calling it again goes on where it stopped.
    pub async fn mend(self: &Arc<Self>) -> Result<usize, Failure> {
        let mut closed = 0;
        for stored in self.store.live_runs().await? {
            if stored.run.state != RunState::Running {
                continue;
            }
            let messages = self.store.transcript(&stored.session).await?.messages;
            let transcript = Transcript { session: stored.session, messages, run: stored.run };
            let entry = close::interrupt(&transcript);
            self.append_entry(transcript, entry).await?;
            closed += 1;
        }
        self.hub.tell(self.store.finish_deletions().await?);
        self.resume_answered().await?;
        Ok(closed)
    }

    /// Lets the runs go on whose answers were all stored before the last daemon ended. One that cannot
    /// go on keeps waiting, and the log says why.
    async fn resume_answered(self: &Arc<Self>) -> Result<(), Failure> {
        for stored in self.store.live_runs().await? {
            if !all_answered(&stored.run.state) {
                continue;
            }
            let session = stored.session;
            let resumed = match self.runs.reserve(&session) {
                Ok(reservation) => self.resume(reservation, &session).await,
                Err(failure) => Err(failure),
            };
            if let Err(failure) = resumed {
                let (run, code) = (&stored.run.id, failure.code);
                tracing::warn!(%session, %run, code, "an answered run cannot go on");
            }
        }
        Ok(())
    }
}
