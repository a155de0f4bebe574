//! The tenant as a value: what faces ask of sessions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent::{journal::Entry, transcript::Transcript};
use daemon::{caller::Caller, host::Tenant, hub::Hub, roster::Wanted, workspaces::Workspaces};
use futures_util::future::BoxFuture;
use stdx::clock::Clock;
use store::{
    Batch, Change, Epoch, NewSession, Store, StoreError,
    rows::{Filter, Fitting, MessagePage, Page, PageMark, Phase, Place, RunMark, SessionRow},
};
use tokio::sync::Notify;
use vocab::{
    fact::SessionFact,
    ids::{RunId, SessionId},
    live::{Log, Position},
    message::{Mode, ModelRef, Run, RunEnd, RunState},
    outcome::Failure,
};

use crate::{
    live::Reader,
    models::{Keys, Models},
    repeat::Keyed,
    runs::Runs,
    scratch,
};

/// What a run may use at most, and how it is told to behave.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Model calls of one run before it is ended with a word.
    pub steps_max: u32,
    /// How long a question waits for its answer before it counts as denied.
    pub answer_within: Duration,
    /// Whether models are told what projects say about themselves.
    pub project_files: bool,
}

/// Everything sessions are made of.
pub struct Sessions {
    pub(crate) store: Store,
    pub(crate) hub: Hub,
    pub(crate) epoch: Epoch,
    pub(crate) clock: Clock,
    pub(crate) workspaces: Arc<Workspaces>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) settings: Settings,
    pub(crate) runs: Runs,
    /// Keys that clients sent for runs that are not over.
    pub(crate) keys: Mutex<HashMap<RunId, Keys>>,
    /// Where sessions without a place work.
    pub(crate) scratch: std::path::PathBuf,
    /// Fires when a run parked, so that its deadline is looked at.
    pub(crate) parked: Notify,
    /// When answered runs were last set to work by whoever looks after deadlines.
    pub(crate) launched: Mutex<HashMap<RunId, Duration>>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("runs", &self.runs.count()).finish_non_exhaustive()
    }
}

/// What sessions are composed of.
pub struct Parts {
    /// The store.
    pub store: Store,
    /// The hub.
    pub hub: Hub,
    /// The right to write, of this start.
    pub epoch: Epoch,
    /// What time it is.
    pub clock: Clock,
    /// Open places.
    pub workspaces: Arc<Workspaces>,
    /// Known models.
    pub models: Arc<dyn Models>,
    /// Bounds of runs.
    pub settings: Settings,
    /// Where sessions without a place work.
    pub scratch: std::path::PathBuf,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// A session that is about to be made without a run.
#[derive(Debug, Clone, Default)]
pub struct Create {
    /// Its title.
    pub title: Option<String>,
    /// A registered workspace.
    pub workspace: Option<String>,
    /// A directory in place of it.
    pub cwd: Option<String>,
    /// Its model.
    pub model: Option<ModelRef>,
    /// How much it asks.
    pub mode: Mode,
    /// Two creations with the same key are one.
    pub idempotency_key: Option<String>,
}

impl Sessions {
    /// Puts the parts together.
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        let runs = Runs::default();
        if parts.store.is_full() {
            runs.leave_open();
        }
        Arc::new(Self {
            store: parts.store,
            hub: parts.hub,
            epoch: parts.epoch,
            clock: parts.clock,
            workspaces: parts.workspaces,
            models: parts.models,
            settings: parts.settings,
            runs,
            keys: Mutex::new(HashMap::new()),
            scratch: parts.scratch,
            parked: Notify::new(),
            launched: Mutex::new(HashMap::new()),
        })
    }

    /// Makes an empty session.
    ///
    /// # Errors
    /// When its place is none, it cannot be stored, or its key was used for another one.
    pub async fn create(&self, caller: &Caller, create: Create) -> Result<SessionRow, Failure> {
        let keyed = Keyed::of_create(caller, &create);
        if let Some(known) = self.known(keyed.as_ref()).await? {
            return self.row(&known.id("session")?).await;
        }
        let session = SessionId::generate();
        let place = self.place_for(&session, create.workspace.as_deref(), create.cwd.as_deref())?;
        let new = NewSession {
            alias: None,
            title: create.title.unwrap_or_default(),
            workspace: place.workspace,
            cwd: place.cwd,
            model: create.model,
            mode: allowed_mode(caller, Some(create.mode), Mode::default()),
        };
        let mut batch = Batch::of_session(self.epoch.clone(), session.clone())
            .change(Change::CreateSession(new))
            .fact(SessionFact::SessionCreated);
        if let Some(keyed) = &keyed {
            batch = batch.change(keyed.led_to([("session", session.to_string())]));
        }
        match self.store.append(batch).await {
            Ok(appended) => self.hub.tell(appended.events),
            // The same request came twice at once, and the other one won.
            Err(error) => match self.known(keyed.as_ref()).await? {
                Some(known) => return self.row(&known.id("session")?).await,
                None => return Err(error.into()),
            },
        }
        self.row(&session).await
    }

    /// Lists sessions, latest activity first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self, _caller: &Caller, filter: Filter) -> Result<Page, Failure> {
        let Page { sessions, next } = self.store.sessions(filter).await?;
        let sessions = sessions.into_iter().map(|session| self.as_seen(session)).collect();
        Ok(Page { sessions, next })
    }

    /// Finds the sessions that fit a person's text as well as any does; none where none fits.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn fitting(&self, _caller: &Caller, text: &str) -> Result<Option<Fitting>, Failure> {
        Ok(self.store.fitting(text).await?)
    }

    /// Finds the session of a chat.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn of_chat(
        &self,
        _caller: &Caller,
        chat: &str,
    ) -> Result<Option<SessionId>, Failure> {
        Ok(self.store.session_by_alias(chat).await?.map(|row| row.id))
    }

    /// Shows a session with its present or last run.
    ///
    /// # Errors
    /// When there is none.
    pub async fn show(
        &self,
        _caller: &Caller,
        session: &SessionId,
    ) -> Result<(SessionRow, Option<Run>), Failure> {
        let row = self.row(session).await?;
        let mut run = match &row.run {
            Some(mark) => Some(self.store.run(&mark.id).await?.run),
            None => None,
        };
        if let (Some(RunMark { phase: Phase::Interrupted, .. }), Some(run)) = (&row.run, &mut run) {
            run.state = RunState::Ended(RunEnd::Interrupted);
        }
        Ok((row, run))
    }

    /// Returns a page of a session's messages: the first, or the `next` of another.
    ///
    /// # Errors
    /// When there is no such session, or not any more.
    pub async fn messages(
        &self,
        _caller: &Caller,
        session: &SessionId,
        from: Option<PageMark>,
    ) -> Result<MessagePage, Failure> {
        self.store.messages(session, from).await.map_err(|error| missing(session, error))
    }

    /// Reads the run stream of a session from a position.
    ///
    /// # Errors
    /// When nothing is live and the position is not of the last run.
    pub async fn stream(
        &self,
        _caller: &Caller,
        session: &SessionId,
        from: Option<(RunId, Position)>,
    ) -> Result<Reader, Failure> {
        // One that is about to begin is stored already, and has nothing to read before it is live.
        if let Some(run) = self.runs.settled(session).await {
            let at = from.filter(|(id, _)| id == run.live.run()).map(|(_, at)| at);
            return Ok(run.live.reader(at.unwrap_or_default()));
        }
        let row = self.row(session).await?;
        let none = || Failure::not_started("no_live_run", format!("no run works on {session}"));
        let stored = self.store.transcript(&row.id).await?;
        let run = stored.run.ok_or_else(none)?;
        let parked = matches!(run.state, RunState::Parked { .. });
        let at = match from {
            // What was told last may not have survived the daemon, so its readers begin anew.
            Some(_) if matches!(run.state, RunState::Ended(RunEnd::Interrupted)) => {
                Position::default()
            }
            Some((id, at)) if id == run.id => at,
            Some(_) => Position::default(),
            None if parked => Position::default(),
            None => return Err(none()),
        };
        let message = stored.messages.iter().find(|m| m.id == run.message).ok_or_else(none)?;
        let log = Log::of_message(session, &run.id, message, &run.state);
        Ok(Reader::of_stored(run.id, log, at))
    }

    /// Returns how many sessions are stored and how many runs work.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn counts(&self) -> Result<(u64, u64), Failure> {
        let counts = self.store.counts().await?;
        Ok((counts.sessions, u64::try_from(self.runs.count()).unwrap_or(u64::MAX)))
    }

    pub(crate) async fn row(&self, session: &SessionId) -> Result<SessionRow, Failure> {
        let row = self.store.session(session).await.map_err(|error| missing(session, error))?;
        Ok(self.as_seen(row))
    }

    /// Returns a session as it is. Where nothing could be written at the start, a run that a dead daemon left is not
    /// closed in the store until [`Sessions::mend`] has done that, though nobody works on it any more.
    pub(crate) fn as_seen(&self, mut row: SessionRow) -> SessionRow {
        if let Some(run) = &mut row.run
            && run.phase == Phase::Running
            && self.runs.is_left_open(&row.id)
        {
            run.phase = Phase::Interrupted;
        }
        row
    }

    /// Chooses where a new session works: a registered place, a directory, or a scratch of its own.
    pub(crate) fn place_for(
        &self,
        session: &SessionId,
        workspace: Option<&str>,
        cwd: Option<&str>,
    ) -> Result<Place, Failure> {
        let dir = match (workspace, cwd) {
            (Some(name), _) => match self.workspaces.find(name)?.local() {
                Some(path) => path.to_path_buf(),
                // Where it is, is the name's business for as long as the session lives.
                None => return Ok(Place { workspace: Some(name.to_owned()), cwd: None }),
            },
            (None, Some(cwd)) if std::path::Path::new(cwd).is_absolute() && !cwd.contains('\0') => {
                cwd.into()
            }
            (None, Some(_)) => {
                return Err(Failure::not_started("invalid_field", "cwd must be an absolute path"));
            }
            (None, None) => self.scratch_of(session).join(scratch::NAME),
        };
        let cwd = dir.into_os_string().into_string().map_err(|_lossy| {
            Failure::not_started("invalid_field", "the directory's name is not UTF-8")
        })?;
        Ok(Place { workspace: workspace.map(str::to_owned), cwd: Some(cwd) })
    }

    /// Stores an entry of a run that no task drives.
    pub(crate) async fn append_entry(
        &self,
        transcript: Transcript,
        entry: Entry,
    ) -> Result<(), Failure> {
        let log = Log::default();
        let run = transcript.run.id.clone();
        let live = crate::live::Live::new(transcript.session.clone(), run, log);
        let (store, hub) = (self.store.clone(), self.hub.clone());
        let journal =
            crate::journal::RunJournal::new(store, hub, self.epoch.clone(), live, transcript);
        agent::journal::Journal::append(&journal, entry).await
    }

    pub(crate) fn remember_keys(&self, run: &RunId, keys: Keys) {
        let mut all = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(run.clone()).or_default().extend(keys);
    }

    pub(crate) fn keys_of(&self, run: &RunId) -> Keys {
        let all = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(run).cloned().unwrap_or_default()
    }

    pub(crate) fn forget_keys(&self, run: &RunId) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
    }
}

/// Says of a session that is not there how to find those that are.
fn missing(session: &SessionId, error: StoreError) -> Failure {
    if matches!(error, StoreError::NotFound { .. }) {
        Failure::not_started("session_not_found", format!("there is no session {session}"))
            .with_hint("stead sessions list shows what there is")
    } else {
        error.into()
    }
}

/// Decides how much a session asks. Only a person's own program may choose to ask less than is stored, or
/// than usual: what a run started, or a page, may not free itself of questions.
pub(crate) fn allowed_mode(caller: &Caller, wanted: Option<Mode>, stored: Mode) -> Mode {
    let looseness = |mode: Mode| match mode {
        Mode::Ask => 0,
        Mode::AcceptEdits => 1,
        Mode::Auto => 2,
    };
    match wanted {
        Some(wanted) if caller.person().is_ok() || looseness(wanted) <= looseness(stored) => wanted,
        Some(_) | None => stored,
    }
}

impl Tenant for Sessions {
    fn supports(&self) -> Vec<&'static str> {
        vec!["agent@1", "chat@1", "sessions@1"]
    }

    fn rows<'a>(
        &'a self,
        wanted: &'a Wanted,
    ) -> BoxFuture<'a, Result<Vec<daemon::roster::Row>, Failure>> {
        Box::pin(self.roster(wanted))
    }

    fn drain(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.runs.drain().await;
        })
    }
}
