//! A person's answer to a question: a change of the transcript, whether or not a task works on the run.
//!
//! Driving on afterwards is the session's business. A question whose time is over counts as denied.

use std::sync::Arc;

use vocab::{
    fact::RunFact,
    ids::BlockId,
    live::Chunk,
    message::{Answer, Block, CallState, Part, RunState, Usage},
    outcome::{Failure, Outcome},
};

use crate::{
    close::ended_fact,
    journal::{Durability, Entry},
    parts::next_ordinal,
    pen::Pen,
    transcript::Transcript,
};

impl Pen {
    /// Stores an answer and returns where the run stands. A parked run whose questions are all answered
    /// has to be driven on; a running one takes the answer up by itself.
    ///
    /// # Errors
    /// As [`answer`], and when the journal refuses.
    pub async fn answer(
        &self,
        block: &BlockId,
        given: Answer,
        now: i64,
    ) -> Result<RunState, Failure> {
        self.write(|transcript| answer(transcript, block, given, now)).await?;
        Ok(self.transcript().run.state.clone())
    }
}

/// Returns the change that a person's answer makes: the call may run now, or ended as `denied`.
///
/// # Errors
/// `unknown_block` when the run never asked that; `answer_late` when its time is over, whether or not
/// the denial is stored; `already_answered` when it needs no answer any more.
pub fn answer(
    transcript: &Transcript,
    block: &BlockId,
    given: Answer,
    now: i64,
) -> Result<Entry, Failure> {
    let by_time = |known: &Block| known.id == *block && known.answer == Some(expired());
    let parked =
        matches!(&transcript.run.state, RunState::Parked { blocks } if blocks.iter().any(by_time));
    if parked || overdue(&transcript.run.state, now).contains(block) {
        let message = format!("the time to answer {block} is over; it counts as denied");
        return Err(Failure::not_started("answer_late", message)
            .with_hint("tell the model once more what you want; it can ask again"));
    }
    decide(transcript, block, given)
}

/// Returns the change that time makes to a question that nobody answered.
///
/// # Errors
/// As [`answer`], for a question that is not open.
pub fn expire(transcript: &Transcript, block: &BlockId) -> Result<Entry, Failure> {
    decide(transcript, block, expired())
}

/// Returns the questions that nobody answered in time.
#[must_use]
pub fn overdue(state: &RunState, now: i64) -> Vec<BlockId> {
    let RunState::Parked { blocks } = state else { return Vec::new() };
    let late = |block: &&Block| {
        block.answer.is_none() && block.deadline_at.is_some_and(|deadline_at| deadline_at <= now)
    };
    blocks.iter().filter(late).map(|block| block.id.clone()).collect()
}

fn decide(transcript: &Transcript, block: &BlockId, given: Answer) -> Result<Entry, Failure> {
    let asked = transcript.parts().iter().enumerate().find_map(|(idx, part)| match part {
        Part::Call { block: Some(id), call, tool, input, state } if id == block => {
            Some((idx, call, tool, input, state))
        }
        Part::Call { .. }
        | Part::Step { .. }
        | Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::File { .. }
        | Part::Steer { .. }
        | Part::Note { .. } => None,
    });
    let Some((idx, call, tool, input, state)) = asked else {
        return Err(Failure::not_started("unknown_block", format!("this run never asked {block}")));
    };
    if !matches!(state, CallState::Blocked) || matches!(transcript.run.state, RunState::Ended(_)) {
        let message = format!("{block} needs no answer any more");
        return Err(Failure::not_started("already_answered", message));
    }
    let mut entry = Entry { durability: Durability::Power, ..Entry::default() };
    entry.facts.push(RunFact::BlockAnswered {
        run: transcript.run.id.clone(),
        block: block.clone(),
        approved: given.approved,
    });
    let state = if given.approved {
        CallState::Approved
    } else {
        let outcome = Outcome::failed(denied(tool, given.reason.as_deref()));
        entry.facts.push(ended_fact(&transcript.run, call, &outcome));
        let (call, block) = (call.clone(), Some(block.clone()));
        let told = Arc::new(outcome.clone());
        entry.chunks.push(Chunk::Output { call, block, outcome: told });
        CallState::Ended { outcome, ordinal: next_ordinal(transcript.parts()) }
    };
    entry.parts.push((
        idx,
        Part::Call {
            call: call.clone(),
            tool: tool.clone(),
            input: input.clone(),
            block: Some(block.clone()),
            state,
        },
    ));
    if let RunState::Parked { blocks } = &transcript.run.state {
        let mut blocks = blocks.clone();
        for known in blocks.iter_mut().filter(|known| known.id == *block) {
            known.answer = Some(given.clone());
        }
        let state = RunState::Parked { blocks };
        let usage = Usage::of(transcript.parts());
        entry.chunks.push(Chunk::Finish { state: state.clone(), usage });
        entry.state = Some(state);
    }
    Ok(entry)
}

/// The answer that time gives when nobody did.
fn expired() -> Answer {
    Answer { approved: false, reason: Some("nobody answered in time".to_owned()) }
}

fn denied(tool: &str, reason: Option<&str>) -> Failure {
    let failure =
        Failure::not_started("denied", format!("a person did not allow this call of {tool}"));
    match reason.filter(|reason| !reason.trim().is_empty()) {
        Some(reason) => failure.with_hint(format!("their words: {reason}")),
        None => failure.with_hint("do not try the same again; go another way or ask"),
    }
}
