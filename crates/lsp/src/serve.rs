//! The tools as everybody above the seam sees them, and which server answers which call.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, join_all},
};
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use vocab::{
    ids::RunId,
    limits::{LSP_CHANGED_MAX, LSP_PLACES_MAX, RECENT_CALLS_MAX},
    outcome::{Effect, Failure, Outcome},
    path::WorkspacePath,
    tool::{Reach, ToolSpec},
};
use workspace::{
    call::{Call, CallContext},
    catalog::Catalog,
    source::{OwnedWorkspace, ToolSource},
};

use crate::{
    beside,
    config::{Lacks, Server},
    instance::{Ask, Instance, Served, Shown},
    languages, open,
    rpc::PeerError,
    site::Site,
    status::{State, Status},
    tools,
};

/// The language servers of a workspace. Clones are the same.
#[derive(Clone)]
pub struct Lsp(pub(crate) Arc<Inner>);

/// A server and what it lacks to be used.
pub(crate) struct Configured {
    pub(crate) server: Arc<Server>,
    pub(crate) lacks: Option<Lacks>,
}

pub(crate) struct Inner {
    pub(crate) site: Arc<Site>,
    pub(crate) configured: Vec<Configured>,
    pub(crate) notes: Vec<String>,
    /// By server and directory.
    pub(crate) instances: Mutex<HashMap<(String, WorkspacePath), Arc<Instance>>>,
    /// Held while it is decided whether one more server may run.
    pub(crate) admission: tokio::sync::Mutex<()>,
    pub(crate) catalog: Arc<Catalog>,
    /// Renames with a key, so that the same one is not done twice.
    pub(crate) recent: Mutex<VecDeque<(String, Shared<BoxFuture<'static, Outcome>>)>>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) handle: Handle,
    pub(crate) closed: CancellationToken,
    pub(crate) _ended: DropGuard,
}

/// Files that were changed and of which servers were not told yet.
#[derive(Default)]
pub(crate) struct Changes {
    pending: Mutex<BTreeSet<WorkspacePath>>,
    more: Notify,
}

impl std::fmt::Debug for Lsp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lsp").field("servers", &self.0.configured.len()).finish_non_exhaustive()
    }
}

impl ToolSource for Lsp {
    fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.0.catalog)
    }

    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome> {
        let spec = match self.admit(&call) {
            Ok(spec) => spec,
            Err(failure) => return Box::pin(std::future::ready(Outcome::failed(failure))),
        };
        let Some(key) = call.idempotency_key.clone().filter(|_| spec.reach != Reach::Reads) else {
            return self.start(&spec, call, context);
        };
        let mut recent = self.0.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = recent.iter().find(|(seen, _)| *seen == key) {
            return Box::pin(known.clone());
        }
        let started = self.start(&spec, call, context).shared();
        if recent.len() >= RECENT_CALLS_MAX {
            recent.pop_front();
        }
        recent.push_back((key, started.clone()));
        Box::pin(started)
    }

    fn end_run(&self, _run: &RunId) -> BoxFuture<'static, Vec<String>> {
        // Servers are the workspace's; no call leaves anything running.
        Box::pin(std::future::ready(Vec::new()))
    }
}

impl Lsp {
    /// Checks all that can be checked before anything starts.
    fn admit(&self, call: &Call) -> Result<Arc<ToolSpec>, Failure> {
        let catalog = &self.0.catalog;
        let stale = |message| {
            let failure = Failure::not_started("stale_generation", message);
            failure.with_hint("fetch the catalog again and repeat the call")
        };
        if call.expected_generation != catalog.generation {
            return Err(stale(format!(
                "the catalog is at generation {}, the call was made for {}",
                catalog.generation, call.expected_generation
            )));
        }
        let spec = catalog.find(&call.tool).ok_or_else(|| {
            Failure::not_started("unknown_tool", format!("there is no tool {:?} here", call.tool))
        })?;
        if call.schema_hash != spec.schema_hash() {
            return Err(stale(format!("the call was made for another schema of {}", spec.name)));
        }
        spec.validate(&call.arguments).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let message =
                format!("the arguments of {} do not fit:\n{}", spec.name, lines.join("\n"));
            Failure::not_started("invalid_arguments", message)
        })?;
        if self.0.closed.is_cancelled() {
            return Err(Failure::not_started("workspace_closed", "the workspace is closed"));
        }
        Ok(Arc::clone(spec))
    }

    /// Runs a call in a task of its own, so that it ends as it says also when nobody waits.
    fn start(
        &self,
        spec: &ToolSpec,
        call: Call,
        context: CallContext,
    ) -> BoxFuture<'static, Outcome> {
        let (lsp, name) = (self.clone(), spec.name);
        let wait = call.timeout_ms.map_or(self.0.site.bounds.call, Duration::from_millis);
        let ask = Ask { until: Instant::now() + wait, cancel: context.cancel };
        let task = self.0.handle.spawn(async move {
            tools::run(&lsp, (name, &call.arguments), &ask).await.unwrap_or_else(Outcome::failed)
        });
        Box::pin(async move {
            task.await.unwrap_or_else(|_| {
                let message = "the call ended unexpectedly";
                Outcome::failed(Failure::new("internal", Effect::Indeterminate, message))
            })
        })
    }

    /// Says that a file was changed. Servers that run are told soon; this does not wait.
    pub fn changed(&self, path: &WorkspacePath) {
        let mut pending = self.0.changes.pending.lock().unwrap_or_else(PoisonError::into_inner);
        // One that finds no room is not lost: every call looks at the open documents itself.
        if pending.len() < LSP_CHANGED_MAX {
            pending.insert(path.clone());
        }
        drop(pending);
        self.0.changes.more.notify_one();
    }

    /// Returns what is wrong with the configuration, one sentence each, for the operator.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// Tells how every server is; one that was never started stands at the workspace's root.
    #[must_use]
    pub fn status(&self) -> Vec<Status> {
        let mut rows = Vec::new();
        let instances = self.instances();
        for one in &self.0.configured {
            let row = |root: &WorkspacePath, state, last_error| Status {
                name: one.server.name.clone(),
                languages: one.server.languages.clone(),
                root: root.to_string(),
                state,
                pid: None,
                rss: None,
                last_error,
            };
            let mut mine: Vec<Status> = instances
                .values()
                .filter(|instance| Arc::ptr_eq(&instance.server, &one.server))
                .map(|instance| {
                    let told = instance.told();
                    let row = row(&instance.dir, told.state, told.last_error);
                    Status { pid: told.pid, rss: told.rss, ..row }
                })
                .collect();
            if mine.is_empty() {
                let root = WorkspacePath::root_of(vocab::path::RootKind::Workspace);
                let lacks = open::lack(one);
                let state = if lacks.is_some() { State::Failed } else { State::Stopped };
                mine.push(row(&root, state, lacks));
            }
            mine.sort_by(|one, two| one.root.cmp(&two.root));
            rows.extend(mine);
        }
        rows
    }

    /// Ends every server and takes no more calls.
    pub async fn close(&self) {
        self.0.closed.cancel();
        let all: Vec<Arc<Instance>> = self.instances().drain().map(|(_, one)| one).collect();
        join_all(all.iter().map(|instance| instance.stop())).await;
    }

    /// Puts the servers beside a workspace: one owner closes both, the servers first.
    #[must_use]
    pub fn beside(self, owner: Box<dyn OwnedWorkspace>) -> Box<dyn OwnedWorkspace> {
        Box::new(beside::Beside { owner, lsp: self })
    }

    fn instances(&self) -> MutexGuard<'_, HashMap<(String, WorkspacePath), Arc<Instance>>> {
        self.0.instances.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the servers that run, in the order of their names and directories.
    pub(crate) fn running(&self) -> Vec<Arc<Instance>> {
        let is_running =
            |one: &&Arc<Instance>| matches!(one.told().state, State::Ready | State::Starting);
        let mut all: Vec<_> = self.instances().values().filter(is_running).cloned().collect();
        all.sort_by(|one, two| (&one.server.name, &one.dir).cmp(&(&two.server.name, &two.dir)));
        all
    }

    /// Returns the servers that may be used.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.0.configured.iter().filter(|one| one.lacks.is_none()).map(|one| &one.server)
    }

    /// Finds the one server that a file belongs to.
    pub(crate) fn instance_of(&self, path: &WorkspacePath) -> Result<Arc<Instance>, Failure> {
        let language = languages::of(path);
        let speaks = |server: &&Arc<Server>| {
            server.languages.iter().any(|one| Some(one.as_str()) == language)
        };
        let Some(server) = self.usable().find(speaks) else {
            let message = match language {
                Some(language) => {
                    format!("{path}: no language server is configured for {language}")
                }
                None => format!("{path}: its name says no language that is known"),
            };
            return Err(Failure::not_started("no_language_server", message));
        };
        let dir = self.0.site.rooted(path, &server.root_markers);
        self.instance_at(server, dir)
    }

    /// Returns the server for a directory.
    pub(crate) fn instance_at(
        &self,
        server: &Arc<Server>,
        dir: WorkspacePath,
    ) -> Result<Arc<Instance>, Failure> {
        let mut instances = self.instances();
        let key = (server.name.clone(), dir.clone());
        if let Some(known) = instances.get(&key) {
            return Ok(Arc::clone(known));
        }
        if instances.len() >= LSP_PLACES_MAX {
            let idle =
                |one: &Arc<Instance>| matches!(one.told().state, State::Stopped | State::Failed);
            instances.retain(|_, one| Arc::strong_count(one) > 1 || !idle(one));
        }
        if instances.len() >= LSP_PLACES_MAX {
            let message = "language servers are in use for too many directories";
            return Err(Failure::not_started("busy", message).with_hint("try again"));
        }
        let made = Arc::new(Instance::new(Arc::clone(server), dir, Arc::clone(&self.0.site)));
        instances.insert(key, Arc::clone(&made));
        Ok(made)
    }

    /// Brings a server up, with a document in step with its file. What was begun goes on when the call is not
    /// waited for any more: a server that is slow to start is there for the next one.
    pub(crate) async fn serve(
        &self,
        instance: &Arc<Instance>,
        path: Option<&WorkspacePath>,
        ask: &Ask,
    ) -> Result<Served, Failure> {
        let (lsp, one, path) = (self.clone(), Arc::clone(instance), path.cloned());
        let using = instance.begin_use();
        let task = self.0.handle.spawn(async move {
            lsp.make_room(&one).await?;
            one.serve(path.as_ref(), using).await
        });
        let over = tokio::select! {
            biased;
            served = task => {
                let lost = |_| Failure::new("internal", Effect::Indeterminate, "the call ended unexpectedly");
                return served.map_err(lost)?;
            }
            () = ask.cancel.cancelled() => PeerError::Cancelled,
            () = sleep_until(ask.until) => PeerError::TimedOut,
        };
        Err(instance.failure(over))
    }

    /// Lets one more server run, in the stead of the one that was not used for longest.
    async fn make_room(&self, instance: &Arc<Instance>) -> Result<(), Failure> {
        let _admission = self.0.admission.lock().await;
        if self.0.closed.is_cancelled() {
            return Err(Failure::not_started("workspace_closed", "the workspace is closed"));
        }
        if matches!(instance.told().state, State::Ready | State::Starting) {
            return Ok(());
        }
        let running = self.running();
        if running.len() >= self.0.site.bounds.servers_max {
            let unused = running.iter().filter_map(|one| one.unused_since().map(|at| (at, one)));
            let Some((_, oldest)) = unused.min_by_key(|(at, _)| *at) else {
                let message = "as many language servers run as may, and all are in use";
                return Err(Failure::not_started("busy", message).with_hint("try again"));
            };
            oldest.stop().await;
        }
        instance.expect();
        Ok(())
    }
}

/// Tells servers of changed files as they come.
pub(crate) async fn follow_changes(
    inner: Weak<Inner>,
    changes: Arc<Changes>,
    ended: CancellationToken,
) {
    loop {
        tokio::select! {
            () = ended.cancelled() => return,
            () = changes.more.notified() => {}
        }
        let pending =
            std::mem::take(&mut *changes.pending.lock().unwrap_or_else(PoisonError::into_inner));
        for path in pending {
            let Some(inner) = inner.upgrade() else { return };
            Lsp(inner).tell(path).await;
        }
    }
}

impl Lsp {
    /// Tells every running server whose directory a file lies in that the file was changed.
    async fn tell(&self, path: WorkspacePath) {
        let Ok(path) = self.0.site.without_parents(path) else { return };
        let language = languages::of(&path);
        for instance in self.running() {
            if !path.components().starts_with(instance.dir.components()) {
                continue;
            }
            let speaks = instance.server.languages.iter().any(|one| Some(one.as_str()) == language);
            let shown = if speaks { Shown::Yes } else { Shown::No };
            instance.changed(&path, shown).await;
        }
    }
}
