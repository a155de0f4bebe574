//! What becomes of a run whose asker goes away while it begins.

use std::{future::poll_fn, pin::pin, task::Poll};

use sessions::live::Next;
use vocab::{
    live::Position,
    message::{RunEnd, RunState},
};

use crate::rig::{Rig, person, prompt};

/// Awaits that a start has at most; the last rounds leave it after it is done.
const STEPS: usize = 12;

/// Polls a future so many times and drops it, done or not.
async fn leave_after(steps: usize, future: impl Future) {
    let mut future = pin!(future);
    for _ in 0..steps {
        if poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await.is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_request_that_comes_again_finds_its_run_at_work() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let caller = person();
    for steps in 0..STEPS {
        let mut start = prompt("again", &rig.work());
        start.idempotency_key = Some(format!("key {steps}"));
        leave_after(steps, awake.sessions.start(&caller, start.clone())).await;
        let started = awake.sessions.start(&caller, start).await.unwrap();
        let at = Some((started.run.clone(), Position::default()));
        let mut reader = awake.sessions.stream(&caller, &started.session, at).await.unwrap();
        while matches!(reader.next().await, Next::Frame(_)) {}
        let (_, run) = awake.sessions.show(&caller, &started.session).await.unwrap();
        let run = run.unwrap();
        assert_eq!((&run.id, &run.state), (&started.run, &RunState::Ended(RunEnd::Finished)));
    }
    let (sessions, _) = awake.sessions.counts().await.unwrap();
    assert_eq!(sessions, u64::try_from(STEPS).unwrap());
    awake.sleep().await;
}
