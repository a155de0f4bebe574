//! `stead workspace serve`: a directory of this machine for sessions elsewhere.
//!
//! It reads no configuration of sessions, no keys and no database, and keeps nothing beyond its end. What it is told
//! stands in flags, their twins and the files that those name.

#![expect(clippy::disallowed_methods, reason = "reads the files that an operator names")]

mod below;
mod served;
mod settings;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use rustix::process::DumpableBehavior;
use rustls::ServerConfig;
use sandbox::Environment;
use stdx::state_file;
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::LevelFilter;
use vocab::{
    ids::WorkspaceId,
    limits::{LSP_CONFIG_BYTES_MAX, REMOTE_END_MS, TLS_FILE_BYTES_MAX},
    outcome::Failure,
};
use workspace::{
    grant::{ExecGrant, Grants},
    source::OwnedWorkspace,
};
use workspace_local::Options;
use workspace_remote::{
    connection::gate::Places,
    door::{Admitted, Door, listen::Listener},
    protocol::capability,
    server::{Server, ServerOptions, shared::SharedServer},
    tls,
    transport::websocket::PATH,
};

use self::{
    below::Below,
    served::Served,
    settings::{Listen, Settings, Twins},
};
use crate::{
    args::Serve,
    env, exit, log,
    place::{self, read_bounded, unusable},
    print,
};

/// Serves until it is told to end.
pub(super) fn run(typed: Serve) -> anyhow::Result<ExitCode> {
    // The token stands in our first environment for good: no program of the same user is to look there.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| Failure::not_started("internal", errno.to_string()))?;
    let is_root = rustix::process::geteuid().is_root();
    let settings = Settings::of(typed, &Twins(env::get), is_root)?;
    log::to_stderr(LevelFilter::WARN);
    // Orphans of programs come to us, as they do to the first process of a container.
    sandbox::become_subreaper()?;
    sandbox::signals::survive_the_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(serve(settings));
    // What blocks a thread now was given up on already; standard input is read by one.
    runtime.shutdown_timeout(Duration::from_millis(100));
    code
}

/// The signals that a runtime listens to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    reload: Signal,
}

/// What a signal asks for.
enum Wanted {
    End,
    Reload,
}

impl Signals {
    async fn next(&mut self) -> Wanted {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Wanted::End,
            _ = self.interrupt.recv() => Wanted::End,
            _ = self.reload.recv() => Wanted::Reload,
        }
    }

    async fn end(&mut self) {
        while let Wanted::Reload = self.next().await {}
    }
}

/// A runtime that serves.
struct Runtime {
    settings: Arc<Settings>,
    outputs: TempDir,
    served: Served,
    tls: Option<watch::Sender<Arc<ServerConfig>>>,
    generation: u64,
}

async fn serve(mut settings: Settings) -> anyhow::Result<ExitCode> {
    // First of all: from here on a signal means an orderly end, also one that comes before it is ready.
    let mut signals = Signals {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
        reload: signal(SignalKind::hangup())?,
    };
    let mut died = signal(SignalKind::child())?;
    let reaper = tokio::spawn(async move {
        while died.recv().await.is_some() {
            tokio::task::spawn_blocking(sandbox::scope::reap_orphans).await.ok();
        }
    });
    let door = Door::new(settings.token.take(), std::mem::take(&mut settings.origins));
    let mut runtime = Runtime::open(settings)?;
    let closing = CancellationToken::new();
    let serving = match &runtime.settings.listen {
        Listen::Stdio => {
            let line = Admitted::pipes(tokio::io::stdin(), tokio::io::stdout());
            print::err(&runtime.ready("standard input and output"));
            tokio::spawn(runtime.served.serve(line))
        }
        listen @ (Listen::Tcp(_) | Listen::Unix(_)) => {
            let (listener, address) = open(listen, runtime.tls.as_ref()).await?;
            print::err(&runtime.ready(&address));
            runtime.served.listen(listener, door, closing.clone())
        }
    };
    let mut serving = std::pin::pin!(serving);
    loop {
        let wanted = tokio::select! {
            biased;
            wanted = signals.next() => wanted,
            // The line of standard input and output is the only one.
            _ = &mut serving => Wanted::End,
        };
        match wanted {
            Wanted::End => break,
            Wanted::Reload => runtime.reload().await,
        }
    }
    closing.cancel();
    let code = runtime.end(&mut signals).await;
    reaper.abort();
    Ok(code)
}

impl Runtime {
    fn open(settings: Settings) -> anyhow::Result<Self> {
        let settings = Arc::new(settings);
        let place = &settings.place;
        let root = place.shared_parent.clone().or_else(|| place.root.clone()).unwrap_or_default();
        let outputs = outputs(&root, place.artifact_dir.as_deref())?;
        let tls = settings.tls.as_ref().map(|(cert, key)| read_tls(cert, key)).transpose()?;
        let options = server_options(&settings);
        let served = if place.shared_parent.is_some() {
            let below = Below::open(&root, Arc::clone(&settings), outputs.path())?;
            let shown = below.root();
            Served::Shared(SharedServer::new(Arc::new(below), options), shown)
        } else {
            let owner = open_place(&settings, root, outputs.path(), 1)?;
            Served::One(Server::new(owner.borrow(), options), owner)
        };
        let tls = tls.map(watch::Sender::new);
        Ok(Self { settings, outputs, served, tls, generation: 1 })
    }

    /// Returns the one line that says that it is ready, without anything that is nobody's business.
    fn ready(&self, address: &str) -> String {
        let on = |is_on| if is_on { "yes" } else { "no" };
        let what = match &self.served {
            Served::One(_, owner) => {
                let workspace = owner.borrow();
                format!("root {:?}, id {}", workspace.root(), workspace.id().0)
            }
            Served::Shared(_, parent) => format!("shared parent {parent:?}"),
        };
        format!(
            "stead: ready at {address}, {what}, programs: {}, mounts: {}, TLS: {}\n",
            on(self.settings.permits.allow_exec),
            on(self.settings.permits.allow_mounts),
            on(self.tls.is_some()),
        )
    }

    /// Reads anew what may change, and publishes it once all of it is found good.
    async fn reload(&mut self) {
        match self.reloaded().await {
            Ok(()) => print::err(&format!("stead: reloaded, generation {}\n", self.generation)),
            Err(failure) => print::err(&format!("stead: not reloaded: {}\n", failure.message)),
        }
    }

    async fn reloaded(&mut self) -> Result<(), Failure> {
        let next = self.generation + 1;
        let settings = &self.settings;
        let read_keys = || settings.tls.as_ref().map(|(cert, key)| read_tls(cert, key)).transpose();
        let tls = tokio::task::block_in_place(read_keys)?;
        match &mut self.served {
            Served::One(server, owner) => {
                let root = settings.place.root.clone().unwrap_or_default();
                let open = || open_place(settings, root, self.outputs.path(), next);
                let opened = tokio::task::block_in_place(open)?;
                if let Err(failure) = server.publish(opened.borrow()) {
                    opened.close().await;
                    return Err(failure);
                }
                // Every connection has been told; what it ends is accounted for before the old one goes.
                tokio::spawn(std::mem::replace(owner, opened).close());
            }
            Served::Shared(server, _) => {
                server.reload().await?;
            }
        }
        if let (Some(sender), Some(config)) = (&self.tls, tls) {
            sender.send_replace(config);
        }
        self.generation = next;
        Ok(())
    }

    /// Ends in order; another signal forces it.
    async fn end(self, signals: &mut Signals) -> ExitCode {
        let code = tokio::select! {
            biased;
            () = self.served.drain() => ExitCode::from(exit::OK),
            () = signals.end() => ExitCode::from(exit::INTERRUPTED),
        };
        let limit = Duration::from_millis(REMOTE_END_MS);
        let closed = tokio::time::timeout(limit, self.served.close()).await;
        if closed.is_err() {
            print::err("stead: a program did not end in time\n");
        }
        if let Listen::Unix(path) = &self.settings.listen {
            state_file::remove(path).ok();
        }
        match self.outputs.close() {
            Ok(()) => code,
            Err(error) => {
                print::err(&format!("stead: full outputs are left: {error}\n"));
                ExitCode::from(exit::FAILED)
            }
        }
    }
}

/// Makes a fresh directory for full outputs, of this process alone and never below the root.
fn outputs(root: &Path, below: Option<&Path>) -> Result<TempDir, Failure> {
    let below = below.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let real = std::fs::canonicalize(&below)
        .map_err(|error| unusable("directory for full outputs", &below, &error))?;
    // A root that is missing is told by whoever opens it.
    let inside = std::fs::canonicalize(root).is_ok_and(|root| real.starts_with(root));
    if inside {
        let message = "the directory for full outputs lies below the root";
        return Err(Failure::not_started("usage", message).with_hint("--artifact-dir DIR"));
    }
    let made = tempfile::Builder::new().prefix("stead-workspace-").tempdir_in(&real);
    made.map_err(|error| unusable("directory for full outputs", &real, &error))
}

fn read_tls(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, Failure> {
    let chain = read_bounded("certificate", cert, TLS_FILE_BYTES_MAX)?;
    let secret = read_bounded("private key", key, TLS_FILE_BYTES_MAX)?;
    tls::server(&chain, &secret)
        .map_err(|error| Failure::not_started(error.code(), error.to_string()))
}

/// Opens the directory as a workspace of one generation.
fn open_place(
    settings: &Settings,
    root: PathBuf,
    outputs: &Path,
    generation: u64,
) -> Result<Box<dyn OwnedWorkspace>, Failure> {
    let (place, permits) = (&settings.place, &settings.permits);
    let mut options = Options::new(root.clone(), outputs.join("outputs"));
    options.id = place.id.clone().map(WorkspaceId);
    options.generation = generation;
    options.temp.clone_from(&place.temp_root);
    options.grants =
        Grants { exec: permits.allow_exec.then(ExecGrant::by_owner), mounts: permits.allow_mounts };
    let names: Vec<std::ffi::OsString> = place.env.iter().map(Into::into).collect();
    options.programs.environment = Environment::for_tools(&env::all(), &names);
    options.programs.shell.clone_from(&place.shell);
    if let Some(seconds) = settings.bounds.max_command {
        options.programs.timeout_ms_max = seconds * 1_000;
        options.programs.timeout_ms_default =
            options.programs.timeout_ms_default.min(options.programs.timeout_ms_max);
    }
    if let Some(mib) = settings.bounds.max_artifacts {
        options.artifact_bounds.total_bytes = mib << 20;
    }
    let operator = match &place.lsp_config {
        Some(path) => {
            let bytes = read_bounded("language servers' file", path, LSP_CONFIG_BYTES_MAX)?;
            let text = String::from_utf8(bytes);
            Some(text.map_err(|error| unusable("language servers' file", path, &error))?)
        }
        None => None,
    };
    let trusted: Vec<PathBuf> = permits.trust_project_lsp.then_some(root).into_iter().collect();
    place::open(options, place::Servers { operator, trusted })
}

fn server_options(settings: &Settings) -> ServerOptions {
    let mut options = ServerOptions::new(env::PROGRAM, env!("CARGO_PKG_VERSION"));
    let bounds = &settings.bounds;
    options.grace_ms = settings::grace_ms(bounds);
    // A pipe that is lost comes back as another process's.
    if options.grace_ms == 0 || settings.listen == Listen::Stdio {
        options.offered.capabilities.retain(|known| *known != capability::RESUME);
    }
    let narrow = |places: &mut Places, calls: Option<u64>, transfers: Option<u64>| {
        places.calls = calls.unwrap_or(places.calls);
        places.transfers = transfers.unwrap_or(places.transfers);
    };
    narrow(&mut options.connection, bounds.max_calls, bounds.max_transfers);
    narrow(&mut options.runtime, bounds.max_total_calls, bounds.max_total_transfers);
    options.runtime.connections = bounds.max_connections.unwrap_or(options.runtime.connections);
    options
}

/// Tells an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

/// Opens what is listened at, and says how it is called.
async fn open(
    listen: &Listen,
    tls: Option<&watch::Sender<Arc<ServerConfig>>>,
) -> Result<(Listener, String), Failure> {
    match listen {
        Listen::Unix(path) => {
            let listener = gateway::listen::bind_socket(path).await;
            let listener =
                listener.map_err(|error| Failure::not_started(error.code(), chain(&error)))?;
            Ok((Listener::Unix(listener), format!("unix:{}", path.display())))
        }
        Listen::Tcp(_) | Listen::Stdio => {
            let Listen::Tcp(address) = listen else {
                return Err(Failure::not_started("internal", "a pipe is not listened at"));
            };
            let failed = |error: std::io::Error| {
                let message = format!("{address} cannot be listened at: {error}");
                Failure::not_started("port_unavailable", message)
                    .with_hint("--listen ADDRESS:PORT; port 0 takes a free one")
            };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            let bound = listener.local_addr().map_err(failed)?;
            let scheme = if tls.is_some() { "wss" } else { "ws" };
            let tls = tls.map(watch::Sender::subscribe);
            Ok((Listener::Tcp(listener, tls), format!("{scheme}://{bound}{PATH}")))
        }
    }
}
