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
            caller.person()?;
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
            if !blocks.iter().any(|known| known.id == *block) {
                return Err(not_waiting(block));
            }
            let (run_id, model) = (run.id.clone(), run.model.clone());
            self.remember_keys(&run_id, keys);
            let mut transcript =
                Transcript { session: session.clone(), messages: stored.messages, run };
            let entry = agent::answer::answer(&transcript, block, answer)?;
            self.append_entry(transcript.clone(), entry.clone()).await?;
            transcript.apply(&entry);
            let waits = matches!(&transcript.run.state, RunState::Parked { blocks }
                if blocks.iter().any(|block| block.answer.is_none()));
            if waits {
                return Ok(Answered { run: run_id, resumed: false });
            }
            let wanted = Wanted { sticky: Some(model), ..Wanted::default() };
            let chosen = self.models.choose(&wanted, &self.keys_of(&run_id)).await?;
            let workspace = self.open(cwd.as_deref()).await?;
            self.launch(&mut reservation, transcript, chosen, workspace)(reservation);
            Ok(Answered { run: run_id, resumed: true })
        })
    }
}

fn not_waiting(block: &BlockId) -> Failure {
    Failure::not_started("unknown_block", format!("no run waits for an answer to {block}"))
}
