//! Runs that wait for nothing and do not go on: how soon, and how often, they are tried again.

use std::{sync::Arc, time::Duration};

use sessions::start::Started;
use testkit::faulty_vfs::{Fault, register};
use vocab::{
    ids::BlockId,
    limits::LOOK_AGAIN_MS,
    message::{RunEnd, RunState},
};

use crate::{
    answers::ANSWER_WITHIN,
    answers::{asking, end_of, next_question, state, yes},
    mend::leave,
    rig::{Awake, Rig, person},
};

const LOOK_AGAIN: Duration = Duration::from_millis(LOOK_AGAIN_MS);

/// Begins a run that asks, and answers it while there is no model to go on with.
async fn answered(awake: &Awake, rig: &Rig) -> (Started, BlockId) {
    let started = awake.sessions.start(&person(), asking("ask me", rig)).await.unwrap();
    let block = next_question(awake, &started).await.unwrap();
    awake.sessions.at_rest(&started.session).await;
    awake.actor.set_away(true);
    let told = awake.sessions.answer(&person(), &started.session, &block, yes()).await;
    assert_eq!(told.unwrap_err().code, "model_unavailable");
    awake.actor.set_away(false);
    (started, block)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answered_run_whose_first_write_fails_is_not_begun_over_and_over() {
    let rig = Rig::new();
    let layer = register("retries-first-write", None);
    let awake = rig.wake(Some(layer.name)).await.unwrap();
    let (started, _) = answered(&awake, &rig).await;
    layer.disk().fail_from_now(Fault::FullFromThere);
    let before = *awake.actor.chosen.borrow();
    for times in 1..=2 {
        // It leaves as soon as it wants to store that it goes on, and whoever leaves is looked after.
        assert_eq!(awake.look(&started).await, None);
        for _ in 0..3 {
            assert_eq!(awake.look(&started).await, Some(LOOK_AGAIN));
        }
        assert_eq!(*awake.actor.chosen.borrow() - before, times);
        awake.clock.advance(LOOK_AGAIN);
    }
    assert!(matches!(state(&awake, &started).await, RunState::Parked { .. }));
    layer.disk().heal();
    assert_eq!(awake.look(&started).await, None);
    assert_eq!(end_of(&awake, &started).await, RunState::Ended(RunEnd::Finished));
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_somebody_holds_is_looked_at_again_soon() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let (started, block) = answered(&awake, &rig).await;
    let mut chosen = awake.actor.chosen.subscribe();
    chosen.mark_unchanged();
    let busy = awake.actor.busy.lock().await;
    let (sessions, session) = (Arc::clone(&awake.sessions), started.session.clone());
    let again =
        tokio::spawn(async move { sessions.answer(&person(), &session, &block, yes()).await });
    chosen.changed().await.unwrap();
    assert_eq!(awake.sessions.expire_due().await.unwrap(), Some(LOOK_AGAIN));
    drop(busy);
    assert!(again.await.unwrap().unwrap().resumed);
    assert_eq!(end_of(&awake, &started).await, RunState::Ended(RunEnd::Finished));
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_end_the_store_refuses_keeps_no_other_from_its_deadline() {
    let rig = Rig::new();
    let layer = register("retries-orphan", None);
    let awake = rig.wake(Some(layer.name)).await.unwrap();
    let (_, orphan) = leave(&awake.store, &[], RunState::Running).await;
    let started = awake.sessions.start(&person(), asking("ask me", &rig)).await.unwrap();
    assert!(matches!(end_of(&awake, &started).await, RunState::Parked { .. }));
    awake.sessions.at_rest(&started.session).await;
    awake.clock.advance(ANSWER_WITHIN);
    layer.disk().fail_from_now(Fault::FullOnce);
    assert_eq!(awake.look(&started).await, Some(LOOK_AGAIN));
    assert_eq!(end_of(&awake, &started).await, RunState::Ended(RunEnd::Finished));
    assert_eq!(awake.store.run(&orphan.id).await.unwrap().run.state, RunState::Running);
    assert_eq!(awake.look(&started).await, None);
    let RunState::Ended(RunEnd::Failed { failure }) =
        awake.store.run(&orphan.id).await.unwrap().run.state
    else {
        panic!("still at work");
    };
    assert_eq!(failure.code, "run_unstored");
    awake.sleep().await;
}
