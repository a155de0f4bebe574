//! The questions of a run: each is asked at the terminal, or all of them get one answer.

use api::agent::AnswerRequest;
use tokio::signal::unix::Signal;
use vocab::{
    ids::BlockId,
    message::{Answer, Block},
    outcome::Failure,
};

use super::{
    super::ask::{self, Said},
    Driver, Keys, abort, open,
};
use crate::print;

impl Driver<'_> {
    /// Asks about every open question; false when nobody answers.
    pub(super) async fn ask_all(
        &mut self,
        session: &str,
        blocks: &[Block],
        keys: &Keys,
        interrupt: &mut Signal,
    ) -> Result<bool, Failure> {
        for block in blocks.iter().filter(|block| open(block)) {
            let said = tokio::select! {
                said = ask::ask(block, self.show.look().err.style) => said,
                _ = interrupt.recv() => {
                    return self.stop_asking(session, interrupt).await.map(|()| true);
                }
            };
            let Some(answer) = said.answer() else { return Ok(false) };
            match self.say(session, &block.id, answer, keys).await {
                // Whoever sits here sees how the run goes on without it.
                Err(failure) if failure.code == "answer_late" => {
                    print::err(&format!("stead: {}\n", failure.message));
                }
                said => said?,
            }
        }
        Ok(true)
    }

    /// Gives one answer to every open question, and shows each.
    pub(super) async fn say_all(
        &self,
        session: &str,
        blocks: &[Block],
        said: &Said,
        keys: &Keys,
    ) -> Result<bool, Failure> {
        let Some(answer) = said.answer() else { return Ok(false) };
        let (mut taken, mut late) = (false, None);
        for block in blocks.iter().filter(|block| open(block)) {
            print::err(&ask::question(block, self.show.look().err.style));
            match self.say(session, &block.id, answer.clone(), keys).await {
                Ok(()) => taken = true,
                // The other questions may still have their time.
                Err(failure) if failure.code == "answer_late" => {
                    print::err(&format!("stead: {}\n", failure.message));
                    late = Some(failure);
                    continue;
                }
                Err(failure) => return Err(failure),
            }
            print::err(if answer.approved { "allowed\n" } else { "refused\n" });
        }
        match late {
            Some(failure) if !taken => Err(failure),
            Some(_) | None => Ok(true),
        }
    }

    pub(super) async fn say(
        &self,
        session: &str,
        block: &BlockId,
        answer: Answer,
        keys: &Keys,
    ) -> Result<(), Failure> {
        let request = AnswerRequest {
            session_id: session.to_owned(),
            block_id: block.to_string(),
            approved: answer.approved,
            reason: answer.reason,
            keys: keys.clone(),
        };
        if !ask::answer(self.client, &request).await? {
            print::err("stead: that needs no answer any more; somebody else was faster\n");
        }
        Ok(())
    }

    /// Stops a parked run: its stream tells the end only to those who come after it.
    async fn stop_asking(&mut self, session: &str, interrupt: &mut Signal) -> Result<(), Failure> {
        self.interrupts += 1;
        self.show.notice("stead: stopping; Ctrl-C once more leaves it");
        tokio::select! {
            () = abort(self.client, session) => Ok(()),
            _ = interrupt.recv() => self.interrupted(session),
        }
    }
}
