//! Starting a run: everything that can be refused is refused before anything is stored; then the
//! message, the run and their facts are stored at once; then the run is visible; then it works.

use std::sync::Arc;

use agent::{pen::Pen, transcript::Transcript};
use daemon::{caller::Caller, workspaces::Lease};
use futures_util::future::BoxFuture;
use store::{
    Batch, Change, Durability, NewSession,
    rows::{Place, SessionRow},
};
use vocab::{
    fact::{RunFact, SessionFact},
    ids::{MessageId, RunId, SessionId},
    live::{Chunk, Log},
    message::{Message, Mode, Part, Role, Run, RunState},
    outcome::{Effect, Failure},
};

use crate::{
    journal::RunJournal,
    live::Live,
    models::{Chosen, Keys, Wanted},
    repeat::Keyed,
    runs::Reservation,
    said,
    sessions::{Sessions, allowed_mode},
    unstored,
};

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// An existing session; a new one otherwise.
    pub session: Option<SessionId>,
    /// The client's own id for a new session.
    pub alias: Option<String>,
    /// What the user says: text and file parts.
    pub parts: Vec<Part>,
    /// Which model.
    pub wanted: Wanted,
    /// A registered workspace, for a new session.
    pub workspace: Option<String>,
    /// A directory in place of it.
    pub cwd: Option<String>,
    /// How much to ask.
    pub mode: Option<Mode>,
    /// Whether somebody is there to answer.
    pub interactive: bool,
    /// Two starts with the same key are one. Whoever reads it from a wire bounds it.
    pub idempotency_key: Option<String>,
    /// Keys the client resolved from its own environment.
    pub keys: Keys,
}

/// A run that was started, or had been by an earlier request with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The assistant message it writes.
    pub message: MessageId,
}

impl Sessions {
    /// Stores a user message and starts a run over it.
    ///
    /// # Errors
    /// When the message is out of bounds, a run works or waits on the session, no model is there, the
    /// place cannot be opened, or the store refuses.
    pub fn start<'a>(
        self: &'a Arc<Self>,
        caller: &'a Caller,
        start: Start,
    ) -> BoxFuture<'a, Result<Started, Failure>> {
        Box::pin(async move {
            said::check(&start.parts)?;
            let keyed = Keyed::of_start(caller, &start);
            if let Some(known) = self.started_before(keyed.as_ref()).await? {
                return Ok(known);
            }
            let session = start.session.clone().unwrap_or_else(SessionId::generate);
            self.runs.rested(&session).await;
            let mut reservation = self.runs.admit(&session)?;
            let row = match &start.session {
                Some(_) => Some(self.row(&session).await?),
                None => None,
            };
            let row = self.without_orphan(row).await?;
            let last = row.as_ref().and_then(|row| row.run.as_ref());
            if last.is_some_and(|run| run.phase == store::Phase::Parked) {
                return Err(parked_failure(&session));
            }
            let mut wanted = start.wanted.clone();
            wanted.sticky = row.as_ref().and_then(|row| row.model.clone());
            let chosen = self.models.choose(&wanted, &start.keys).await?;
            let begun = Begun::new(self, caller, (session.clone(), row), &start, &chosen)?;
            let lease = self.open(&begun.place()).await?;
            reservation.hold(self.writer_of(&session).await?);
            let transcript = self.transcript_of(&begun).await?;
            // From here on whoever asked may go away: what is stored is set to work all the same, and
            // is there for the same request when it comes again.
            let sessions = Arc::clone(self);
            let begin = tokio::spawn(async move {
                let batch = sessions.batch_of(&begun, &start, keyed.as_ref());
                let appended = match sessions.store.append(batch).await {
                    Ok(appended) => appended,
                    // The same request came twice at once, and the other one won.
                    Err(error) => match sessions.started_before(keyed.as_ref()).await? {
                        Some(known) => return Ok(known),
                        None => return Err(error.into()),
                    },
                };
                sessions.remember_keys(&begun.run.id, start.keys);
                let Run { id: run, message, .. } = begun.run;
                let started = Started { session: begun.session, run, message };
                sessions.launch(&mut reservation, transcript, chosen, lease)(reservation);
                sessions.hub.tell(appended.events);
                Ok(started)
            });
            begin.await.unwrap_or_else(|_broken| Err(broke_off("the start of the run")))
        })
    }

    async fn started_before(&self, keyed: Option<&Keyed>) -> Result<Option<Started>, Failure> {
        let Some(known) = self.known(keyed).await? else { return Ok(None) };
        let started = Started {
            session: known.id("session")?,
            run: known.id("run")?,
            message: known.id("message")?,
        };
        // A session that was deleted since does not come back.
        self.row(&started.session).await?;
        Ok(Some(started))
    }

    pub(crate) async fn open(&self, place: &Place) -> Result<Lease, Failure> {
        let cwd = match (&place.cwd, &place.workspace) {
            (Some(cwd), _) => cwd,
            (None, Some(name)) => return self.workspaces.named(name).await,
            (None, None) => {
                let why = "the session has no place to work";
                return Err(Failure::not_started("workspace_not_found", why));
            }
        };
        let path = std::path::Path::new(cwd);
        if path.starts_with(&self.scratch) {
            stdx::state_file::ensure_dir(path).map_err(|error| {
                Failure::not_started(
                    "state_io",
                    format!("the session's scratch directory: {error}"),
                )
            })?;
        }
        self.workspaces.at(path).await
    }

    fn batch_of(&self, begun: &Begun, start: &Start, keyed: Option<&Keyed>) -> Batch {
        let mut batch = Batch::of_session(self.epoch.clone(), begun.session.clone());
        match &begun.origin {
            Origin::New(new) => {
                let create = Change::CreateSession(new.clone());
                batch = batch.change(create).fact(SessionFact::SessionCreated);
            }
            Origin::Known(row) => {
                if row.model.as_ref() != Some(&begun.run.model) {
                    batch = batch.change(Change::SetModel(Some(begun.run.model.clone())));
                }
                if row.mode != begun.run.mode {
                    batch = batch.change(Change::SetMode(begun.run.mode));
                }
                if row.title.is_empty() {
                    let title = Change::SetTitle(said::title_of(&start.parts));
                    batch = batch.change(title).fact(SessionFact::SessionTitled);
                }
            }
        }
        batch = batch
            .change(Change::AddMessage(begun.user.clone()))
            .fact(SessionFact::MessageStored { message: begun.user.id.clone() })
            .change(Change::StartRun(begun.run.clone()))
            .fact(RunFact::RunStarted {
                run: begun.run.id.clone(),
                message: begun.run.message.clone(),
            });
        if let Some(keyed) = keyed {
            let Run { id: run, message, .. } = &begun.run;
            batch = batch.change(keyed.led_to([
                ("session", begun.session.to_string()),
                ("run", run.to_string()),
                ("message", message.to_string()),
            ]));
        }
        // What a user said survives the loss of power before a model hears it.
        batch.durable(Durability::Power)
    }

    /// Returns the transcript as it is once the beginning is stored.
    async fn transcript_of(&self, begun: &Begun) -> Result<Transcript, Failure> {
        let mut messages = match begun.origin {
            Origin::Known(_) => self.store.transcript(&begun.session).await?.messages,
            Origin::New(_) => Vec::new(),
        };
        messages.push(begun.user.clone());
        messages.push(Message {
            id: begun.run.message.clone(),
            role: Role::Assistant,
            run: Some(begun.run.id.clone()),
            parts: Vec::new(),
            created_at: begun.run.started_at,
        });
        Ok(Transcript { session: begun.session.clone(), messages, run: begun.run.clone() })
    }

    /// Makes a run visible and returns what sets it to work; the reservation moves into it.
    pub(crate) fn launch(
        self: &Arc<Self>,
        reservation: &mut Reservation,
        transcript: Transcript,
        chosen: Chosen,
        lease: Lease,
    ) -> impl FnOnce(Reservation) + use<> {
        let (session, run) = (transcript.session.clone(), transcript.run.clone());
        let own = transcript.messages.iter().find(|message| message.id == run.message);
        let log = match own {
            Some(message) => Log::of_message(&session, &run.id, message, &RunState::Running),
            None => {
                let mut log = Log::default();
                let (session, message) = (session.clone(), run.message.clone());
                log.push(Chunk::Start { session, run: run.id.clone(), message });
                log
            }
        };
        let live = Live::new(session, run.id.clone(), log);
        let (store, hub) = (self.store.clone(), self.hub.clone());
        let journal =
            RunJournal::new(store, hub, self.epoch.clone(), Arc::clone(&live), transcript);
        let pen = Pen::new(Arc::new(journal));
        let handle = reservation.go_live(live, pen.clone());
        let sessions = Arc::clone(self);
        move |reservation: Reservation| {
            tokio::spawn(async move {
                let run_id = run.id.clone();
                let state = sessions.work(pen.clone(), chosen, &lease, handle.cancel).await;
                unstored::tell(&pen, &handle.live, &state).await;
                tracing::info!(run = %run_id, state = vocab::live::state_word(&state), "run left");
                if !matches!(state, RunState::Parked { .. }) {
                    sessions.forget_keys(&run_id);
                }
                drop(reservation);
                sessions.parked.notify_one();
            });
        }
    }
}

/// The values of a run that is about to be stored.
struct Begun {
    session: SessionId,
    origin: Origin,
    user: Message,
    run: Run,
}

/// Where a run's session comes from.
enum Origin {
    New(NewSession),
    Known(Box<SessionRow>),
}

impl Begun {
    fn new(
        sessions: &Sessions,
        caller: &Caller,
        (session, row): (SessionId, Option<SessionRow>),
        start: &Start,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let now = sessions.clock.now().as_millis();
        let id = RunId::generate();
        let user = Message {
            id: MessageId::generate(),
            role: Role::User,
            run: Some(id.clone()),
            parts: start.parts.clone(),
            created_at: now,
        };
        let stored = row.as_ref().map_or_else(Mode::default, |row| row.mode);
        let mode = allowed_mode(caller, start.mode, stored);
        let run = Run {
            id,
            message: MessageId::generate(),
            model: chosen.model.clone(),
            mode,
            interactive: start.interactive,
            state: RunState::Running,
            started_at: now,
        };
        let origin = match row {
            Some(row) => Origin::Known(Box::new(row)),
            None => {
                let (workspace, cwd) = (start.workspace.as_deref(), start.cwd.as_deref());
                let place = sessions.place_for(&session, workspace, cwd)?;
                Origin::New(NewSession {
                    alias: start.alias.clone(),
                    title: said::title_of(&start.parts),
                    workspace: place.workspace,
                    cwd: place.cwd,
                    model: Some(chosen.model.clone()),
                    mode,
                })
            }
        };
        Ok(Self { session, origin, user, run })
    }

    fn place(&self) -> Place {
        match &self.origin {
            Origin::New(new) => Place { workspace: new.workspace.clone(), cwd: new.cwd.clone() },
            Origin::Known(row) => row.place.clone(),
        }
    }
}

/// A step of ours met a bug while it stored something.
pub(crate) fn broke_off(what: &str) -> Failure {
    Failure::new("internal", Effect::Indeterminate, format!("{what} broke off"))
}

fn parked_failure(session: &SessionId) -> Failure {
    Failure::not_started("run_parked", format!("a run of {session} waits for an answer"))
        .with_hint("answer it, or stop the run first")
}
