//! A person's answer to what a run waits for. It is stored; once nothing waits any more, the run goes on
//! where the transcript stands, also after a restart.

use std::sync::Arc;

use agent::transcript::Transcript;
use daemon::caller::Caller;
use futures_util::future::BoxFuture;
use vocab::{
    ids::{BlockId, RunId, SessionId},
    message::{Answer, Block, RunState},
    outcome::Failure,
};

use crate::{
    models::Keys,
    resume::all_answered,
    runs::{Claim, Reservation},
    sessions::Sessions,
    start::broke_off,
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
        let (sessions, session, block) = (Arc::clone(self), session.clone(), block.clone());
        Box::pin(async move {
            caller.hand()?;
            // Whoever asked may go away: an answer that is stored is acted on all the same.
            let taken = tokio::spawn(async move { sessions.take(&session, &block, given).await });
            taken.await.unwrap_or_else(|_broken| Err(broke_off("taking the answer")))
        })
    }

    fn take<'a>(
        self: &'a Arc<Self>,
        session: &'a SessionId,
        block: &'a BlockId,
        given: (Answer, Keys),
    ) -> BoxFuture<'a, Result<Answered, Failure>> {
        Box::pin(async move {
            let (answer, keys) = given;
            let now = self.clock.now().as_millis();
            self.row(session).await?;
            match self.runs.claim(session).await? {
                Claim::Free(reservation) => {
                    self.take_stored(reservation, session, block, (answer, keys)).await
                }
                Claim::Live(working) => {
                    let run = working.live.run().clone();
                    let state = working.pen.answer(block, answer, now).await?;
                    self.remember_keys(&run, keys);
                    if !all_answered(&state) {
                        // Other calls of the batch still run, and the loop takes the answer up by
                        // itself; or other questions are open.
                        let resumed = matches!(state, RunState::Running);
                        return Ok(Answered { run, resumed });
                    }
                    // It parked in this very moment: its task goes, and a new one takes the answer up.
                    working.over().await;
                    self.go_on_again(session).await?;
                    Ok(Answered { run, resumed: true })
                }
            }
        })
    }

    /// Takes an answer to a run that nobody works on.
    async fn take_stored(
        self: &Arc<Self>,
        reservation: Reservation,
        session: &SessionId,
        block: &BlockId,
        (answer, keys): (Answer, Keys),
    ) -> Result<Answered, Failure> {
        let now = self.clock.now().as_millis();
        let stored = self.store.transcript(session).await?;
        let Some(run) = stored.run else { return Err(not_waiting(block)) };
        // The same answer may be stored already, by a daemon that died before it went on.
        let same = |known: &Block| {
            let before = known.answer.as_ref().map(|before| before.approved);
            known.id == *block && before == Some(answer.approved)
        };
        let goes_on = all_answered(&run.state)
            && matches!(&run.state, RunState::Parked { blocks } if blocks.iter().any(same));
        let run_id = run.id.clone();
        let mut transcript =
            Transcript { session: session.clone(), messages: stored.messages, run };
        if !goes_on {
            let entry = match agent::answer::answer(&transcript, block, answer, now) {
                Ok(entry) if matches!(transcript.run.state, RunState::Parked { .. }) => entry,
                Ok(_) => return Err(not_waiting(block)),
                Err(failure) if !matches!(transcript.run.state, RunState::Parked { .. }) => {
                    return Err(failure);
                }
                Err(failure) => {
                    // Refused; but what was missing to go on may have come along.
                    self.remember_keys(&run_id, keys);
                    drop(reservation);
                    self.parked.notify_one();
                    return Err(failure);
                }
            };
            self.append_entry(transcript.clone(), entry.clone()).await?;
            transcript.apply(&entry);
        }
        self.remember_keys(&run_id, keys);
        if !all_answered(&transcript.run.state) {
            return Ok(Answered { run: run_id, resumed: false });
        }
        self.resume(reservation, session).await?;
        Ok(Answered { run: run_id, resumed: true })
    }

    /// Lets a run go on whose questions are all answered, unless somebody else does. Who holds it may
    /// fail at that, so it is looked at again once they let it go.
    async fn go_on_again(self: &Arc<Self>, session: &SessionId) -> Result<(), Failure> {
        let Claim::Free(reservation) = self.runs.claim(session).await? else {
            return Ok(());
        };
        let waits = match self.store.transcript(session).await?.run {
            Some(run) => all_answered(&run.state),
            None => false,
        };
        if waits { self.resume(reservation, session).await } else { Ok(()) }
    }
}

fn not_waiting(block: &BlockId) -> Failure {
    Failure::not_started("unknown_block", format!("no run waits for an answer to {block}"))
}

#[cfg(test)]
mod tests;
