//! A workspace in a scratch directory with scripted servers.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use confine::{Root, RootOptions};
use lsp::{Bounds, Lsp, Options, ProjectTrust};
use sandbox::Environment;
use serde_json::{Value, json};
use vocab::{
    ids::{CallId, RunId},
    outcome::{Failure, Outcome},
};
use workspace::{
    call::{Call, CallContext, Envelope},
    grant::ExecGrant,
    source::ToolSource,
};

use crate::scripted;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A scratch directory.
pub(crate) struct Rig {
    pub(crate) dir: tempfile::TempDir,
}

/// Capabilities of a server that can all of it.
pub(crate) fn able() -> Value {
    json!({
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": true, "change": 2, "save": true},
        "definitionProvider": true, "referencesProvider": true, "hoverProvider": true,
        "documentSymbolProvider": true, "workspaceSymbolProvider": true, "renameProvider": true,
    })
}

impl Rig {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        Self { dir }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", fs::canonicalize(self.root()).unwrap().display())
    }

    /// Makes a pipe with a name: whoever opens one end waits for the other.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        path
    }

    /// Writes a script and returns its path.
    pub(crate) fn script(&self, name: &str, capabilities: Value, on: Value) -> PathBuf {
        let path = self.dir.path().join(format!("{name}.json"));
        let log = self.dir.path().join(format!("{name}.log"));
        let script = json!({"capabilities": capabilities, "on": on, "log": log});
        fs::write(&path, script.to_string()).unwrap();
        path
    }

    /// Writes a script and returns the layer of the one server that plays it for Python.
    pub(crate) fn server(&self, name: &str, capabilities: Value, on: Value) -> String {
        let script = self.script(name, capabilities, on);
        let command = json!(scripted::command());
        format!(
            "[servers.{name}]\ncommand = {command}\nlanguages = [\"python\"]\nroot_markers = [\"pyproject.toml\"]\n\
             env = {{ {} = {:?} }}\n",
            scripted::SCRIPT,
            script.to_str().unwrap()
        )
    }

    pub(crate) fn options(&self, operator: String) -> Options {
        let mut environment = Environment::empty();
        let path =
            std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        environment.set("PATH", path).unwrap();
        environment.set("HOME", self.dir.path()).unwrap();
        Options {
            root: Root::open(&self.root(), RootOptions::default()).unwrap(),
            operator: Some(operator),
            exec: Some(ExecGrant::by_owner()),
            trust: Some(ProjectTrust::by_owner()),
            environment,
            bounds: Bounds { call: PATIENCE, ..Bounds::default() },
        }
    }

    pub(crate) fn open(&self, operator: String) -> Lsp {
        Lsp::open(self.options(operator)).unwrap()
    }

    pub(crate) fn open_with(&self, operator: String, change: impl FnOnce(&mut Bounds)) -> Lsp {
        let mut options = self.options(operator);
        change(&mut options.bounds);
        Lsp::open(options).unwrap()
    }

    /// Returns what a server was sent and what it noted, in order.
    pub(crate) fn log(&self, name: &str) -> Vec<Value> {
        let text =
            fs::read_to_string(self.dir.path().join(format!("{name}.log"))).unwrap_or_default();
        // The last line may be half written.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns what of a method a server was sent.
    pub(crate) fn sent(&self, name: &str, method: &str) -> Vec<Value> {
        let all = self.log(name).into_iter().filter(|message| message["method"] == method);
        all.map(|message| message["params"].clone()).collect()
    }

    /// Counts how often a server was started.
    pub(crate) fn starts(&self, name: &str) -> usize {
        self.log(name).iter().filter(|message| !message["started"].is_null()).count()
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "waited too long until {what}");
}

pub(crate) fn prepared(source: &dyn ToolSource, tool: &str, arguments: Value) -> Call {
    let catalog = source.catalog();
    let spec = catalog.find(tool).unwrap();
    Call {
        id: CallId("1".into()),
        run: RunId::generate(),
        tool: tool.to_owned(),
        arguments: spec.prepare(arguments),
        expected_generation: catalog.generation,
        schema_hash: spec.schema_hash(),
        timeout_ms: None,
        idempotency_key: None,
        envelope: Envelope::default(),
    }
}

pub(crate) async fn call(source: &dyn ToolSource, tool: &str, arguments: Value) -> Outcome {
    source.call(prepared(source, tool, arguments), CallContext::detached()).await
}

/// Calls and returns the text of a success.
pub(crate) async fn text(source: &dyn ToolSource, tool: &str, arguments: Value) -> String {
    let outcome = call(source, tool, arguments).await;
    assert_eq!(outcome.failure, None);
    outcome.plain_text()
}

/// Calls and returns the failure.
pub(crate) async fn refused(source: &dyn ToolSource, tool: &str, arguments: Value) -> Failure {
    let outcome = call(source, tool, arguments).await;
    outcome.failure.clone().unwrap_or_else(|| panic!("not refused: {outcome:?}"))
}

/// Opens the writing end of a pipe that a server waits at, so that it goes on.
pub(crate) async fn let_go(pipe: &Path) {
    let pipe = pipe.to_owned();
    tokio::task::spawn_blocking(move || fs::write(pipe, "go").unwrap()).await.unwrap();
}
