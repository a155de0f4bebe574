//! A daemon's sessions in one process: a store over any file layer, a directory to work in, a model that
//! plays a script and remembers what it was asked.

#![expect(clippy::disallowed_methods, reason = "test files outside every workspace")]

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use daemon::{
    caller::{Caller, CallerKind, Carrier},
    host::Tenant as _,
    hub::Hub,
    workspaces::{Openings, Registered, Workspaces},
};
use futures_util::{future::BoxFuture, stream::BoxStream};
use provider::{
    delta::Delta,
    prompt::Prompt,
    script::Script,
    scripted::Scripted,
    seam::{Provider, SharedProvider},
};
use serde_json::json;
use sessions::{
    models::{Chosen, Keys, Models, Wanted},
    sessions::{Parts, Sessions, Settings},
    start::{Start, Started},
};
use stdx::clock::{Clock, Timestamp};
use store::{Options, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use vocab::{
    message::{Mode, ModelRef, Part},
    outcome::Failure,
};
use workspace::{
    grant::{ExecGrant, Grants},
    source::OwnedWorkspace,
};
use workspace_local::LocalWorkspace;

use crate::answers::ANSWER_WITHIN;

/// Opens directories with all that their owner may do.
struct Local(PathBuf);

impl Openings for Local {
    fn open_local(
        &self,
        path: PathBuf,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        let mut options = workspace_local::Options::new(path, self.0.clone());
        options.grants = Grants { exec: Some(ExecGrant::by_owner()), mounts: true };
        options.programs.shell = Some("/bin/bash".into());
        Box::pin(async move { Ok(LocalWorkspace::open(options)?) })
    }

    fn registered(&self) -> Result<Vec<Registered>, Failure> {
        Ok(Vec::new())
    }
}

/// A model that plays a script. It remembers each prompt before it says a word.
pub(crate) struct Actor {
    script: Scripted,
    asked: Mutex<Vec<Prompt>>,
    away: AtomicBool,
    /// How often somebody came to choose it.
    pub(crate) chosen: watch::Sender<usize>,
    /// Whoever comes to choose it waits for this.
    pub(crate) busy: tokio::sync::Mutex<()>,
}

impl Actor {
    pub(crate) fn asked(&self) -> Vec<Prompt> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Leaves, as a model does whose key is gone, or comes back.
    pub(crate) fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }
}

struct Shared(Arc<Actor>);

impl Provider for Shared {
    fn stream(&self, prompt: Prompt, cancel: CancellationToken) -> BoxStream<'static, Delta> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner).push(prompt.clone());
        self.0.script.stream(prompt, cancel)
    }
}

impl Models for Shared {
    fn choose<'a>(
        &'a self,
        _wanted: &'a Wanted,
        _keys: &'a Keys,
    ) -> BoxFuture<'a, Result<Chosen, Failure>> {
        let provider: SharedProvider = Arc::new(Shared(Arc::clone(&self.0)));
        let model = ModelRef { provider: "local".into(), model: "actor".into() };
        Box::pin(async move {
            self.0.chosen.send_modify(|chosen| *chosen += 1);
            drop(self.0.busy.lock().await);
            if self.0.away.load(Ordering::SeqCst) {
                return Err(Failure::not_started("model_unavailable", "there is no key"));
            }
            Ok(Chosen { model, provider, output_tokens_max: 4_096, sees: false, steps_max: None })
        })
    }
}

/// Private directories that outlive the daemons in them.
pub(crate) struct Rig {
    pub(crate) dir: tempfile::TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let rig = Self { dir };
        stdx::state_file::ensure_dir(&rig.below("state")).unwrap();
        stdx::state_file::ensure_dir(&rig.below("artifacts")).unwrap();
        std::fs::create_dir(rig.work()).unwrap();
        rig
    }

    fn below(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.below("work")
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.below("scratch")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.below("state/stead.db")
    }

    /// Comes to life over the named file layer; the usual one when there is none.
    pub(crate) async fn wake(&self, layer: Option<&str>) -> Result<Awake, String> {
        let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000));
        let options =
            Options { vfs: layer.map(Into::into), ..Options::new(self.database(), clock.clone()) };
        let (store, opening) = Store::open(&options).map_err(|error| error.to_string())?;
        if let Some(aside) = opening.set_aside {
            return Err(format!("the database was set aside: {}", aside.problem));
        }
        let actor = Arc::new(Actor {
            script: Scripted::new(script()),
            asked: Mutex::new(Vec::new()),
            away: AtomicBool::new(false),
            chosen: watch::Sender::new(0),
            busy: tokio::sync::Mutex::new(()),
        });
        let sessions = Sessions::new(Parts {
            store: store.clone(),
            hub: Hub::new(store.clone()),
            epoch: store.epoch(),
            clock: clock.clone(),
            workspaces: Arc::new(Workspaces::new(Arc::new(Local(self.below("artifacts"))))),
            models: Arc::new(Shared(Arc::clone(&actor))),
            settings: Settings { steps_max: 20, answer_within: ANSWER_WITHIN, project_files: true },
            scratch: self.scratch(),
        });
        sessions.mend().await.map_err(|failure| failure.to_string())?;
        sessions.expire_due().await.map_err(|failure| failure.to_string())?;
        Ok(Awake { sessions, store, actor, clock })
    }
}

/// Sessions that live.
pub(crate) struct Awake {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) store: Store,
    pub(crate) actor: Arc<Actor>,
    pub(crate) clock: Clock,
}

impl Awake {
    /// Looks at deadlines once nobody works on a session, also no task that is still leaving.
    pub(crate) async fn look(&self, started: &Started) -> Option<Duration> {
        self.sessions.at_rest(&started.session).await;
        self.sessions.expire_due().await.unwrap()
    }

    pub(crate) async fn sleep(self) {
        self.sessions.drain().await;
        self.store.close().await.ok();
    }
}

/// Writes, edits and runs a program, then says a last word. A story for other prompts has no calls.
fn script() -> Script {
    let call = |tool: &str, input: serde_json::Value| json!({"type": "call", "tool": tool, "input": input});
    let text = |text: &str| json!({"type": "text", "text": text});
    Script::from_value(json!({
        "turns": [
            {"blocks": [text("I write."), call("write", json!({"path": "a.txt", "content": "one\n"}))],
             "usage": {"input": 10, "output": 5}},
            {"blocks": [call("edit", json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}))]},
            {"blocks": [call("bash", json!({"command": "echo ran >> ran.txt; cat a.txt"}))]},
            {"blocks": [text("All is done.")]},
        ],
        "stories": [
            {"when": "(?m)^again", "turns": [{"blocks": [text("I am well.")]}]},
            {"when": "(?m)^grow", "turns": [
                {"blocks": [call("bash", json!({"command": "(echo; echo 'Say thanks.') >> AGENTS.md"}))]},
                {"blocks": [text("It has grown.")]},
            ]},
            {"when": "(?m)^ask", "turns": [
                {"blocks": [call("bash", json!({"command": "echo asked >> ran.txt"}))]},
                {"blocks": [text("Asked and done.")]},
            ]},
            {"when": "(?m)^leave", "turns": [
                {"blocks": [call("bash", json!({"command": "sleep 1000 >/dev/null 2>&1 & echo $! > pid.txt"}))]},
                {"blocks": [call("bash", json!({"command": "exit 0"})), call("write", json!({"path": "b.txt", "content": "b"}))]},
                {"blocks": [text("Left.")]},
            ]},
        ],
    }))
    .unwrap()
}

pub(crate) fn person() -> Caller {
    Caller::passed(CallerKind::Person, Carrier::Socket)
}

pub(crate) fn prompt(words: &str, cwd: &Path) -> Start {
    Start {
        parts: vec![Part::Text { text: words.into(), done: true }],
        cwd: Some(cwd.display().to_string()),
        mode: Some(Mode::Auto),
        ..Start::default()
    }
}
