//! Stopping runs that end in time and runs that do not. No agent works here; the runs only stand there.

use std::{future::poll_fn, path::PathBuf, sync::Arc, task::Poll};

use agent::pen::Pen;
use daemon::{
    caller::{CallerKind, Carrier},
    hub::Hub,
    workspaces::{Openings, Registered, Workspaces},
};
use futures_util::future::BoxFuture;
use stdx::clock::{Clock, Timestamp};
use store::{Options, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{MessageId, RunId},
    live::Log,
    message::{Mode, ModelRef},
};
use workspace::source::OwnedWorkspace;

use super::*;
use crate::{
    journal::RunJournal,
    live::Live,
    models::{Chosen, Keys, Models, Wanted},
    runs::Reservation,
    sessions::{Parts, Settings},
};

/// No places and no models: nothing here asks for one.
struct Nothing;

impl Openings for Nothing {
    fn open_local(
        &self,
        _path: PathBuf,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        Box::pin(async { Err(Failure::not_started("workspace_not_found", "there is none")) })
    }

    fn registered(&self) -> Result<Vec<Registered>, Failure> {
        Ok(Vec::new())
    }
}

impl Models for Nothing {
    fn choose<'a>(
        &'a self,
        _wanted: &'a Wanted,
        _keys: &'a Keys,
    ) -> BoxFuture<'a, Result<Chosen, Failure>> {
        Box::pin(async { Err(Failure::not_started("model_unavailable", "there is none")) })
    }
}

fn sessions() -> (tempfile::TempDir, Arc<Sessions>) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    stdx::state_file::ensure_dir(&home).unwrap();
    let clock = Clock::manual(Timestamp::from_millis(1));
    let (store, _) = Store::open(&Options::new(home.join("stead.db"), clock.clone())).unwrap();
    let sessions = Sessions::new(Parts {
        hub: Hub::new(store.clone()),
        epoch: store.epoch(),
        store,
        clock,
        workspaces: Arc::new(Workspaces::new(Arc::new(Nothing))),
        models: Arc::new(Nothing),
        settings: Settings { steps_max: 1, answer_within: Duration::from_secs(1) },
        scratch: home.join("scratch"),
    });
    (dir, sessions)
}

/// Makes a run visible that works for as long as its reservation is held.
fn live_run(sessions: &Sessions, session: &SessionId) -> (Reservation, CancellationToken) {
    let run = Run {
        id: RunId::generate(),
        message: MessageId::generate(),
        model: ModelRef { provider: "p".into(), model: "m".into() },
        mode: Mode::Auto,
        interactive: false,
        state: RunState::Running,
        started_at: 1,
    };
    let live = Live::new(session.clone(), run.id.clone(), Log::default());
    let (store, hub) = (sessions.store.clone(), sessions.hub.clone());
    let transcript = Transcript { session: session.clone(), messages: Vec::new(), run };
    let journal =
        RunJournal::new(store, hub, sessions.epoch.clone(), Arc::clone(&live), transcript);
    let mut reservation = sessions.runs.reserve(session).unwrap();
    let handle = reservation.go_live(live, Pen::new(Arc::new(journal)));
    (reservation, handle.cancel)
}

#[tokio::test(start_paused = true)]
async fn a_stop_answers_when_the_run_has_told_its_last_fact() {
    let (_dir, sessions) = sessions();
    let session = SessionId::generate();
    let person = Caller::passed(CallerKind::Person, Carrier::Socket);

    let (reservation, cancel) = live_run(&sessions, &session);
    let last_words = Duration::from_millis(ABORT_WAIT_MS_MAX / 3);
    let ending = async {
        cancel.cancelled().await;
        tokio::time::sleep(last_words).await;
        drop(reservation);
    };
    let began = Instant::now();
    let (answer, ()) = tokio::join!(sessions.abort(&person, &session), ending);
    answer.unwrap();
    assert_eq!(began.elapsed(), last_words);
    assert!(sessions.runs.find(&session).is_none());

    // One that does not listen was told to stop, and whoever asked is not kept for ever.
    let (_reservation, cancel) = live_run(&sessions, &session);
    let began = Instant::now();
    sessions.abort(&person, &session).await.unwrap();
    assert!(cancel.is_cancelled());
    assert!(began.elapsed() >= Duration::from_millis(ABORT_WAIT_MS_MAX));
    assert!(sessions.runs.find(&session).is_some());
}

/// Starts a run that ends as soon as it is told to, where nobody holds the session.
fn start(sessions: &Sessions, session: &SessionId) -> Option<CancellationToken> {
    drop(sessions.runs.reserve(session).ok()?);
    let (reservation, cancel) = live_run(sessions, session);
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
