//! What a start does with what the last daemon left behind.

use std::sync::Arc;

use agent::{close, transcript::Transcript};
use store::StoreError;
use vocab::{ids::SessionId, message::RunState, outcome::Failure};

use crate::{runs::Claim, sessions::Sessions};

impl Sessions {
    /// Closes the runs that nobody works on any more, and finishes deletions that were cut off. Parked
    /// runs stay parked; [`Sessions::watch_deadlines`] lets those go on whose answers were all given.
    /// Called once, before anything else, or once there is room; doing it again changes nothing. Returns how many runs were
    /// closed.
    ///
    /// # Errors
    /// When the store cannot be read or written; calling it again goes on where it stopped.
    pub async fn mend(self: &Arc<Self>) -> Result<usize, Failure> {
        let mut closed = 0;
        for stored in self.store.live_runs().await? {
            if stored.run.state != RunState::Running {
                continue;
            }
            // A daemon that began on a full disk does this late: a run may be at work by then, or about to be, and
            // is stored before it is seen to work.
            let Claim::Free(_turn) = self.runs.claim(&stored.session).await? else { continue };
            closed += usize::from(self.interrupt(&stored.session).await?);
        }
        self.hub.tell(self.store.finish_deletions().await?);
        self.runs.all_closed();
        Ok(closed)
    }

    /// Ends the run of a session that the daemon before had left at work, and tells whether there was one. The
    /// caller holds the session's slot.
    pub(crate) async fn interrupt(&self, session: &SessionId) -> Result<bool, Failure> {
        let stored = match self.store.transcript(session).await {
            Ok(stored) => stored,
            // It was deleted meanwhile.
            Err(StoreError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let Some(run) = stored.run.filter(|run| run.state == RunState::Running) else {
            return Ok(false);
        };
        let messages = stored.messages;
        let transcript = Transcript { session: session.clone(), messages, run };
        let entry = close::interrupt(&transcript);
        self.append_entry(transcript, entry).await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
