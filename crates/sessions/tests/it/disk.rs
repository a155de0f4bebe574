//! For every operation that changes the disk while a run works: let it fail, let the disk be full from
//! there, die there or lose power there; come back, and check what was promised before.
//!
//! Every `STEAD_TEST_EVERY_N`-th operation is tried, the third where nothing is said.

#![expect(clippy::disallowed_methods, reason = "test files outside every workspace")]

use std::{fs, path::Path, time::Duration};

use provider::prompt::PromptMessage;
use sessions::{
    live::{Content, Next},
    start::Started,
};
use testkit::faulty_vfs::{Fault, Layer, register};
use vocab::{
    ids::CallId,
    live::{Chunk, Position, Told},
    message::{CallState, Message, Part, Role, RunEnd, RunState},
    outcome::{Content as Block, Effect, Outcome},
};

use crate::rig::{Awake, Rig, person, prompt};

/// Ends a trial that hangs; nothing waits for it.
const WITHIN: Duration = Duration::from_secs(30);

/// What a reader of a run was told.
#[derive(Debug, Default)]
struct Heard {
    outputs: Vec<(CallId, Outcome)>,
    finish: Option<RunState>,
}

/// What a model was shown: what the user said, and the results of calls.
#[derive(Debug, Default)]
struct Shown {
    said: Vec<String>,
    results: Vec<(CallId, Outcome)>,
}

/// What happened before the end of a trial.
#[derive(Debug, Default)]
struct Trial {
    started: Option<Started>,
    heard: Heard,
    /// What the model was shown each time.
    shown: Vec<Shown>,
}

async fn listen(awake: &Awake, started: &Started) -> Heard {
    let from = Some((started.run.clone(), Position::default()));
    let mut heard = Heard::default();
    let Ok(mut reader) = awake.sessions.stream(&person(), &started.session, from).await else {
        return heard;
    };
    while let Next::Frame(frame) = reader.next().await {
        let Content::Piece(piece) = &frame.content else { continue };
        match &piece.told {
            Told::Chunk(Chunk::Output { call, outcome, .. }) => {
                heard.outputs.push((call.clone(), outcome.as_ref().clone()));
            }
            Told::Chunk(Chunk::Finish { state, .. }) => heard.finish = Some(state.clone()),
            Told::Chunk(_) | Told::Delta { .. } => {}
        }
    }
    heard
}

fn shown(awake: &Awake) -> Vec<Shown> {
    let of = |prompt: &provider::prompt::Prompt| {
        let mut shown = Shown::default();
        for message in &prompt.messages {
            match message {
                PromptMessage::User(content) => {
                    shown.said.extend(content.iter().map(words).map(str::to_owned));
                }
                PromptMessage::Results(ended) => {
                    let results = ended.iter().map(|(call, _, end)| (call.clone(), end.clone()));
                    shown.results.extend(results);
                }
                PromptMessage::Assistant { .. } => {}
            }
        }
        shown
    };
    awake.actor.asked().iter().map(of).collect()
}

fn words(block: &Block) -> &str {
    match block {
        Block::Text { text } => text,
        Block::Image { .. } => "",
    }
}

/// Lets a run work over a layer to whatever end it comes.
async fn trial(rig: &Rig, layer: Layer, recovers: bool, what: &str) -> Trial {
    let Ok(awake) = rig.wake(Some(layer.name)).await else { return Trial::default() };
    let mut trial = Trial::default();
    let caller = person();
    let start = awake.sessions.start(&caller, prompt("go", &rig.work()));
    match start.await {
        Err(failure) => assert!(!failure.code.is_empty() && failure.code != "internal", "{what}"),
        Ok(started) => {
            let heard = tokio::time::timeout(WITHIN, listen(&awake, &started)).await;
            trial.heard = heard.unwrap_or_else(|_| panic!("{what}: a reader waits for ever"));
            if recovers {
                // The moment may come only now, and then it is over.
                let answered =
                    again(&awake, &started, what).await || again(&awake, &started, what).await;
                assert!(answered, "{what}: the session is stuck");
            }
            trial.started = Some(started);
        }
    }
    trial.shown = shown(&awake);
    let asleep = tokio::time::timeout(WITHIN, awake.sleep()).await;
    asleep.unwrap_or_else(|_| panic!("{what}: the drain waits for ever"));
    trial
}

/// Tells whether another prompt of the same session is answered.
async fn again(awake: &Awake, started: &Started, what: &str) -> bool {
    let mut start = prompt("again", Path::new("/"));
    start.session = Some(started.session.clone());
    let next = match awake.sessions.start(&person(), start).await {
        Ok(next) => next,
        Err(failure) => {
            assert_eq!(failure.effect, Effect::NotStarted, "{what}: {failure:?}");
            return false;
        }
    };
    let heard = tokio::time::timeout(WITHIN, listen(awake, &next)).await;
    let heard = heard.unwrap_or_else(|_| panic!("{what}: a reader waits for ever"));
    heard.finish == Some(RunState::Ended(RunEnd::Finished))
}

async fn check(rig: &Rig, trial: &Trial, power_lost: bool, what: &str) {
    let awake = rig.wake(None).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let live = awake.store.live_runs().await.unwrap();
    assert!(live.is_empty(), "{what}: a run works after a restart");
    let Some(started) = &trial.started else {
        awake.sleep().await;
        return;
    };
    let messages = awake.sessions.messages(&person(), &started.session).await.unwrap();
    let said = |text: &str| {
        let mine = messages.iter().filter(|message| message.role == Role::User);
        mine.filter(|message| message.plain_text() == text).count()
    };
    assert_eq!(said("go"), 1, "{what}: what the user said");
    for text in trial.shown.iter().flat_map(|shown| &shown.said) {
        assert!(said(text) > 0, "{what}: a model heard {text:?} before it was stored");
    }
    let own: Vec<&Message> =
        messages.iter().filter(|message| message.id == started.message).collect();
    let [own] = own.as_slice() else { panic!("{what}: {} answers", own.len()) };
    if !power_lost {
        let results = trial.shown.iter().flat_map(|shown| &shown.results);
        for (call, outcome) in results.chain(&trial.heard.outputs) {
            let stored = ended(own, call);
            assert_eq!(stored, Some(outcome), "{what}: the outcome of {call} was not stored");
        }
    }
    check_end(&awake, trial, started, what).await;
    if !power_lost {
        check_world(rig, own, what);
    }
    assert!(again(&awake, started, what).await, "{what}: the session is stuck");
    awake.sleep().await;
}

async fn check_end(awake: &Awake, trial: &Trial, started: &Started, what: &str) {
    let stored = awake.store.run(&started.run).await.unwrap().run.state;
    let finished = RunState::Ended(RunEnd::Finished);
    if trial.heard.finish == Some(finished.clone()) {
        assert_eq!(stored, finished, "{what}: success was told and not stored");
    }
    let told = matches!(
        stored,
        RunState::Ended(RunEnd::Finished | RunEnd::Interrupted | RunEnd::Failed { .. })
    );
    assert!(told, "{what}: {stored:?}");
}

fn ended<'a>(message: &'a Message, wanted: &CallId) -> Option<&'a Outcome> {
    message.parts.iter().find_map(|part| {
        let Part::Call { call, state: CallState::Ended { outcome, .. }, .. } = part else {
            return None;
        };
        (call == wanted).then_some(outcome)
    })
}

/// What each call says of its effect is what the directory shows. The mark that a call began survives
/// the death of the process and not the loss of power, so this is asked of the former alone.
fn check_world(rig: &Rig, own: &Message, what: &str) {
    let file = |name: &str| fs::read_to_string(rig.work().join(name)).ok();
    let (written, ran) = (file("a.txt"), file("ran.txt"));
    assert!(matches!(written.as_deref(), None | Some("one\n" | "two\n")), "{what}: {written:?}");
    assert!(matches!(ran.as_deref(), None | Some("ran\n")), "{what}: {ran:?}");
    let left: Vec<_> = fs::read_dir(rig.work()).unwrap().flatten().collect();
    assert!(left.len() <= 2, "{what}: something half-written was left: {left:?}");
    let mut effects = std::collections::BTreeMap::new();
    for part in &own.parts {
        let Part::Call { tool, state, .. } = part else { continue };
        let CallState::Ended { outcome, .. } = state else { panic!("{what}: {tool} is open") };
        effects.insert(tool.as_str(), outcome.effect());
    }
    let happened = [
        ("write", written.is_some()),
        ("edit", written.as_deref() == Some("two\n")),
        ("bash", ran.is_some()),
    ];
    for (tool, happened) in happened {
        match effects.get(tool) {
            Some(Effect::Completed) => assert!(happened, "{what}: {tool} did not happen"),
            Some(Effect::NotStarted) | None => assert!(!happened, "{what}: {tool} happened"),
            Some(Effect::Indeterminate) => {}
        }
    }
}

/// A database that was used before, so that trials need not make one.
async fn template() -> Rig {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let started = awake.sessions.start(&person(), prompt("again", &rig.work())).await.unwrap();
    let heard = listen(&awake, &started).await;
    assert_eq!(heard.finish, Some(RunState::Ended(RunEnd::Finished)));
    awake.sleep().await;
    rig
}

fn copy(from: &Rig) -> Rig {
    let rig = Rig::new();
    fs::copy(from.database(), rig.database()).unwrap();
    rig
}

fn every() -> usize {
    std::env::var("STEAD_TEST_EVERY_N").ok().and_then(|n| n.parse().ok()).unwrap_or(3).max(1)
}

async fn every_operation(fault: Fault) {
    let from = template().await;
    let counter = register(&format!("sessions-{fault:?}"), None);
    let whole = trial(&copy(&from), counter, false, "no fault").await;
    assert_eq!(whole.heard.finish, Some(RunState::Ended(RunEnd::Finished)));
    assert_eq!(whole.heard.outputs.len(), 3);
    let ops = counter.disk().ops;
    let recovers = matches!(fault, Fault::IoOnce | Fault::FullOnce);
    let mut tried = 0;
    for at in (1..=ops).step_by(every()) {
        let what = format!("{fault:?} at {at} of {ops}");
        let rig = copy(&from);
        let layer = register(&format!("sessions-{fault:?}-{at}"), Some((at, fault)));
        let trial = trial(&rig, layer, recovers, &what).await;
        let power_lost = fault == Fault::PowerLoss;
        if power_lost {
            layer.disk().lose_power(|| false);
        }
        check(&rig, &trial, power_lost, &what).await;
        tried += 1;
    }
    println!("{fault:?}: {tried} of {ops} operations");
}

#[tokio::test]
async fn a_run_survives_a_write_that_fails() {
    every_operation(Fault::IoOnce).await;
}

#[tokio::test]
async fn a_run_ends_truthfully_on_a_disk_that_fails_from_there() {
    every_operation(Fault::IoFromThere).await;
}

#[tokio::test]
async fn a_run_survives_a_moment_without_room() {
    every_operation(Fault::FullOnce).await;
}

#[tokio::test]
async fn a_run_ends_truthfully_on_a_disk_that_stays_full() {
    every_operation(Fault::FullFromThere).await;
}

#[tokio::test]
async fn a_killed_process_keeps_its_promises() {
    every_operation(Fault::Kill).await;
}

#[tokio::test]
async fn what_a_user_said_and_how_a_run_ended_survive_the_loss_of_power() {
    every_operation(Fault::PowerLoss).await;
}
