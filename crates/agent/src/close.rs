//! How a run is brought to its end: what was open is closed, truthfully, in one entry.
//!
//! Pure. A restart uses it for runs whose writer died; a session uses it for a parked run that a person
//! stops; the driver uses it for every end.

use vocab::{
    fact::RunFact,
    ids::CallId,
    limits::RUN_FAILURE_BYTES_MAX,
    live::Chunk,
    message::{CallState, Part, Run, RunEnd, RunState},
    outcome::{Effect, Failure, Outcome},
};

use crate::{
    journal::{Durability, Entry},
    parts::{beginning, in_step, next_ordinal, usage},
    transcript::Transcript,
};

/// Returns what a restart stores for a run that was running when its daemon died.
#[must_use]
pub fn interrupt(transcript: &Transcript) -> Entry {
    close(transcript, RunEnd::Interrupted)
}

/// Returns what ends a run that nobody is working on, in whatever way.
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
    let mut entry = Entry { durability: Durability::Power, ..tail };
    let mut parts = transcript.parts().to_vec();
    for (idx, part) in &entry.parts {
        match parts.get_mut(*idx) {
            Some(slot) => *slot = part.clone(),
            None => parts.push(part.clone()),
        }
    }
    let end = bounded(end);
    for idx in 0..parts.len() {
        let ordinal = next_ordinal(&parts);
        let Some(part) = parts.get_mut(idx) else { continue };
        if close_part(&transcript.run, (idx, part), &end, ordinal, &mut entry) {
            replace(&mut entry.parts, idx, part.clone());
        }
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
    entry.chunks.push(Chunk::Finish { state: state.clone(), usage: usage(&parts) });
    entry.facts.push(RunFact::RunEnded { run: transcript.run.id.clone(), end });
    entry.state = Some(state);
    entry
}

/// Closes one part; tells whether it changed.
fn close_part(
    run: &Run,
    (idx, part): (usize, &mut Part),
    end: &RunEnd,
    ordinal: u32,
    entry: &mut Entry,
) -> bool {
    match part {
        Part::Text { done, .. } if !*done => {
            *done = true;
            entry.chunks.push(Chunk::TextEnd { part: idx });
            true
        }
        Part::Reasoning { done, .. } if !*done => {
            *done = true;
            entry.chunks.push(Chunk::ReasoningEnd { part: idx });
            true
        }
        Part::Call { call, state, .. } if !matches!(state, CallState::Ended { .. }) => {
            let outcome = Outcome::failed(left_open(end, state));
            end_call(run, call, outcome, ordinal, entry, state);
            true
        }
        Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::Call { .. }
        | Part::Step { .. }
        | Part::File { .. }
        | Part::Steer { .. }
        | Part::Note { .. } => false,
    }
}

fn end_call(
    run: &Run,
    call: &CallId,
    outcome: Outcome,
    ordinal: u32,
    entry: &mut Entry,
    state: &mut CallState,
) {
    entry.facts.push(ended_fact(run, call, &outcome));
    entry.chunks.push(Chunk::Output { call: call.clone(), outcome: outcome.clone() });
    *state = CallState::Ended { outcome, ordinal };
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
    match end {
        RunEnd::Failed { failure } => RunEnd::Failed {
            failure: Failure {
                message: beginning(&failure.message, RUN_FAILURE_BYTES_MAX).to_owned(),
                hint: failure.hint.map(|hint| beginning(&hint, RUN_FAILURE_BYTES_MAX).to_owned()),
                ..failure
            },
        },
        RunEnd::Finished | RunEnd::Aborted | RunEnd::Interrupted | RunEnd::StepLimit { .. } => end,
    }
}
