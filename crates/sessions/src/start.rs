//! Starting a run: everything that can be refused is refused before anything is stored; then the
//! message, the run and their facts are stored at once; then the run is visible; then it works.

use std::sync::Arc;

use agent::{
    pen::Pen,
    toolbelt::Toolbelt,
    transcript::Transcript,
    turn::{Loop, Settings, drive},
};
use daemon::caller::Caller;
use futures_util::future::BoxFuture;
use serde_json::json;
use store::{Batch, Change, Durability, NewSession, SessionRow};
use vocab::{
    fact::{RunFact, SessionFact},
    ids::{MessageId, RunId, SessionId},
    limits::{
        IDEMPOTENCY_KEY_BYTES_MAX, TITLE_CHARS_MAX, USER_FILE_BYTES_MAX, USER_PARTS_MAX,
        USER_TEXT_BYTES_MAX,
    },
    live::{Chunk, Log},
    message::{Message, Mode, Part, Role, Run, RunState},
    outcome::Failure,
};
use workspace::source::{ToolSource, Workspace};

use crate::{
    journal::RunJournal,
    live::Live,
    models::{Chosen, Keys, Wanted},
    runs::Reservation,
    sessions::Sessions,
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
    /// Two starts with the same key are one.
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
            check_bounds(&start)?;
            let scope = format!("run/{:?}", caller.kind());
            if let Some(token) = &start.idempotency_key {
                if let Some(known) = self.started_before(&scope, token).await? {
                    return Ok(known);
                }
            }
            let session = start.session.clone().unwrap_or_else(SessionId::generate);
            let mut reservation = self.runs.reserve(&session)?;
            let row = match &start.session {
                Some(_) => Some(self.row(&session).await?),
                None => None,
            };
            if let Some(parked) = row.as_ref().and_then(|row| row.run.as_ref()) {
                if parked.phase == store::Phase::Parked {
                    return Err(parked_failure(&session));
                }
            }
            let mut wanted = start.wanted.clone();
            wanted.sticky = row.as_ref().and_then(|row| row.model.clone());
            let chosen = self.models.choose(&wanted, &start.keys).await?;
            let new = match &row {
                Some(_) => None,
                None => Some(self.new_session(&session, &start, &chosen)?),
            };
            let cwd = match (&row, &new) {
                (Some(row), _) => row.place.cwd.clone(),
                (None, new) => new.as_ref().and_then(|new| new.cwd.clone()),
            };
            let workspace = self.open(cwd.as_deref()).await?;
            let begun = Begun::new(self, &session, &start, &row, &chosen);
            let batch = self.batch_of(&begun, new, &start, &row, &scope);
            let appended = self.store.append(batch).await?;
            self.remember_keys(&begun.run.id, start.keys);
            let transcript = self.transcript_of(&session, &begun, row.is_some()).await?;
            let started =
                Started { session, run: begun.run.id.clone(), message: begun.run.message.clone() };
            self.launch(&mut reservation, transcript, chosen, workspace)(reservation);
            self.hub.tell(appended.events);
            Ok(started)
        })
    }

    async fn started_before(&self, scope: &str, token: &str) -> Result<Option<Started>, Failure> {
        let Some(answer) = self.store.idempotent(scope, token).await? else { return Ok(None) };
        let id = |key: &str| answer.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let parse = || {
            Some(Started {
                session: id("session")?.parse().ok()?,
                run: id("run")?.parse().ok()?,
                message: id("message")?.parse().ok()?,
            })
        };
        Ok(parse())
    }

    fn new_session(
        &self,
        session: &SessionId,
        start: &Start,
        chosen: &Chosen,
    ) -> Result<NewSession, Failure> {
        let place = self.place_for(session, start.workspace.as_deref(), start.cwd.as_deref())?;
        Ok(NewSession {
            alias: start.alias.clone(),
            title: title_of(&start.parts),
            workspace: place.workspace,
            cwd: place.cwd,
            model: Some(chosen.model.clone()),
            mode: start.mode.unwrap_or_default(),
        })
    }

    pub(crate) async fn open(&self, cwd: Option<&str>) -> Result<Arc<dyn Workspace>, Failure> {
        let Some(cwd) = cwd else {
            return Err(Failure::not_started(
                "workspace_not_found",
                "the session has no place to work",
            ));
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

    fn batch_of(
        &self,
        begun: &Begun,
        new: Option<NewSession>,
        start: &Start,
        row: &Option<SessionRow>,
        scope: &str,
    ) -> Batch {
        let mut batch = Batch::of_session(self.epoch.clone(), begun.session.clone());
        if let Some(new) = new {
            batch = batch.change(Change::CreateSession(new)).fact(SessionFact::SessionCreated);
        }
        if let Some(row) = row {
            if row.model.as_ref() != Some(&begun.run.model) {
                batch = batch.change(Change::SetModel(Some(begun.run.model.clone())));
            }
            if row.mode != begun.run.mode {
                batch = batch.change(Change::SetMode(begun.run.mode));
            }
            if row.title.is_empty() {
                batch = batch.change(Change::SetTitle(title_of(&start.parts)));
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
        if let Some(token) = &start.idempotency_key {
            let answer = json!({
                "session": begun.session, "run": begun.run.id, "message": begun.run.message,
            });
            let (scope, token) = (scope.to_owned(), token.clone());
            batch = batch.change(Change::PutIdempotent { scope, token, answer });
        }
        // What a user said survives the loss of power before a model hears it.
        batch.durable(Durability::Power)
    }

    async fn transcript_of(
        &self,
        session: &SessionId,
        begun: &Begun,
        has_past: bool,
    ) -> Result<Transcript, Failure> {
        let messages = if has_past {
            self.store.transcript(session).await?.messages
        } else {
            let own = Message {
                id: begun.run.message.clone(),
                role: Role::Assistant,
                run: Some(begun.run.id.clone()),
                parts: Vec::new(),
                created_at: begun.run.started_at,
            };
            vec![begun.user.clone(), own]
        };
        Ok(Transcript { session: session.clone(), messages, run: begun.run.clone() })
    }

    /// Makes a run visible and returns what sets it to work; the reservation moves into it.
    pub(crate) fn launch(
        self: &Arc<Self>,
        reservation: &mut Reservation,
        transcript: Transcript,
        chosen: Chosen,
        workspace: Arc<dyn Workspace>,
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
                let state = sessions.work(pen, chosen, workspace, handle.cancel).await;
                tracing::info!(run = %run_id, state = vocab::live::state_word(&state), "run left");
                if !matches!(state, RunState::Parked { .. }) {
                    sessions.forget_keys(&run_id);
                }
                drop(reservation);
            });
        }
    }

    fn work(
        &self,
        pen: Pen,
        chosen: Chosen,
        workspace: Arc<dyn Workspace>,
        cancel: tokio_util::sync::CancellationToken,
    ) -> BoxFuture<'static, RunState> {
        let root = workspace.root();
        let tools = Arc::new(Toolbelt::new(vec![workspace as Arc<dyn ToolSource>]));
        let system = agent::system::system_text(&tools.kit(), Some(&root));
        drive(Loop {
            pen,
            provider: chosen.provider,
            tools,
            clock: self.clock.clone(),
            cancel,
            settings: Settings {
                system,
                steps_max: self.settings.steps_max,
                output_tokens_max: chosen.output_tokens_max,
                images: chosen.sees,
                ..Settings::default()
            },
        })
    }
}

/// The values of a run that is about to be stored.
struct Begun {
    session: SessionId,
    user: Message,
    run: Run,
}

impl Begun {
    fn new(
        sessions: &Sessions,
        session: &SessionId,
        start: &Start,
        row: &Option<SessionRow>,
        chosen: &Chosen,
    ) -> Self {
        let now = sessions.clock.now().as_millis();
        let run = RunId::generate();
        let user = Message {
            id: MessageId::generate(),
            role: Role::User,
            run: Some(run.clone()),
            parts: start.parts.clone(),
            created_at: now,
        };
        let mode = start.mode.or(row.as_ref().map(|row| row.mode)).unwrap_or_default();
        let run = Run {
            id: run,
            message: MessageId::generate(),
            model: chosen.model.clone(),
            mode,
            interactive: start.interactive,
            state: RunState::Running,
            started_at: now,
        };
        Self { session: session.clone(), user, run }
    }
}

fn parked_failure(session: &SessionId) -> Failure {
    Failure::not_started("run_parked", format!("a run of {session} waits for an answer"))
        .with_hint("answer it, or stop the run first")
}

/// Takes the beginning of the first words as a title.
fn title_of(parts: &[Part]) -> String {
    let text = parts.iter().find_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let line = text.unwrap_or_default().trim().lines().next().unwrap_or_default();
    let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut chars = clean.chars();
    let title: String = chars.by_ref().take(TITLE_CHARS_MAX).collect();
    if chars.next().is_some() { format!("{}…", title.trim_end()) } else { title }
}

fn check_bounds(start: &Start) -> Result<(), Failure> {
    let refuse = |why: String| Err(Failure::not_started("invalid_field", why));
    if start.parts.is_empty() {
        return refuse("the last message must be a user's and hold text or a file".into());
    }
    if start.parts.len() > USER_PARTS_MAX {
        return refuse(format!("a message has at most {USER_PARTS_MAX} parts"));
    }
    let mut text_bytes = 0;
    for part in &start.parts {
        match part {
            Part::Text { text, .. } => text_bytes += text.len(),
            Part::File { data, .. } if data.len() > USER_FILE_BYTES_MAX => {
                return refuse(format!("a file has at most {USER_FILE_BYTES_MAX} bytes in base64"));
            }
            Part::File { .. } => {}
            _ => return refuse("a user's message holds text and files only".into()),
        }
    }
    if text_bytes > USER_TEXT_BYTES_MAX {
        return refuse(format!("a message has at most {USER_TEXT_BYTES_MAX} bytes of text"));
    }
    let key = start.idempotency_key.as_deref().unwrap_or_default();
    if key.len() > IDEMPOTENCY_KEY_BYTES_MAX {
        return refuse(format!("an idempotency key has at most {IDEMPOTENCY_KEY_BYTES_MAX} bytes"));
    }
    Ok(())
}
