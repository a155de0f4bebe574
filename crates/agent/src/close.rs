//! How a run is brought to its end: what was open is closed, truthfully, in one entry.
//!
//! Pure. A restart uses it for runs whose writer died; a session uses it for a parked run that a person
//! stops; the driver uses it for every end.

use std::sync::Arc;

use vocab::{
    fact::RunFact,
    ids::CallId,
    limits::RUN_FAILURE_BYTES_MAX,
    live::Chunk,
    message::{CallState, Part, Run, RunEnd, RunState, Usage},
    outcome::{Effect, Failure, Outcome},
};

use crate::{
    journal::{Durability, Entry},
    parts::{beginning, in_step, next_ordinal, put},
    transcript::Transcript,
};

/// Returns what a restart stores for a run that was running when its daemon died.
#[must_use]
pub fn interrupt(transcript: &Transcript) -> Entry {
    close(transcript, RunEnd::Interrupted)
}

/// Returns what ends a run that nobody is working on, in whatever way; nothing when it is over.
#[must_use]
pub fn close(transcript: &Transcript, end: RunEnd) -> Entry {
    close_with(transcript, Entry::default(), end, &[])
}

/// A note for people at the end of a run.
#[derive(Debug, Clone)]
pub(crate) struct LastNote {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

/// Ends a run together with what a broken model answer still had to store.
pub(crate) fn close_with(
    transcript: &Transcript,
    tail: Entry,
    end: RunEnd,
    notes: &[LastNote],
) -> Entry {
    if matches!(transcript.run.state, RunState::Ended(_)) {
        return Entry::default();
    }
    let mut entry = Entry { durability: Durability::Power, ..tail };
    let mut parts = transcript.parts().to_vec();
    put(&mut parts, &entry.parts);
    let end = bounded(end);
    let mut ordinal = next_ordinal(&parts);
    for (idx, part) in parts.iter_mut().enumerate() {
        let Some(chunk) = close_part((idx, &mut *part), &end, ordinal) else { continue };
        if let Chunk::Output { call, outcome, .. } = &chunk {
            entry.facts.push(ended_fact(&transcript.run, call, outcome));
            ordinal = ordinal.saturating_add(1);
        }
        entry.chunks.push(chunk);
        replace(&mut entry.parts, idx, part.clone());
    }
    for note in notes {
        let part = parts.len();
        let (kind, text) = (note.kind.to_owned(), note.text.clone());
        entry.chunks.push(Chunk::Note { part, kind: kind.clone(), text: text.clone() });
        entry.parts.push((part, Part::Note { kind: kind.clone(), text: text.clone() }));
        parts.push(Part::Note { kind, text });
    }
    // The run stopped inside a step that readers still hold open.
    if in_step(&parts) {
        entry.chunks.push(Chunk::StepEnd);
    }
    let state = RunState::Ended(end.clone());
    entry.chunks.push(Chunk::Finish { state: state.clone(), usage: Usage::of(&parts) });
    entry.facts.push(RunFact::RunEnded { run: transcript.run.id.clone(), end });
    entry.state = Some(state);
    entry
}

/// Closes one part; returns what to tell of it, or none when it was not open.
fn close_part((idx, part): (usize, &mut Part), end: &RunEnd, ordinal: u32) -> Option<Chunk> {
    match part {
        Part::Text { done, .. } if !*done => {
            *done = true;
            Some(Chunk::TextEnd { part: idx })
        }
        Part::Reasoning { done, .. } if !*done => {
            *done = true;
            Some(Chunk::ReasoningEnd { part: idx })
        }
        Part::Call { call, block, state, .. } if !matches!(state, CallState::Ended { .. }) => {
            let outcome = Outcome::failed(left_open(end, state));
            *state = CallState::Ended { outcome: outcome.clone(), ordinal };
            let (call, block) = (call.clone(), block.clone());
            Some(Chunk::Output { call, block, outcome: Arc::new(outcome) })
        }
        Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::Call { .. }
        | Part::Step { .. }
        | Part::File { .. }
        | Part::Steer { .. }
        | Part::Note { .. } => None,
    }
}

/// The fact that a call ended.
pub(crate) fn ended_fact(run: &Run, call: &CallId, outcome: &Outcome) -> RunFact {
    RunFact::CallEnded {
        run: run.id.clone(),
        call: call.clone(),
        effect: outcome.effect(),
        code: outcome.failure.as_ref().map(|failure| failure.code.clone()),
    }
}

/// Says what is true of a call that the end of its run left open.
fn left_open(end: &RunEnd, state: &CallState) -> Failure {
    let (code, what) = match end {
        RunEnd::Interrupted => ("interrupted", "the daemon stopped"),
        RunEnd::Aborted => ("aborted", "the run was stopped"),
        RunEnd::Failed { failure } => (failure.code.as_str(), "the run failed"),
        RunEnd::Finished => ("run_ended", "the run ended"),
        RunEnd::StepLimit { .. } => ("step_limit", "the run reached its limit of steps"),
    };
    if matches!(state, CallState::Blocked) {
        let message = format!("{what} before anyone answered; nothing was done");
        return Failure::not_started("unanswered", message);
    }
    if matches!(state, CallState::Started) {
        let message = format!("{what} while this call ran; it may or may not have taken effect");
        Failure::new(code, Effect::Indeterminate, message).with_hint("look before trying it again")
    } else {
        Failure::not_started(code, format!("{what} before this call began; nothing was done"))
    }
}

fn replace(parts: &mut Vec<(usize, Part)>, idx: usize, part: Part) {
    match parts.iter_mut().find(|(known, _)| *known == idx) {
        Some((_, slot)) => *slot = part,
        None => parts.push((idx, part)),
    }
}

/// Cuts the texts of a failure, because facts are thin.
fn bounded(end: RunEnd) -> RunEnd {
    let RunEnd::Failed { failure } = end else { return end };
    // Control characters would grow sixfold as JSON.
    let thin = |text: &str| beginning(text, RUN_FAILURE_BYTES_MAX).replace(char::is_control, " ");
    RunEnd::Failed {
        failure: Failure {
            message: thin(&failure.message),
            hint: failure.hint.as_deref().map(thin),
            ..failure
        },
    }
}
