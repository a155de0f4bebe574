//! Runs the daemon: claim, compose, serve, drain. Each step is named where it happens.

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use api::{daemon::Registration, routes::PROTOCOL};
use daemon::{
    paths::Paths,
    single::{self, Claim},
};
use gateway::listen::{Doors, ListenError, Server, Shutdown, connection::Bounds};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stdx::{clock::Clock, state_file};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::filter::LevelFilter;
use vocab::{
    limits::{DRAIN_MS_MAX, OPEN_FILES, RUNTIME_THREADS},
    outcome::Failure,
};

use crate::{
    compose::{self, Composed},
    env, exit,
    log::Log,
    print,
    role::daemon::chores,
};

/// Runs until somebody stops it.
pub(crate) fn run(paths: Paths, port: u16, detach: bool) -> anyhow::Result<ExitCode> {
    if detach {
        // A session of our own: the starter's terminal does not take us along.
        rustix::process::setsid().ok();
        env::be_called();
    }
    let result = start(paths, port, detach);
    if let (Err(error), true) = (&result, detach) {
        // A failure keeps its code and its hint on the way to the starter.
        let failure = error.downcast_ref::<Failure>().map(serde_json::to_string);
        match failure {
            Some(Ok(failure)) => print::out(&format!("{failure}\n")),
            Some(Err(_)) | None => print::out(&format!("{error:#}\n")),
        };
    }
    result
}

fn start(paths: Paths, port: u16, detach: bool) -> anyhow::Result<ExitCode> {
    // What the starter had open does not reach our children. Old kernels lack the call; then what we
    // open ourselves is closed on exec all the same.
    sandbox::probe::seal_descriptors().ok();
    // A starter waits only so long for us, so we may wait for a daemon that is just ending.
    let claimed = if detach { Some(Claim::wait(&paths)?) } else { Claim::take(&paths)? };
    let Some(claim) = claimed else {
        return Err(Failure::not_started(
            "daemon_start_failed",
            "another daemon holds this state directory",
        )
        .with_hint("stead daemon status")
        .into());
    };
    Log::open(paths.log())?.install(LevelFilter::INFO);
    // What a kill in the middle of a publication left behind may hold a key.
    for dir in [paths.secrets(), paths.home.clone()] {
        state_file::sweep(&dir, Clock::system().now())?;
    }
    sandbox::become_subreaper()?;
    raise_file_limit();
    let runtime = runtime()?;
    let code = runtime.block_on(serve(paths, claim, port, detach));
    // What blocks a thread now was given up on by the drain already.
    runtime.shutdown_timeout(Duration::from_millis(100));
    code
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .thread_name("stead")
        .enable_all()
        .build()
}

/// Asks for as many open files as the connections need; with fewer, the doors back off when full.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(OPEN_FILES, |hard| hard.min(OPEN_FILES));
    if limit.current.is_some_and(|soft| soft < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).ok();
    }
}

async fn serve(paths: Paths, claim: Claim, port: u16, detach: bool) -> anyhow::Result<ExitCode> {
    // First of all: from here on a signal means a drain, also one that comes in the moment of getting
    // ready.
    let mut signals = Signals::install()?;
    sandbox::signals::survive_the_file_limit();
    let credential = single::credential(&paths)?;
    let on_long_work = if detach { print::checking_while_others_wait } else { print::checking };
    let stopped = Arc::new(AtomicBool::new(false));
    let composing = compose::compose(&paths, &credential, on_long_work, Arc::clone(&stopped));
    let Some(composed) = composed(composing, &mut signals, &stopped).await? else {
        tracing::info!("stopped before it was ready");
        if detach {
            print::out("it was stopped before it was ready\n");
        }
        return Ok(ExitCode::from(exit::OK));
    };
    let shutdown = Shutdown::new();
    let doors = Doors { socket: paths.socket(), port };
    let server =
        Server::open(doors, Arc::clone(&composed.front), Bounds::default(), shutdown.clone())
            .await
            .map_err(not_open)?;
    let registration = Registration {
        id: composed.daemon.id.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        url: format!("http://{}", server.address()),
        socket: server.socket().display().to_string(),
        pid: std::process::id(),
        protocol: PROTOCOL,
    };
    composed.about.set(registration.clone());
    claim.publish(&serde_json::to_vec(&registration)?)?;
    tracing::info!(pid = registration.pid, url = registration.url, "ready");
    if detach {
        print::ready_and_detach()?;
    } else {
        print::err(&format!("stead: ready, {} and {}\n", registration.socket, registration.url));
    }
    // Whoever runs a daemon at a terminal sees its errors there.
    let errors = detach.then(|| paths.errors());
    wait_for_end(&composed, signals, errors).await;
    tracing::info!("draining");
    shutdown.close();
    if matches!(single::registration(&paths), Ok(None)) {
        tracing::warn!("the registration is gone: the state directory was removed meanwhile");
    }
    // Registered no longer: new clients start a new daemon as soon as the lock is free.
    // Whether that works or not, nothing may be left running.
    let withdrawn = claim.withdraw();
    for given_up in composed.daemon.drain().await {
        tracing::warn!(given_up, "the drain left something behind");
    }
    let cut = server.drain(Duration::from_millis(DRAIN_MS_MAX)).await;
    tracing::info!(cut, "stopped");
    drop(claim);
    withdrawn?;
    Ok(ExitCode::from(exit::OK))
}

/// Waits for the daemon to be composed; none when a signal ended that. What takes long is broken off, and
/// what is composed by then is drained.
async fn composed(
    composing: impl Future<Output = anyhow::Result<Composed>>,
    signals: &mut Signals,
    stopped: &AtomicBool,
) -> anyhow::Result<Option<Composed>> {
    let mut composing = std::pin::pin!(composing);
    tokio::select! {
        composed = &mut composing => return composed.map(Some),
        () = signals.recv() => stopped.store(true, Ordering::Relaxed),
    }
    match composing.await {
        Ok(composed) => {
            composed.daemon.drain().await;
            Ok(None)
        }
        Err(error) if matches!(error.downcast_ref(), Some(store::StoreError::Stopped)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Says why the doors do not open, with a way out where there is one.
fn not_open(error: ListenError) -> anyhow::Error {
    let ListenError::InUse(path) = &error else { return error.into() };
    let message = format!("another process listens at {}", path.display());
    let failure = Failure::not_started(error.code(), message).with_hint(
        "it is the daemon of another state directory, or of one that was removed: stop it, or set \
         STEAD_RUNTIME_DIR to a directory of this one's own",
    );
    failure.into()
}

/// The signals that end a daemon.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// A closed terminal does not end a daemon in the background, and does end one in the foreground.
    hangup: Signal,
}

impl Signals {
    fn install() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Reaps what comes to this process as an orphan, whenever one of its children has died.
async fn reap_orphans(mut died: Signal) {
    while died.recv().await.is_some() {
        // It reads the kernel's list of children, which may be long.
        tokio::task::spawn_blocking(sandbox::scope::reap_orphans).await.ok();
    }
}

async fn wait_for_end(composed: &Composed, mut signals: Signals, errors: Option<PathBuf>) {
    let reaper = signal(SignalKind::child()).ok().map(|died| tokio::spawn(reap_orphans(died)));
    // Beside the signals, not before them: a long prune keeps nobody from stopping the daemon.
    let (store, artifacts) = (composed.daemon.store.clone(), composed.daemon.paths.artifacts());
    let sessions = Arc::clone(&composed.sessions);
    let chores = tokio::spawn(chores::hourly(sessions, store, artifacts, errors));
    tokio::select! {
        () = signals.recv() => {}
        () = composed.stop.cancelled() => {}
    }
    chores.abort();
    if let Some(reaper) = reaper {
        reaper.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        collections::HashSet,
        sync::{Condvar, Mutex},
    };

    /// More tasks than threads, each of which holds its thread until as many threads were met as there
    /// should be: with fewer it never ends.
    #[test]
    fn the_runtime_has_so_many_threads_and_no_more() {
        let met = Arc::new((Mutex::new(HashSet::new()), Condvar::new()));
        let runtime = runtime().unwrap();
        assert_eq!(runtime.metrics().num_workers(), RUNTIME_THREADS);
        let tasks: Vec<_> = (0..RUNTIME_THREADS * 8)
            .map(|_| {
                let met = Arc::clone(&met);
                runtime.spawn(async move {
                    let (threads, changed) = &*met;
                    let mut threads = threads.lock().unwrap();
                    threads.insert(std::thread::current().id());
                    changed.notify_all();
                    drop(changed.wait_while(threads, |met| met.len() < RUNTIME_THREADS).unwrap());
                })
            })
            .collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert_eq!(met.0.lock().unwrap().len(), RUNTIME_THREADS);
    }

    #[tokio::test]
    async fn a_signal_before_it_is_ready_breaks_off_and_ends_it() {
        let mut signals = Signals::install().unwrap();
        let stopped = AtomicBool::new(false);
        let composing = async {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::TERM).unwrap();
            // As the check does: it ends when it sees that it should.
            while !stopped.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
            Err(store::StoreError::Stopped.into())
        };
        assert!(composed(composing, &mut signals, &stopped).await.unwrap().is_none());
        let failing = async { Err(store::StoreError::Busy.into()) };
        assert!(composed(failing, &mut signals, &stopped).await.is_err());
    }
}
