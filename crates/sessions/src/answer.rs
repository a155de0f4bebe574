//! A person's answer to what a run waits for. It is stored; once nothing waits any more, the run goes on
//! where the transcript stands, also after a restart.

use std::sync::Arc;

use agent::transcript::Transcript;
use daemon::caller::Caller;
use futures_util::future::BoxFuture;
use vocab::{
    ids::{BlockId, RunId, SessionId},
    message::{Answer, RunState},
    outcome::Failure,
};

use crate::{
    models::{Keys, Wanted},
    runs::Reservation,
    sessions::Sessions,
};

/// What an answer led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The run.
    pub run: RunId,
    /// Whether it works again; it may wait for other answers.
    pub resumed: bool,
}

impl Sessions {
    /// Stores an answer and resumes the run when it was the last one missing.
    ///
    /// # Errors
    /// When the caller is no person, nothing waits for that answer, or the run cannot go on.
    pub fn answer<'a>(
        self: &'a Arc<Self>,
        caller: &'a Caller,
        session: &'a SessionId,
        block: &'a BlockId,
        given: (Answer, Keys),
    ) -> BoxFuture<'a, Result<Answered, Failure>> {
        Box::pin(async move {
            caller.hand()?;
            let (answer, keys) = given;
            self.row(session).await?;
            if let Some(working) = self.runs.find(session) {
                // Other calls of the same batch still run; the loop takes the answer up by itself.
                let run = working.live.run().clone();
                self.remember_keys(&run, keys);
                working.pen.answer(block, answer).await?;
                return Ok(Answered { run, resumed: true });
            }
            let mut reservation = self.runs.reserve(session)?;
            let stored = self.store.transcript(session).await?;
            let cwd = stored.session.place.cwd.clone();
            let Some(run) = stored.run else { return Err(not_waiting(block)) };
            let RunState::Parked { blocks } = &run.state else { return Err(not_waiting(block)) };
            let Some(asked) = blocks.iter().find(|known| known.id == *block) else {
                return Err(not_waiting(block));
            };
            // The last answer may have been stored by a daemon that died before it went on.
            let goes_on = asked.answer.is_some() && all_answered(&run.state);
            let run_id = run.id.clone();
            self.remember_keys(&run_id, keys);
            let mut transcript =
                Transcript { session: session.clone(), messages: stored.messages, run };
            if !goes_on {
                let entry = agent::answer::answer(&transcript, block, answer)?;
                self.append_entry(transcript.clone(), entry.clone()).await?;
                transcript.apply(&entry);
            }
            if !all_answered(&transcript.run.state) {
                return Ok(Answered { run: run_id, resumed: false });
            }
            self.go_on(&mut reservation, transcript, cwd.as_deref()).await?(reservation);
            Ok(Answered { run: run_id, resumed: true })
        })
    }

    /// Lets the runs go on whose answers were all stored before the last daemon ended.
    ///
    /// # Errors
    /// When the store cannot be read. A run that cannot go on keeps waiting, and the log says why.
    pub(crate) async fn resume_answered(self: &Arc<Self>) -> Result<(), Failure> {
        for stored in self.store.live_runs().await? {
            if !all_answered(&stored.run.state) {
                continue;
            }
            let session = stored.session;
            let resumed: Result<(), Failure> = async {
                let mut reservation = self.runs.reserve(&session)?;
                let whole = self.store.transcript(&session).await?;
                let (messages, run) = (whole.messages, stored.run);
                let cwd = whole.session.place.cwd;
                let transcript = Transcript { session: session.clone(), messages, run };
                self.go_on(&mut reservation, transcript, cwd.as_deref()).await?(reservation);
                Ok(())
            }
            .await;
            if let Err(failure) = resumed {
                tracing::warn!(%session, code = failure.code, "an answered run cannot go on");
            }
        }
        Ok(())
    }

    async fn go_on(
        self: &Arc<Self>,
        reservation: &mut Reservation,
        transcript: Transcript,
        cwd: Option<&str>,
    ) -> Result<impl FnOnce(Reservation) + use<>, Failure> {
        let wanted = Wanted { sticky: Some(transcript.run.model.clone()), ..Wanted::default() };
        let chosen = self.models.choose(&wanted, &self.keys_of(&transcript.run.id)).await?;
        let workspace = self.open(cwd).await?;
        Ok(self.launch(reservation, transcript, chosen, workspace))
    }
}

/// Tells whether a parked run waits for nothing any more.
fn all_answered(state: &RunState) -> bool {
    matches!(state, RunState::Parked { blocks } if blocks.iter().all(|block| block.answer.is_some()))
}

fn not_waiting(block: &BlockId) -> Failure {
    Failure::not_started("unknown_block", format!("no run waits for an answer to {block}"))
}
