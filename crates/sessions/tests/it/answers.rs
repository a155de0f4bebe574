//! Runs that ask: answered in the very moment they park, after a restart, stopped instead, and asked by
//! somebody who may not answer.

#![expect(clippy::disallowed_methods, reason = "test files outside every workspace")]

use std::time::Duration;

use daemon::caller::{Caller, CallerKind, Carrier};
use sessions::{
    live::{Content, Next},
    models::Keys,
    start::{Start, Started},
};
use stdx::proc_id::ProcId;
use vocab::{
    ids::BlockId,
    limits::GO_ON_RETRY_MS,
    live::{Chunk, Position, Told},
    message::{Answer, Mode, RunEnd, RunState},
};

use crate::rig::{ANSWER_WITHIN, Awake, Rig, person, prompt};

fn asking(words: &str, rig: &Rig) -> Start {
    Start { mode: Some(Mode::AcceptEdits), interactive: true, ..prompt(words, &rig.work()) }
}

fn yes() -> (Answer, Keys) {
    (Answer { approved: true, reason: None }, Keys::default())
}

/// Reads a run until it asks or finishes.
async fn next_question(awake: &Awake, started: &Started) -> Option<BlockId> {
    let from = Some((started.run.clone(), Position::default()));
    let mut reader = awake.sessions.stream(&person(), &started.session, from).await.unwrap();
    let mut asked = None;
    while let Next::Frame(frame) = reader.next().await {
        let Content::Piece(piece) = &frame.content else { continue };
        if let Told::Chunk(Chunk::Approval { block, .. }) = &piece.told {
            asked = Some(block.clone());
            break;
        }
    }
    asked
}

async fn state(awake: &Awake, started: &Started) -> RunState {
    awake.store.run(&started.run).await.unwrap().run.state
}

async fn end_of(awake: &Awake, started: &Started) -> RunState {
    let from = Some((started.run.clone(), Position::default()));
    let mut reader = awake.sessions.stream(&person(), &started.session, from).await.unwrap();
    let mut end = None;
    while let Next::Frame(frame) = reader.next().await {
        let Content::Piece(piece) = &frame.content else { continue };
        if let Told::Chunk(Chunk::Finish { state, .. }) = &piece.told {
            end = Some(state.clone());
        }
    }
    end.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_in_the_moment_of_parking_is_never_lost() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    for round in 0..40 {
        let start = asking("ask me", &rig);
        let started = awake.sessions.start(&person(), start).await.unwrap();
        let block = next_question(&awake, &started).await.unwrap();
        let answered =
            awake.sessions.answer(&person(), &started.session, &block, yes()).await.unwrap();
        assert!(answered.resumed, "round {round}");
        let end = end_of(&awake, &started).await;
        assert_eq!(end, RunState::Ended(RunEnd::Finished), "round {round}");
    }
    let ran = std::fs::read_to_string(rig.work().join("ran.txt")).unwrap();
    assert_eq!(ran.lines().count(), 40, "each command ran once");
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_after_a_restart() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let started = awake.sessions.start(&person(), asking("ask me", &rig)).await.unwrap();
    let block = next_question(&awake, &started).await.unwrap();
    end_of(&awake, &started).await;
    awake.sleep().await;

    let awake = rig.wake(None).await.unwrap();
    assert!(matches!(state(&awake, &started).await, RunState::Parked { .. }));
    let agent = Caller::passed(CallerKind::Agent(None), Carrier::Socket);
    let refused = awake.sessions.answer(&agent, &started.session, &block, yes()).await;
    assert_eq!(refused.unwrap_err().code, "person_required");
    awake.sessions.answer(&person(), &started.session, &block, yes()).await.unwrap();
    assert_eq!(end_of(&awake, &started).await, RunState::Ended(RunEnd::Finished));
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_a_parked_run_ends_what_it_left_running() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let started = awake.sessions.start(&person(), asking("leave one", &rig)).await.unwrap();
    let block = next_question(&awake, &started).await.unwrap();
    awake.sessions.answer(&person(), &started.session, &block, yes()).await.unwrap();
    assert!(matches!(end_of(&awake, &started).await, RunState::Parked { .. }));
    let pid = std::fs::read_to_string(rig.work().join("pid.txt")).unwrap();
    let left = ProcId::of(pid.trim().parse().unwrap()).unwrap();
    assert!(left.is_alive());
    awake.sessions.abort(&person(), &started.session).await.unwrap();
    assert_eq!(state(&awake, &started).await, RunState::Ended(RunEnd::Aborted));
    assert!(!left.is_alive());
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_person_frees_a_session_of_questions() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    for kind in [CallerKind::Agent(None), CallerKind::Page("https://site.example".into())] {
        let caller = Caller::passed(kind, Carrier::Tcp);
        let started = awake.sessions.start(&caller, prompt("again", &rig.work())).await.unwrap();
        end_of(&awake, &started).await;
        let run = awake.store.run(&started.run).await.unwrap().run;
        assert_eq!(run.mode, Mode::AcceptEdits);
    }
    let started = awake.sessions.start(&person(), prompt("again", &rig.work())).await.unwrap();
    end_of(&awake, &started).await;
    assert_eq!(awake.store.run(&started.run).await.unwrap().run.mode, Mode::Auto);
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_nobody_answers_counts_as_denied() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let started = awake.sessions.start(&person(), asking("ask me", &rig)).await.unwrap();
    assert!(matches!(end_of(&awake, &started).await, RunState::Parked { .. }));
    assert_eq!(awake.sessions.expire_due().await.unwrap(), Some(ANSWER_WITHIN));
    awake.clock.advance(ANSWER_WITHIN);
    // A stream ends where the run was parked, so whoever comes again reads on.
    assert_eq!(look(&awake).await, None);
    assert_eq!(end_of(&awake, &started).await, RunState::Ended(RunEnd::Finished));
    assert!(!rig.work().join("ran.txt").exists(), "a denied command does not run");
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_after_its_time_is_refused_whether_or_not_anybody_looked() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    for looked in [false, true] {
        let started = awake.sessions.start(&person(), asking("ask me", &rig)).await.unwrap();
        let block = next_question(&awake, &started).await.unwrap();
        assert!(matches!(end_of(&awake, &started).await, RunState::Parked { .. }));
        awake.actor.set_away(true);
        awake.clock.advance(ANSWER_WITHIN);
        if looked {
            look(&awake).await;
        }
        let late = awake.sessions.answer(&person(), &started.session, &block, yes()).await;
        assert_eq!(late.unwrap_err().code, "answer_late", "looked: {looked}");
        awake.actor.set_away(false);
        assert_eq!(look(&awake).await, None);
        assert_eq!(end_of(&awake, &started).await, RunState::Ended(RunEnd::Finished));
    }
    assert!(!rig.work().join("ran.txt").exists(), "a denied command does not run");
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_denies_without_a_model_and_goes_on_once_there_is_one() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let started = awake.sessions.start(&person(), asking("ask me", &rig)).await.unwrap();
    let block = next_question(&awake, &started).await.unwrap();
    assert!(matches!(end_of(&awake, &started).await, RunState::Parked { .. }));
    awake.actor.set_away(true);
    awake.clock.advance(ANSWER_WITHIN);
    let again = Some(Duration::from_millis(GO_ON_RETRY_MS));
    for _ in 0..2 {
        assert_eq!(look(&awake).await, again);
        let RunState::Parked { blocks } = state(&awake, &started).await else { panic!("gone on") };
        assert!(!blocks[0].answer.as_ref().unwrap().approved);
    }
    awake.actor.set_away(false);
    // Whoever says no says what is stored, and need not wait for the next look.
    let no = (Answer { approved: false, reason: None }, Keys::default());
    let told = awake.sessions.answer(&person(), &started.session, &block, no).await.unwrap();
    assert!(told.resumed);
    assert_eq!(end_of(&awake, &started).await, RunState::Ended(RunEnd::Finished));
    awake.sleep().await;
}

/// Looks at deadlines once no task that parked a run is still leaving.
async fn look(awake: &Awake) -> Option<Duration> {
    while awake.sessions.counts().await.unwrap().1 > 0 {
        tokio::task::yield_now().await;
    }
    awake.sessions.expire_due().await.unwrap()
}
