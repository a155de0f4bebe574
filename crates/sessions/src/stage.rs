//! Sessions over a real store for tests in which no agent works: there is no place and no model.

use std::{path::PathBuf, sync::Arc, time::Duration};

use agent::{pen::Pen, transcript::Transcript};
use daemon::{
    hub::Hub,
    workspaces::{Openings, Registered, Workspaces},
};
use futures_util::future::BoxFuture;
use stdx::clock::{Clock, Timestamp};
use store::{Options, Store};
use vocab::{
    ids::{MessageId, RunId, SessionId},
    live::Log,
    message::{Mode, ModelRef, Run, RunState},
    outcome::Failure,
};
use workspace::source::OwnedWorkspace;

use crate::{
    journal::RunJournal,
    live::Live,
    models::{Chosen, Keys, Models, Wanted},
    runs::{LiveRun, Reservation},
    sessions::{Parts, Sessions, Settings},
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

pub(crate) fn sessions() -> (tempfile::TempDir, Arc<Sessions>) {
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
        settings: Settings {
            steps_max: 1,
            answer_within: Duration::from_secs(1),
            project_files: false,
        },
        scratch: home.join("scratch"),
    });
    (dir, sessions)
}

/// A run that works and has said nothing.
pub(crate) fn a_run() -> Run {
    Run {
        id: RunId::generate(),
        message: MessageId::generate(),
        model: ModelRef { provider: "p".into(), model: "m".into() },
        mode: Mode::Auto,
        interactive: false,
        state: RunState::Running,
        started_at: 1,
    }
}

/// Makes a run visible that works for as long as its reservation is held.
pub(crate) fn live_run(
    sessions: &Sessions,
    session: &SessionId,
    run: Run,
) -> (Reservation, LiveRun) {
    let transcript = Transcript { session: session.clone(), messages: Vec::new(), run };
    live_transcript(sessions, transcript)
}

/// Makes a run visible that stands where a transcript does.
pub(crate) fn live_transcript(
    sessions: &Sessions,
    transcript: Transcript,
) -> (Reservation, LiveRun) {
    let mut reservation = sessions.runs.reserve(&transcript.session).unwrap();
    let handle = go_live(sessions, &mut reservation, transcript);
    (reservation, handle)
}

/// Makes a run visible whose slot is taken.
pub(crate) fn go_live(
    sessions: &Sessions,
    reservation: &mut Reservation,
    transcript: Transcript,
) -> LiveRun {
    let session = transcript.session.clone();
    let live = Live::new(session, transcript.run.id.clone(), Log::default());
    let (store, hub) = (sessions.store.clone(), sessions.hub.clone());
    let journal =
        RunJournal::new(store, hub, sessions.epoch.clone(), Arc::clone(&live), transcript);
    reservation.go_live(live, Pen::new(Arc::new(journal)))
}
