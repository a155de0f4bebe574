//! The one way back into a run that is stored: an answer, a restart and a deadline all enter here.

use std::sync::Arc;

use agent::transcript::Transcript;
use vocab::{
    ids::SessionId,
    message::RunState,
    outcome::{Effect, Failure},
};

use crate::{models::Wanted, runs::Reservation, sessions::Sessions};

/// Tells whether a parked run waits for nothing any more.
pub(crate) fn all_answered(state: &RunState) -> bool {
    matches!(state, RunState::Parked { blocks } if blocks.iter().all(|block| block.answer.is_some()))
}

impl Sessions {
    /// Drives a stored run on from where its transcript stands. The reservation moves into its task.
    ///
    /// # Errors
    /// When no model, no key or no place is there. Nothing of the run changed; it can be resumed later.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        mut reservation: Reservation,
        session: &SessionId,
    ) -> Result<(), Failure> {
        let stored = self.store.transcript(session).await?;
        let place = stored.session.place;
        let Some(run) = stored.run else { return Ok(()) };
        let wanted = Wanted { sticky: Some(run.model.clone()), ..Wanted::default() };
        let chosen = self.models.choose(&wanted, &self.keys_of(&run.id)).await.map_err(later)?;
        let lease = self.open(&place).await.map_err(later)?;
        reservation.hold(self.writer_of(session).await.map_err(later)?);
        let transcript = Transcript { session: session.clone(), messages: stored.messages, run };
        self.launch(&mut reservation, transcript, chosen, lease)(reservation);
        Ok(())
    }
}

/// What led to resuming is stored already; only the going on failed.
fn later(mut failure: Failure) -> Failure {
    failure.effect = Effect::Completed;
    let hint = "what was answered is stored; once this is mended, answer the same again to go on";
    let hint = match failure.hint.take() {
        Some(first) => format!("{first}\n{hint}"),
        None => hint.to_owned(),
    };
    failure.with_hint(hint)
}
