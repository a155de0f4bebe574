//! Death at every moment: what was stored is enough to go on from.

use vocab::{
    live::{Chunk, Log},
    message::{Answer, CallState, Mode, Part, Role, RunState},
    outcome::Effect,
};

use super::{rig::*, words};
use crate::{answer::answer, close::interrupt, prompt::conversation, transcript::Transcript};

fn story() -> Vec<Turn> {
    let mut slow = turn([text("wait")]);
    slow.push(Say::Wait(5));
    slow.extend(calls(&[("c1", "look", "ms:20"), ("c2", "look", "ms:10"), ("c3", "exec", "")]));
    vec![
        turn([fail("overloaded", provider::delta::Retry::Backoff)]),
        slow,
        calls(&[("c4", "alone", "hook"), ("c5", "nothing", ""), ("c6", "look", "")]),
        says("and so"),
        says("it ends"),
    ]
}

/// Plays the story to its end, answering what it asks.
async fn played() -> Rig {
    let rig = Rig::of(fresh(Mode::AcceptEdits, true), story());
    let journal = rig.journal.clone();
    rig.on_hook(move || {
        journal.user_says("and this");
        Box::pin(async {})
    });
    let state = rig.drive().await;
    let RunState::Parked { blocks } = state else { panic!("not parked: {state:?}") };
    rig.pen.answer(&blocks[0].id, Answer { approved: true, reason: None }, 0).await.unwrap();
    assert_eq!(words::state(&rig.drive().await), "finished");
    rig
}

fn texts(transcript: &Transcript) -> Vec<String> {
    let text = |part: &Part| match part {
        Part::Text { text, .. } | Part::Reasoning { text, .. } => Some(text.clone()),
        _ => None,
    };
    transcript.parts().iter().filter_map(text).collect()
}

fn call_states(transcript: &Transcript) -> Vec<CallState> {
    let state = |part: &Part| match part {
        Part::Call { state, .. } => Some(state.clone()),
        _ => None,
    };
    transcript.parts().iter().filter_map(state).collect()
}

/// Repairs a transcript whose writer died, and checks that it was repaired truthfully.
fn repaired(before: &Transcript) -> Transcript {
    let entry = interrupt(before);
    let mut after = before.clone();
    after.apply(&entry);
    assert_eq!(words::state(&after.run.state), "interrupted");
    assert_eq!(texts(before), texts(&after));
    for (was, is) in call_states(before).iter().zip(call_states(&after)) {
        let CallState::Ended { outcome, .. } = &is else { panic!("left open: {is:?}") };
        match was {
            CallState::Ended { .. } => assert_eq!(was, &is),
            CallState::Started => assert_eq!(outcome.effect(), Effect::Indeterminate),
            _ => assert_eq!(outcome.effect(), Effect::NotStarted),
        }
    }
    // Readers of the repaired run are told just what they would have read.
    let mut log = folded(before);
    log.extend(entry.chunks.iter().map(|chunk| (chunk.clone(), String::new())));
    assert_eq!(log, folded(&after));
    let again = interrupt(&after);
    assert!(again.parts.is_empty() && again.facts.is_empty(), "what is over stays so");
    after
}

/// Checks that a new prompt after this transcript makes a request that providers take.
fn followed_up(transcript: &Transcript) {
    let mut messages = transcript.messages.clone();
    messages.push(message(Role::User, "go on"));
    messages.push(message(Role::Assistant, ""));
    let next = begin_run(transcript.session.clone(), messages, Mode::Auto, true);
    let asked = conversation(&next, true);
    assert_valid(&asked);
    assert!(prompt_line(asked.last().unwrap()).contains("go on"));
}

#[tokio::test(start_paused = true)]
async fn a_restart_at_every_moment_loses_and_doubles_nothing() {
    let rig = played().await;
    let entries = rig.journal.entries();
    let steered = rig.pen.transcript().messages.last().unwrap().clone();
    let mut transcript = rig.start.clone();
    let mut parked = 0;
    for k in 0..=entries.len() {
        if let Some(entry) = k.checked_sub(1).and_then(|at| entries.get(at)) {
            transcript.apply(entry);
        }
        let steers = transcript.parts().iter().any(|part| matches!(part, Part::Steer { .. }));
        if steers && transcript.messages.last() != Some(&steered) {
            transcript.messages.push(steered.clone());
        }
        match &transcript.run.state {
            RunState::Running => followed_up(&repaired(&transcript)),
            RunState::Ended(_) => followed_up(&transcript),
            RunState::Parked { .. } => {
                parked += 1;
                followed_up(&transcript);
                resumed(&transcript).await;
            }
        }
    }
    assert_eq!(parked, 2, "once as asked, once as answered");
    assert_eq!(transcript, *rig.pen.transcript());
}

/// Goes on from a parked run in a new process.
async fn resumed(parked: &Transcript) {
    let mut transcript = parked.clone();
    let RunState::Parked { blocks } = &parked.run.state else { panic!("not parked") };
    for block in blocks.iter().filter(|block| block.answer.is_none()) {
        let entry = answer(&transcript, &block.id, Answer { approved: true, reason: None }, 0);
        transcript.apply(&entry.unwrap());
    }
    let rig = Rig::of(transcript, [says("resumed")]);
    assert_eq!(words::state(&rig.drive().await), "finished");
    assert_eq!(rig.tools.seen.lock().unwrap().calls, ["c3"]);
    assert_eq!(rig.ends(), ["c1 ok#1", "c2 ok#0", "c3 ok#2"]);
    assert_valid(&rig.script.prompts.lock().unwrap().last().unwrap().messages);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_writer_died_is_closed_when_it_is_driven() {
    let rig = played().await;
    let mut transcript = rig.start.clone();
    for entry in rig.journal.entries() {
        if !call_states(&transcript).contains(&CallState::Started) {
            transcript.apply(&entry);
        }
    }
    assert_eq!(words::state(&transcript.run.state), "running");
    let again = Rig::of(transcript, []);
    assert_eq!(words::state(&again.drive().await), "interrupted");
    assert!(again.tools.seen.lock().unwrap().calls.is_empty());
}

#[test]
fn words_cut_off_by_a_death_are_closed() {
    let mut transcript = fresh(Mode::Auto, true);
    let model = transcript.run.model.clone();
    let step = Part::Step { model, usage: None, stop: None };
    let parts = vec![(0, step), (1, Part::Text { text: "so f".to_owned(), done: false })];
    transcript.apply(&crate::journal::Entry { parts, ..Default::default() });
    let after = repaired(&transcript);
    followed_up(&after);
    let log = Log::of_message(
        &after.session,
        &after.run.id,
        after.messages.last().unwrap(),
        &after.run.state,
    );
    let ends = log.entries().iter().any(|entry| entry.chunk == Chunk::TextEnd { part: 1 });
    assert!(ends);
}
