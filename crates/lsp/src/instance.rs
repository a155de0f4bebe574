//! One server for one directory: started when somebody asks, stopped when nobody does, started again a
//! bounded number of times when it ends by itself.
//!
//! Its lock is held while it is started and while documents are told, never while an answer is waited for.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use vocab::{
    outcome::{Effect, Failure},
    path::WorkspacePath,
};

use crate::{
    abilities::{self, Abilities},
    board::Board,
    config::Server,
    documents::{Document, Documents, SyncError},
    line,
    process::{self, Process},
    rpc::{Peer, PeerError, Refusal},
    site::Site,
    status::State,
};

mod ends;

/// One server for one directory.
pub(crate) struct Instance {
    pub(crate) server: Arc<Server>,
    pub(crate) dir: WorkspacePath,
    site: Arc<Site>,
    live: tokio::sync::Mutex<Option<Live>>,
    told: Mutex<Told>,
    usage: Mutex<Usage>,
}

/// What is known of it from outside.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) state: State,
    pub(crate) pid: Option<u32>,
    pub(crate) rss: Option<u64>,
    pub(crate) last_error: Option<String>,
    failures: VecDeque<Instant>,
    looked: Option<Instant>,
}

struct Usage {
    in_flight: usize,
    last: Instant,
}

/// Counts a call as long as it is held.
pub(crate) struct Using(Arc<Instance>);

/// A running server.
struct Live {
    peer: Peer,
    process: Option<Process>,
    abilities: Arc<Abilities>,
    board: Arc<Board>,
    documents: Documents,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.peer.end("it was let go");
    }
}

/// A running server, for one call.
pub(crate) struct Served {
    pub(crate) instance: Arc<Instance>,
    pub(crate) peer: Peer,
    pub(crate) abilities: Arc<Abilities>,
    pub(crate) board: Arc<Board>,
    pub(crate) document: Option<Document>,
    _using: Using,
}

/// Whether a server shall be shown a file that changed, or only hear of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Yes,
    No,
}

/// How long a call waits, and what ends it.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) until: Instant,
    pub(crate) cancel: CancellationToken,
}

impl Instance {
    pub(crate) fn new(server: Arc<Server>, dir: WorkspacePath, site: Arc<Site>) -> Self {
        Self {
            server,
            dir,
            site,
            live: tokio::sync::Mutex::default(),
            told: Mutex::new(Told {
                state: State::Stopped,
                pid: None,
                rss: None,
                last_error: None,
                failures: VecDeque::new(),
                looked: None,
            }),
            usage: Mutex::new(Usage { in_flight: 0, last: Instant::now() }),
        }
    }

    fn told_now(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is known of it.
    pub(crate) fn told(&self) -> Told {
        self.told_now().clone()
    }

    /// Says that it is about to be started, so that it counts as running.
    pub(crate) fn expect(&self) {
        self.told_now().state = State::Starting;
    }

    /// Returns when it was used last; none while it is in use.
    pub(crate) fn unused_since(&self) -> Option<Instant> {
        let usage = self.usage();
        (usage.in_flight == 0).then_some(usage.last)
    }

    pub(crate) fn begin_use(self: &Arc<Self>) -> Using {
        let mut usage = self.usage();
        usage.in_flight += 1;
        usage.last = Instant::now();
        Using(Arc::clone(self))
    }

    fn is_managed(&self) -> bool {
        self.server.transport.is_managed()
    }

    /// Brings the server up and the document in step with its file.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        path: Option<&WorkspacePath>,
        using: Using,
    ) -> Result<Served, Failure> {
        let mut slot = self.live.lock().await;
        if let Some(dead) = slot.take_if(|live| live.peer.why().is_some()) {
            self.bury(dead).await;
        }
        let live = match &mut *slot {
            Some(live) => live,
            empty => empty.insert(self.start().await?),
        };
        live.documents.refresh().await.map_err(|error| self.failure(error))?;
        let document = match path {
            None => None,
            Some(path) => Some(live.documents.show(path).await.map_err(|error| match error {
                SyncError::File(failure) => failure,
                SyncError::Peer(error) => self.failure(error),
            })?),
        };
        Ok(Served {
            instance: Arc::clone(self),
            peer: live.peer.clone(),
            abilities: Arc::clone(&live.abilities),
            board: Arc::clone(&live.board),
            document,
            _using: using,
        })
    }

    /// Tells a running server that a file changed; one that does not run reads it when it starts.
    pub(crate) async fn changed(&self, path: &WorkspacePath, shown: Shown) {
        let mut slot = self.live.lock().await;
        let Some(live) = slot.as_mut().filter(|live| live.peer.why().is_none()) else { return };
        let gone = self.site.is_gone(path);
        live.board.disturb();
        // A file that cannot be shown is closed by the attempt; a line that is over is seen by its watch.
        if shown == Shown::Yes {
            live.documents.show(path).await.ok();
        }
        let kind = if gone { 3 } else { 2 };
        let changes = json!({"changes": [{"uri": self.site.uri(path), "type": kind}]});
        live.peer.notify("workspace/didChangeWatchedFiles", &changes).await.ok();
    }

    /// Returns the documents that are open, if it runs.
    pub(crate) async fn open_paths(&self) -> Vec<WorkspacePath> {
        let slot = self.live.lock().await;
        slot.as_ref().map(|live| live.documents.paths()).unwrap_or_default()
    }

    /// Returns what the server was shown, by path.
    pub(crate) async fn shown(&self) -> BTreeMap<WorkspacePath, Document> {
        let slot = self.live.lock().await;
        slot.as_ref().map(|live| live.documents.all()).unwrap_or_default()
    }

    /// Returns after which silence what a server says counts.
    pub(crate) fn settle(&self) -> Duration {
        self.site.bounds.settle
    }

    async fn start(self: &Arc<Self>) -> Result<Live, Failure> {
        let (window, most) = (self.site.bounds.restart_window, self.site.bounds.restarts_max);
        {
            let mut told = self.told_now();
            told.failures.retain(|at| at.elapsed() < window);
            if told.failures.len() > most {
                told.state = State::Failed;
                let last = told.last_error.clone().unwrap_or_default();
                let n = told.failures.len();
                let message = format!(
                    "{} has ended unexpectedly {n} times and is not started again for now: {last}",
                    self.server.name
                );
                return Err(Failure::not_started("lsp_server_failed", message));
            }
            (told.state, told.rss) = (State::Starting, None);
        }
        let connected = match line::connect(&self.server, &self.dir, &self.site).await {
            Ok(connected) => connected,
            Err(failure) => {
                self.note_failure(failure.message.clone());
                return Err(failure);
            }
        };
        let board = Arc::new(Board::new(Arc::clone(&self.site), self.server.init.clone()));
        let (peer, process) = connected.begin(Arc::clone(&board) as _, self.site.bounds.send);
        match self.initialize(&peer).await {
            Ok(abilities) => {
                let terms = abilities.terms;
                let documents =
                    Documents::new(Arc::clone(&self.site), peer.clone(), Arc::clone(&board), terms);
                let mut told = self.told_now();
                told.state = State::Ready;
                told.pid = process.as_ref().map(Process::pid);
                drop(told);
                self.watch(peer.clone());
                Ok(Live { peer, process, abilities: Arc::new(abilities), board, documents })
            }
            Err(why) => {
                peer.end(why.clone());
                let said = match process {
                    Some(process) => process.end(Duration::from_millis(200), process::GRACE).await,
                    None => String::new(),
                };
                let why = self.note_failure(format!(
                    "{} could not be started: {why}{said}",
                    self.server.name
                ));
                let effect =
                    if self.is_managed() { Effect::Indeterminate } else { Effect::NotStarted };
                Err(Failure::new("lsp_server_failed", effect, why))
            }
        }
    }

    async fn initialize(&self, peer: &Peer) -> Result<Abilities, String> {
        let process = self.is_managed().then(std::process::id);
        let init = self.server.init.as_ref();
        let params = abilities::initialize(&self.site.uri(&self.dir), process, init);
        let until = Instant::now() + self.site.bounds.initialize;
        let never = CancellationToken::new();
        let answer = peer.request(("initialize", &params), until, &never).await;
        let answer = answer.map_err(|error| match error {
            PeerError::Ended(why) => why,
            PeerError::TimedOut => "it was not ready in time".to_owned(),
            PeerError::Refused(Refusal { message, .. }) => format!("it refused: {message}"),
            PeerError::Cancelled | PeerError::Busy => "it was not asked".to_owned(),
        })?;
        let abilities = Abilities::read(&answer)?;
        let over = |_| peer.why().unwrap_or_default();
        peer.notify("initialized", &json!({})).await.map_err(over)?;
        if let Some(init) = init {
            let settings = json!({"settings": init});
            peer.notify("workspace/didChangeConfiguration", &settings).await.map_err(over)?;
        }
        Ok(abilities)
    }

    /// Sees when the line is over, and when nobody has asked for long.
    fn watch(self: &Arc<Self>, peer: Peer) {
        let weak: Weak<Self> = Arc::downgrade(self);
        let idle = self.site.bounds.idle;
        tokio::spawn(async move {
            loop {
                let Some(instance) = weak.upgrade() else { return };
                let until = instance.unused_since().unwrap_or_else(Instant::now) + idle;
                drop(instance);
                let is_over = tokio::select! {
                    () = peer.ended() => true,
                    () = sleep_until(until) => false,
                };
                let Some(instance) = weak.upgrade() else { return };
                let mut slot = instance.live.lock().await;
                let mine = |live: &mut Live| live.peer.is(&peer);
                let dead = slot.take_if(|live| is_over && mine(live));
                if let Some(dead) = dead {
                    instance.bury(dead).await;
                }
                if is_over {
                    return;
                }
                let unused = instance.unused_since().is_some_and(|at| at.elapsed() >= idle);
                if let Some(live) = slot.take_if(|live| unused && mine(live)) {
                    instance.stop_live(live).await;
                    return;
                }
            }
        });
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        let mut usage = self.0.usage();
        usage.in_flight = usage.in_flight.saturating_sub(1);
        usage.last = Instant::now();
    }
}

impl Served {
    /// Tells whether the server can answer a method.
    pub(crate) fn can(&self, method: &str) -> bool {
        self.abilities.can(method) || self.board.registered(method).is_some()
    }

    /// Asks the server, if it can answer. Also returns what is to be told besides the answer.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: &Value,
        ask: &Ask,
    ) -> Result<(Value, Option<String>), Failure> {
        if !self.can(method) {
            let message = format!("{} does not offer {method}", self.instance.server.name);
            return Err(Failure::not_started("method_not_supported", message));
        }
        let answer = self.peer.request((method, params), ask.until, &ask.cancel).await;
        let answer = answer.map_err(|error| self.instance.failure(error))?;
        Ok((answer, self.after_answer().await))
    }

    /// Looks at what the server holds, now that it has answered, and returns what is to be told of it.
    pub(crate) async fn after_answer(&self) -> Option<String> {
        self.instance.look(&self.peer).await
    }
}
