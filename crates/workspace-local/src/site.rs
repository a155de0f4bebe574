//! What all calls of one workspace share, and how a call gets to a thread of its own.

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use confine::Root;
use futures_util::future::BoxFuture;
use sandbox::{Environment, Host, Scope};
use stdx::clock::Clock;
use tokio::sync::oneshot;
use vocab::{
    ids::{RunId, WorkspaceId},
    outcome::{Effect, Failure},
};
use workspace::catalog::Catalog;

use crate::{
    artifact, lanes::Making, open::Listener, pool::Pool, serve::Recent, stop::Stop,
    transfer::held::Held, turn::Turns,
};

/// The shared state of an open workspace.
pub(crate) struct Site {
    pub(crate) id: WorkspaceId,
    pub(crate) root: Root,
    pub(crate) artifacts: artifact::Store,
    pub(crate) files: Pool,
    pub(crate) programs: Option<Programs>,
    pub(crate) turns: Turns,
    pub(crate) making: Making,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) clock: Clock,
    /// Hears of every file that was published.
    pub(crate) listener: Listener,
    /// Uploads that broke off.
    pub(crate) held: Held,
    /// Calls with a key, so that the same one is not done twice.
    pub(crate) recent: Mutex<VecDeque<(String, Recent)>>,
}

/// What running programs needs; it exists only where that was granted.
pub(crate) struct Programs {
    pub(crate) shell: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) host: Host,
    pub(crate) pool: Pool,
    pub(crate) timeout_ms_default: u64,
    pub(crate) timeout_ms_max: u64,
    pub(crate) scopes: Mutex<Scopes>,
}

/// One scope for each run that started something.
#[derive(Default)]
pub(crate) struct Scopes {
    pub(crate) open: HashMap<RunId, Arc<Scope>>,
    /// Whether the workspace is being closed, so that none may be opened.
    pub(crate) closed: bool,
}

impl Site {
    /// Queues work on a pool at once; the future waits for its answer. Work that was cancelled before
    /// it started is not waited for; work that started is, because only it knows what it did.
    pub(crate) fn on<T: Send + 'static>(
        pool: &Pool,
        stop: Stop,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Failure>> {
        let (answer, mut answered) = oneshot::channel();
        let queued = pool.submit(Box::new(move || {
            // Nobody may be waiting any more.
            answer.send(work()).ok();
        }));
        let lost =
            |_| Failure::new("internal", Effect::Indeterminate, "the call ended unexpectedly");
        Box::pin(async move {
            queued?;
            tokio::select! {
                biased;
                done = &mut answered => return done.map_err(lost)?,
                () = stop.token().cancelled() => {}
            }
            stop.end_commands();
            if stop.give_up() {
                return Err(stop.failure(Effect::NotStarted));
            }
            answered.await.map_err(lost)?
        })
    }
}
