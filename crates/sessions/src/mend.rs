//! What a start does with what the last daemon left behind.

use std::sync::Arc;

use agent::{close, transcript::Transcript};
use vocab::{message::RunState, outcome::Failure};

use crate::sessions::Sessions;

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
            // A daemon that began on a full disk does this late, and may be at work itself by then.
            if stored.run.state != RunState::Running || self.runs.is_live(&stored.session) {
                continue;
            }
            let messages = self.store.transcript(&stored.session).await?.messages;
            let transcript = Transcript { session: stored.session, messages, run: stored.run };
            let entry = close::interrupt(&transcript);
            self.append_entry(transcript, entry).await?;
            closed += 1;
        }
        self.hub.tell(self.store.finish_deletions().await?);
        Ok(closed)
    }
}
