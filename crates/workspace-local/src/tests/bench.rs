//! A workspace in a scratch directory, for tests.

#![expect(clippy::disallowed_methods, reason = "tests arrange and look at real files")]

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use sandbox::Environment;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{CallId, RunId},
    outcome::Outcome,
};
use workspace::{
    call::{Call, CallContext, Envelope, Progress},
    grant::{ExecGrant, Grants},
    primitive::Request,
    source::{OwnedWorkspace, Workspace},
};

use crate::{LocalWorkspace, Options};

pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) owner: Option<Box<dyn OwnedWorkspace>>,
    pub(crate) run: RunId,
    pub(crate) progress: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        Self::over(dir, change)
    }

    pub(crate) fn over(dir: tempfile::TempDir, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::new(dir.path().join("root"), dir.path().join("artifacts"));
        options.grants = Grants { exec: Some(ExecGrant::by_owner()), mounts: false };
        let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
        let mut environment = Environment::empty();
        environment.set("PATH", path).unwrap();
        options.programs.environment = environment;
        change(&mut options);
        let owner = LocalWorkspace::open(options).unwrap();
        let (workspace, run) = (owner.borrow(), RunId::generate());
        Self { dir, workspace, owner: Some(owner), run, progress: Arc::default() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Makes a pipe with a name: whoever opens one end waits for the other.
    pub(crate) fn pipe(&self, path: &str) -> PathBuf {
        let path = self.root().join(path);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        path
    }

    pub(crate) fn content(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap()
    }

    pub(crate) fn at(&self, path: &str) -> Request {
        let expected = self.workspace.id();
        Request { path: path.to_owned(), expected, cancel: CancellationToken::new() }
    }

    /// Builds a call as an agent would: arguments prepared once.
    pub(crate) fn prepared(&self, tool: &str, arguments: Value) -> Call {
        let catalog = self.workspace.catalog();
        let spec = catalog.find(tool).unwrap();
        Call {
            id: CallId("c".into()),
            run: self.run.clone(),
            tool: tool.to_owned(),
            arguments: spec.prepare(arguments),
            expected_generation: catalog.generation,
            schema_hash: spec.schema_hash(),
            timeout_ms: None,
            idempotency_key: None,
            envelope: Envelope::default(),
        }
    }

    pub(crate) fn context(&self) -> CallContext {
        let progress = Arc::clone(&self.progress);
        CallContext {
            cancel: CancellationToken::new(),
            progress: Arc::new(move |Progress::Output(text)| progress.lock().unwrap().push(text)),
        }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.workspace.call(self.prepared(tool, arguments), self.context()).await
    }

    /// Calls a tool that must succeed, and returns its text.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).await;
        assert_eq!(outcome.failure, None, "{}", outcome.plain_text());
        outcome.plain_text()
    }

    /// Calls a tool that must fail, and returns code and effect.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> (String, String) {
        let outcome = self.call(tool, arguments).await;
        let failure = outcome.failure.unwrap_or_else(|| panic!("{tool} succeeded"));
        (failure.code, failure.effect.to_string())
    }

    pub(crate) async fn refused_before(&self, tool: &str, arguments: Value, code: &str) {
        let told = format!("{tool} {arguments}");
        let found = self.refused(tool, arguments).await;
        assert_eq!((found.0.as_str(), found.1.as_str()), (code, "not_started"), "{told}");
    }
}

pub(crate) fn details(outcome: &Outcome) -> Value {
    outcome.details.clone().unwrap_or(Value::Null)
}
