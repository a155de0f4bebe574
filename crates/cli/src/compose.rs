//! The graph of objects of a daemon: the only place where implementations meet seams.

pub(crate) mod places;
mod ssh;

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use daemon::{
    host::{Daemon, Parts, Tenant},
    hub::Hub,
    jobs::{Jobs, Parts as JobParts, Trees},
    paths::Paths,
    secrets,
    workspaces::Workspaces,
};
use futures_util::future::BoxFuture;
use gateway::{
    mount::Front,
    perimeter::{AllowedPage, Perimeter},
    routes::{About, Services},
};
use sessions::sessions::{Parts as SessionParts, Sessions, Settings};
use stdx::{clock::Clock, secret::Secret};
use store::{Store, StoreError};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{ANSWER_HOURS, CHILD_GRACE_MS, STEPS_MAX, STORE_ROOM_RETRY_MS},
    message::RunState,
    outcome::Failure,
};

use self::places::Places;
use crate::{config, env, hosts::Hosts, models::ConfiguredModels, notify};

/// A daemon, ready to be served.
pub(crate) struct Composed {
    /// The host.
    pub(crate) daemon: Arc<Daemon>,
    /// Its sessions.
    pub(crate) sessions: Arc<Sessions>,
    /// Its front.
    pub(crate) front: Arc<Front>,
    /// Where it is, told once its doors are open.
    pub(crate) about: About,
    /// Fires when a caller asked it to stop.
    pub(crate) stop: CancellationToken,
}

/// Builds the daemon over its state, which is mended first if the last one died.
/// `on_long_work` is called before it takes as long as the database is large, and `stopped` ends that.
pub(crate) async fn compose(
    paths: &Paths,
    credential: &Secret,
    on_long_work: fn(),
    stopped: Arc<AtomicBool>,
) -> anyhow::Result<Composed> {
    let clock = Clock::system();
    let config = config::load(paths)?;
    warn(&config);
    let options = store::Options::new(paths.database(), clock.clone());
    let options = store::Options { on_long_work, stopped, ..options };
    // On a thread of its own, so that signals are seen meanwhile.
    let (store, opening) = tokio::task::spawn_blocking(move || Store::open(&options)).await??;
    let notices = notices(&opening);
    for notice in &notices {
        tracing::error!(notice, "told to every client of this start");
    }
    end_leftovers(&store).await?;
    let hub = Hub::new(store.clone());
    let (secrets, unsealer) = secrets::open(paths.secrets());
    let openings =
        Places { paths: paths.clone(), clock: clock.clone(), unsealer: unsealer.clone() };
    let workspaces = Workspaces::new(Arc::new(openings)).kept_in(paths.workspaces());
    let workspaces = Arc::new(workspaces);
    let sessions = Sessions::new(SessionParts {
        store: store.clone(),
        hub: hub.clone(),
        epoch: store.epoch(),
        clock: clock.clone(),
        workspaces: Arc::clone(&workspaces),
        models: Arc::new(ConfiguredModels::new(clock.clone(), paths.clone(), unsealer)),
        settings: settings(&config.run),
        scratch: paths.home.join("sessions"),
    });
    if store.is_full() {
        // Until there is room they are shown as what they are.
        tracing::error!("the disk is full: interrupted runs are left open, and nothing is written");
        tokio::spawn(catch_up(store.clone(), Arc::clone(&sessions)));
    } else {
        tell_closed(sessions.mend().await?);
    }
    tokio::spawn(Arc::clone(&sessions).watch_deadlines());
    let jobs = Jobs::new(JobParts {
        home: paths.home.clone(),
        runtime: paths.runtime.clone(),
        socket: paths.socket(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        clock: clock.clone(),
        store: store.clone(),
        hub: hub.clone(),
        launcher: Arc::new(Hosts::new(&env::all())?),
        trees: Trees::new(&env::data(paths), &env::all()).owned_by(&paths.home),
    });
    let (paths, kin) = (paths.clone(), Arc::clone(&jobs));
    let parts = Parts { paths, clock, store, hub, secrets, workspaces, jobs, notices };
    let id = vocab::ids::ArtifactId::generate().to_string();
    let tenant: Arc<dyn Tenant> = Arc::clone(&sessions) as Arc<dyn Tenant>;
    let daemon = Arc::new(Daemon::new(id, parts, vec![tenant]));
    let heard = daemon.hub.subscribe_after(None).await?;
    tokio::spawn(notify::follow(Arc::clone(&daemon), env::all(), heard));
    // Beside the opening of the doors: what ended while there was no daemon is seen without being asked for.
    let jobs = Arc::clone(&daemon.jobs);
    tokio::spawn(async move { jobs.adopt().await });
    let (about, stop) = (About::default(), CancellationToken::new());
    let services = Services {
        daemon: Arc::clone(&daemon),
        sessions: Arc::clone(&sessions),
        about: about.clone(),
        stop: stop.clone(),
    };
    let perimeter = Perimeter::new(credential, pages(&config)?).with_jobs(kin);
    let front = Arc::new(Front::new(perimeter, gateway::routes::handler(services)));
    Ok(Composed { daemon, sessions, front, about, stop })
}

/// What came of one try to do what could not be done at the start.
#[derive(Debug)]
enum Tried {
    Done,
    /// It is tried again; why, where that is not known already.
    Later(Option<String>),
    /// It will not succeed before the next start.
    Never,
}

/// Waits until a disk that was full has room, and does then what could not be done at the start.
async fn catch_up(store: Store, sessions: Arc<Sessions>) {
    until_done(move || Box::pin(try_once(store.clone(), Arc::clone(&sessions)))).await;
}

async fn try_once(store: Store, sessions: Arc<Sessions>) -> Tried {
    match store.make_writable().await {
        Ok(true) => {}
        Ok(false) => return Tried::Later(None),
        Err(StoreError::Closed) => return Tried::Never,
        Err(error) if error.may_pass() => return Tried::Later(Some(error.to_string())),
        Err(error) => {
            tracing::error!(%error, "there is room, and nothing can be written before the next start");
            return Tried::Never;
        }
    }
    match sessions.mend().await {
        Ok(closed) => {
            tracing::info!("the disk has room again");
            tell_closed(closed);
            Tried::Done
        }
        Err(failure) if failure.code == "draining" || failure.code == "store_closed" => {
            Tried::Never
        }
        // Until they are closed they are shown as what they are.
        Err(failure) => Tried::Later(Some(format!("runs are left open: {}", failure.message))),
    }
}

/// Tries until it is done, or never will be. What stands in the way is logged when it is another thing than before.
async fn until_done(mut attempt: impl FnMut() -> BoxFuture<'static, Tried>) {
    let mut known = None;
    loop {
        tokio::time::sleep(Duration::from_millis(STORE_ROOM_RETRY_MS)).await;
        match attempt().await {
            Tried::Done | Tried::Never => return,
            Tried::Later(why) => {
                if let Some(why) = why.as_deref().filter(|_| why != known) {
                    tracing::warn!(why, "there is room, and not everything is done yet");
                }
                known = why;
            }
        }
    }
}

fn tell_closed(n_runs: usize) {
    if 0 < n_runs {
        tracing::warn!(runs = n_runs, "interrupted runs were closed");
    }
}

/// Returns how far runs go, as it is written or as is usual.
fn settings(run: &config::RunEntry) -> Settings {
    let hours = run.answer_within_hours.unwrap_or(ANSWER_HOURS);
    Settings {
        steps_max: run.steps_max.unwrap_or(STEPS_MAX),
        answer_within: Duration::from_secs(u64::from(hours) * 3600),
        project_files: run.project_files.unwrap_or(true),
    }
}

/// Returns what people must know about the database that was found.
fn notices(opening: &store::Opening) -> Vec<String> {
    let aside = opening.set_aside.iter().map(|aside| {
        let (path, problem) = (aside.path.display(), &aside.problem);
        format!(
            "the database was damaged ({problem}); it is kept at {path}, and a new, empty one began"
        )
    });
    aside.collect()
}

/// Reads the pages that may call.
fn pages(config: &config::Config) -> Result<Vec<AllowedPage>, Failure> {
    let pages = config.daemon.origins.iter().map(|text| {
        AllowedPage::parse(text).map_err(|error| {
            Failure::not_started("config_invalid", format!("[daemon] origins: {error}"))
                .with_hint("write an origin as browsers send it: https://site.example")
        })
    });
    pages.collect()
}

/// Ends the programs that a daemon that died left running.
async fn end_leftovers(store: &Store) -> anyhow::Result<()> {
    let live = store.live_runs().await?;
    let working = |state: &RunState| matches!(state, RunState::Running);
    let runs: Vec<String> = live
        .iter()
        .filter(|stored| working(&stored.run.state))
        .map(|stored| stored.run.id.to_string())
        .collect();
    if !runs.is_empty() {
        let grace = Duration::from_millis(CHILD_GRACE_MS);
        let killed =
            tokio::task::spawn_blocking(move || sandbox::scope::reap_leftovers(&runs, grace))
                .await?;
        tracing::warn!(runs = live.len(), killed = killed.len(), "the last daemon died at work");
    }
    Ok(())
}

/// Tells the log what of the configuration does not work here.
fn warn(config: &config::Config) {
    for warning in &config.warnings {
        tracing::warn!(warning, "the configuration");
    }
}

#[cfg(test)]
mod tests;
