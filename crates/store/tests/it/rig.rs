//! What the tests share: a store in a private directory, and short ways to say what happens to it.

use std::{os::unix::fs::PermissionsExt, path::PathBuf};

use stdx::clock::{Clock, Timestamp};
use store::{Batch, Change, NewFact, NewSession, Opening, Options, Store};
use vocab::{
    fact::{RunFact, SessionFact},
    ids::{CallId, MessageId, RunId, SessionId},
    message::{CallState, Message, Mode, ModelRef, Part, Role, Run, RunState},
};

/// A directory with a database in it.
pub(crate) struct Rig {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) clock: Clock,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o700)).unwrap();
        Self { dir, clock: Clock::manual(Timestamp::from_millis(1_700_000_000_000)) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("stead.db")
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(self.path(), self.clock.clone())
    }

    pub(crate) fn open(&self) -> (Store, Opening) {
        Store::open(&self.options()).unwrap()
    }

    pub(crate) fn store(&self) -> Store {
        self.open().0
    }
}

pub(crate) fn model() -> ModelRef {
    ModelRef { provider: "local".into(), model: "qwen3".into() }
}

pub(crate) fn new_session(title: &str) -> Change {
    Change::CreateSession(NewSession { title: title.into(), ..NewSession::default() })
}

pub(crate) fn text(text: &str) -> Part {
    Part::Text { text: text.into(), done: true }
}

pub(crate) fn call(id: &str, state: CallState) -> Part {
    let input = serde_json::json!({"command": "true"});
    Part::Call { call: CallId(id.into()), tool: "bash".into(), input, block: None, state }
}

pub(crate) fn user(words: &str) -> Message {
    Message {
        id: MessageId::generate(),
        role: Role::User,
        run: None,
        parts: vec![text(words)],
        created_at: 1,
    }
}

pub(crate) fn run() -> Run {
    Run {
        id: RunId::generate(),
        message: MessageId::generate(),
        model: model(),
        mode: Mode::AcceptEdits,
        interactive: true,
        state: RunState::Running,
        started_at: 2,
    }
}

pub(crate) fn put(run: &Run, idx: usize, part: Part) -> Change {
    Change::PutPart { run: run.id.clone(), idx, part }
}

pub(crate) fn state(run: &Run, state: RunState) -> Change {
    Change::SetRunState { run: run.id.clone(), state }
}

pub(crate) fn step_ended(run: &Run) -> NewFact {
    RunFact::StepEnded { run: run.id.clone() }.into()
}

/// Moves the log of an open store into its database, through a file layer or without one.
pub(crate) fn move_log(options: &Options) -> rusqlite::Result<()> {
    let conn = match &options.vfs {
        Some(vfs) => {
            let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
            rusqlite::Connection::open_with_flags_and_vfs(&options.path, flags, vfs.as_str())?
        }
        None => rusqlite::Connection::open(&options.path)?,
    };
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Makes a session and returns its id.
pub(crate) async fn session(store: &Store, title: &str) -> SessionId {
    let id = SessionId::generate();
    let batch = Batch::of_session(store.epoch(), id.clone())
        .change(new_session(title))
        .fact(SessionFact::SessionCreated);
    store.append(batch).await.unwrap();
    id
}

/// Applies one change with one fact to a session.
pub(crate) async fn change(
    store: &Store,
    session: &SessionId,
    change: Change,
) -> Result<store::Appended, store::StoreError> {
    let batch = Batch::of_session(store.epoch(), session.clone()).change(change);
    store.append(batch.fact(NewFact::new("probe", serde_json::json!({"kind": "probed"})))).await
}

/// Polls a future once; none while it waits.
pub(crate) async fn poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    tokio::select! {
        biased;
        value = future => Some(value),
        () = std::future::ready(()) => None,
    }
}

/// Starts a run in a session.
pub(crate) async fn started(store: &Store, session: &SessionId) -> Run {
    let run = run();
    change(store, session, Change::StartRun(run.clone())).await.unwrap();
    run
}
