//! Runs whose end the store refused: their readers are told all the same, and the session stays usable.
//!
//! Such a run stands in the store as working although nobody works on it. Its end is stored as soon as
//! the store takes it: at once, before the next run of the session, or by the recovery of the next start.

use agent::{close, pen::Pen, transcript::Transcript};
use store::rows::{Phase, SessionRow};
use vocab::{
    ids::SessionId,
    live::Chunk,
    message::{RunEnd, RunState, Usage},
    outcome::{Effect, Failure},
};

use crate::{live::Live, sessions::Sessions};

/// Tells the readers of a run how it left, when the store does not know it. Storing it is tried once
/// more, because a disk may have had a bad moment only.
pub(crate) async fn tell(pen: &Pen, live: &Live, state: &RunState) {
    let RunState::Ended(end) = state else { return };
    if matches!(pen.transcript().run.state, RunState::Ended(_)) {
        return;
    }
    let end = end.clone();
    if let Err(failure) = pen.write(|transcript| Ok(close::close(transcript, end))).await {
        tracing::error!(run = %live.run(), code = failure.code, "the end of a run could not be stored");
        let usage = Usage::of(pen.transcript().parts());
        live.chunk(Chunk::Finish { state: state.clone(), usage });
    }
}

impl Sessions {
    /// Ends the run of a session that stands in the store as working, and returns the row as it is
    /// then. The caller holds the session's slot, so nobody works on it.
    pub(crate) async fn without_orphan(
        &self,
        row: Option<SessionRow>,
    ) -> Result<Option<SessionRow>, Failure> {
        let Some(found) = row else { return Ok(None) };
        if found.run.as_ref().is_none_or(|run| run.phase != Phase::Running) {
            return Ok(Some(found));
        }
        self.end_orphan(&found.id).await?;
        self.row(&found.id).await.map(Some)
    }

    pub(crate) async fn end_orphan(&self, session: &SessionId) -> Result<(), Failure> {
        if self.runs.are_left_open() {
            // The daemon before has left it, and a full disk.
            return self.interrupt(session).await.map(drop);
        }
        let stored = self.store.transcript(session).await?;
        // It may have come to its own end before its slot was free.
        let Some(run) = stored.run.filter(|run| run.state == RunState::Running) else {
            return Ok(());
        };
        let failure = Failure::new(
            "run_unstored",
            Effect::Indeterminate,
            "the run stopped because the store refused to take what it did",
        );
        let (session, messages) = (session.clone(), stored.messages);
        let transcript = Transcript { session, messages, run };
        let entry = close::close(&transcript, RunEnd::Failed { failure });
        self.append_entry(transcript, entry).await
    }
}
