//! A whole daemon but for its process: store, sessions, a scripted model, a real directory.

use std::{fs, os::unix::fs::DirBuilderExt, path::PathBuf};

use ::daemon::{
    host::Parts as HostParts,
    hub::Hub,
    jobs::{Jobs, Launcher, Parts as JobParts, Trees},
    paths::{Paths, SOCKET_NAME},
    workspaces::{Openings, Registered, Workspaces},
};
use ::sessions::{
    models::{Chosen, Keys, Models, Wanted},
    sessions::{Parts, Settings},
};
use futures_util::future::BoxFuture;
use provider::{script::Script, scripted::Scripted};
use pty::job::JobFiles;
use stdx::{clock::Clock, proc_id::ProcId};
use store::{Options, Store};
use vocab::{ids::JobId, message::ModelRef};
use workspace::{
    grant::{ExecGrant, Grants},
    source::OwnedWorkspace,
};

use super::*;
use crate::testing::{CREDENTIAL, House, Plan};

/// What the model says: by default a few words; "shell" asks for a command, "write" writes a file.
const SCRIPT: &str = r#"{
  "turns": [{"blocks": [{"type": "text", "text": "Hello there, this is an answer of some length."}]}],
  "stories": [
    {"when": "^shell", "turns": [
      {"blocks": [{"type": "text", "text": "I will look."},
                  {"type": "call", "tool": "bash", "input": {"command": "echo seen-by-shell"}}]},
      {"blocks": [{"type": "text", "text": "The tool said: {{last}}"}]}]},
    {"when": "^write", "turns": [
      {"blocks": [{"type": "call", "tool": "write", "input": {"path": "a.txt", "content": "x"}}]},
      {"blocks": [{"type": "text", "text": "Written."}]}]}
  ]}"#;

pub(super) struct Stage {
    pub(super) house: House,
    pub(super) services: Services,
    pub(super) work: PathBuf,
    local: Client,
    remote: Client,
    _dir: tempfile::TempDir,
}

struct One;

impl Models for One {
    fn choose<'a>(
        &'a self,
        wanted: &'a Wanted,
        keys: &'a Keys,
    ) -> BoxFuture<'a, Result<Chosen, Failure>> {
        Box::pin(async move {
            if wanted.model.as_deref() == Some("keyed") && !keys.contains_key("scripted") {
                return Err(Failure::not_started("model_unavailable", "there is no key"));
            }
            let script: Script = serde_json::from_str(SCRIPT).unwrap();
            Ok(Chosen {
                model: ModelRef { provider: "scripted".into(), model: "one".into() },
                provider: Arc::new(Scripted::new(script)),
                output_tokens_max: 1_000,
                sees: true,
                steps_max: None,
            })
        })
    }
}

struct Local {
    artifacts: PathBuf,
}

impl Openings for Local {
    fn open_local(
        &self,
        path: PathBuf,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        let mut options = workspace_local::Options::new(path, self.artifacts.clone());
        options.grants = Grants { exec: Some(ExecGrant::by_owner()), mounts: true };
        let host = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        options.programs.environment = sandbox::Environment::for_tools(&host, &[]);
        Box::pin(async move {
            let opened =
                tokio::task::spawn_blocking(move || workspace_local::LocalWorkspace::open(options))
                    .await;
            Ok(opened.unwrap()?)
        })
    }

    fn registered(&self) -> Result<Vec<Registered>, Failure> {
        Ok(Vec::new())
    }
}

/// Runs the hosts of jobs on threads.
struct Threads;

impl Launcher for Threads {
    fn launch(&self, files: JobFiles) -> BoxFuture<'static, Result<ProcId, Failure>> {
        Box::pin(async move {
            let (sender, ready) = tokio::sync::oneshot::channel();
            std::thread::spawn(move || {
                let mut sender = Some(sender);
                let mut say = |told| sender.take().map(|sender| sender.send(told));
                let ended = pty::host::run(&files, None, || drop(say(Ok(()))));
                if let Err(failure) = ended {
                    say(Err(failure));
                }
            });
            ready.await.unwrap()?;
            Ok(ProcId::current())
        })
    }

    fn end_leftovers(&self, _job: &JobId) {}
}

fn jobs(paths: &Paths, clock: &Clock, store: &Store, hub: &Hub) -> Arc<Jobs> {
    Jobs::new(JobParts {
        home: paths.home.clone(),
        runtime: paths.runtime.clone(),
        socket: paths.socket(),
        version: "0".into(),
        clock: clock.clone(),
        store: store.clone(),
        hub: hub.clone(),
        launcher: Arc::new(Threads),
        trees: Trees::new(
            &paths.home.with_extension("data"),
            &[("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        ),
    })
}

fn over_tcp(house: &House, credential: &str) -> Client {
    let host = house.server.address().to_string();
    Client::new(Address::Tcp { host, credential: Secret::new(credential.into()) })
}

impl Stage {
    pub(super) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (home, runtime) = (dir.path().join("home"), dir.path().join("run"));
        let config = dir.path().join("config/config.toml");
        let paths = Paths { home, runtime, socket_name: SOCKET_NAME.to_owned(), config };
        paths.prepare().unwrap();
        let work = dir.path().join("work");
        fs::DirBuilder::new().mode(0o700).create(&work).unwrap();
        let clock = Clock::system();
        let (store, _) = Store::open(&Options::new(paths.database(), clock.clone())).unwrap();
        let hub = Hub::new(store.clone());
        let (secrets, _unsealer) = ::daemon::secrets::open(paths.secrets());
        let openings = Arc::new(Local { artifacts: paths.artifacts() });
        let workspaces = Arc::new(Workspaces::new(openings));
        let sessions = Sessions::new(Parts {
            store: store.clone(),
            hub: hub.clone(),
            epoch: store.epoch(),
            clock: clock.clone(),
            workspaces: Arc::clone(&workspaces),
            models: Arc::new(One),
            settings: Settings {
                project_files: true,
                steps_max: 10,
                answer_within: std::time::Duration::from_secs(3600),
            },
            scratch: paths.home.join("sessions"),
        });
        let jobs = jobs(&paths, &clock, &store, &hub);
        let notices = Vec::new();
        let parts = HostParts { paths, clock, store, hub, secrets, workspaces, jobs, notices };
        let tenants = vec![sessions.clone() as Arc<dyn ::daemon::host::Tenant>];
        let daemon = Arc::new(Daemon::new("claim".into(), parts, tenants));
        let about = About::default();
        let services = Services { daemon, sessions, about, stop: CancellationToken::new() };
        let plan = Plan { handler: handler(services.clone()), ..Plan::default() };
        let house = House::open(plan).await;
        let local = Client::new(Address::Socket(house.socket().to_owned()));
        let remote = over_tcp(&house, CREDENTIAL);
        Self { house, services, work, local, remote, _dir: dir }
    }

    /// Jobs as the next daemon over the same files finds them.
    pub(super) fn again(&self) -> Arc<Jobs> {
        let daemon = &self.services.daemon;
        jobs(&daemon.paths, &daemon.clock, &daemon.store, &daemon.hub)
    }

    /// A client on the Unix socket: a person.
    pub(super) fn client(&self) -> &Client {
        &self.local
    }

    /// A client on loopback TCP with the credential.
    pub(super) fn remote(&self) -> &Client {
        &self.remote
    }

    /// A client on loopback TCP with some credential.
    pub(super) fn tcp(&self, credential: &str) -> Client {
        over_tcp(&self.house, credential)
    }

    /// Starts a run in the working directory.
    pub(super) async fn run(&self, mut request: RunRequest) -> Response<Incoming> {
        if request.session_id.is_none() {
            request.cwd = Some(self.work.display().to_string());
        }
        self.client()
            .events(Endpoint::AgentRun, Target::default(), Some(&request), None)
            .await
            .unwrap()
    }

    pub(super) async fn get(&self, endpoint: Endpoint, target: Target<'_>) -> Value {
        self.client().json::<(), Value>(endpoint, target, None).await.unwrap()
    }
}
