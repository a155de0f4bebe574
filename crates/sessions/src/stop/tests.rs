//! Stopping runs that end in time and runs that do not. No agent works here; the runs only stand there.

use std::{future::poll_fn, task::Poll};

use daemon::caller::{CallerKind, Carrier};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::stage::{a_run, live_run, sessions};

#[tokio::test(start_paused = true)]
async fn a_stop_answers_when_the_run_has_told_its_last_fact() {
    let (_dir, sessions) = sessions();
    let session = SessionId::generate();
    let person = Caller::passed(CallerKind::Person, Carrier::Socket);

    let (reservation, live) = live_run(&sessions, &session, a_run());
    let last_words = Duration::from_millis(ABORT_WAIT_MS_MAX / 3);
    let ending = async {
        live.cancel.cancelled().await;
        tokio::time::sleep(last_words).await;
        drop(reservation);
    };
    let began = Instant::now();
    let (answer, ()) = tokio::join!(sessions.abort(&person, &session), ending);
    answer.unwrap();
    assert_eq!(began.elapsed(), last_words);
    assert_eq!(sessions.runs.count(), 0);

    // One that does not listen was told to stop, and whoever asked is not kept for ever.
    let (_reservation, live) = live_run(&sessions, &session, a_run());
    let began = Instant::now();
    sessions.abort(&person, &session).await.unwrap();
    assert!(live.cancel.is_cancelled());
    assert!(began.elapsed() >= Duration::from_millis(ABORT_WAIT_MS_MAX));
    assert_eq!(sessions.runs.count(), 1);
}

/// Starts a run that ends as soon as it is told to, where nobody holds the session.
fn start(sessions: &Sessions, session: &SessionId) -> Option<CancellationToken> {
    drop(sessions.runs.reserve(session).ok()?);
    let (reservation, live) = live_run(sessions, session, a_run());
    let cancel = live.cancel;
    let told = cancel.clone();
    tokio::spawn(async move {
        told.cancelled().await;
        drop(reservation);
    });
    Some(cancel)
}

/// At every point where a stop waits for something, a run may start.
async fn check(
    sessions: &Sessions,
    session: &SessionId,
    stop: impl Future<Output = Result<(), Failure>>,
) {
    let mut stop = std::pin::pin!(stop);
    let mut started = Vec::new();
    let answer = loop {
        let polled = poll_fn(|context| Poll::Ready(stop.as_mut().poll(context))).await;
        if let Poll::Ready(answer) = polled {
            break answer;
        }
        started.extend(start(sessions, session));
        tokio::task::yield_now().await;
    };
    answer.unwrap();
    assert!(started.iter().all(CancellationToken::is_cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_stop_misses_no_run_that_starts_while_it_looks() {
    let (_dir, sessions) = sessions();
    let person = Caller::passed(CallerKind::Person, Carrier::Socket);
    let row = sessions.create(&person, crate::sessions::Create::default()).await.unwrap();
    check(&sessions, &row.id, sessions.abort(&person, &row.id)).await;
    check(&sessions, &row.id, sessions.delete(&person, &row.id)).await;
}
