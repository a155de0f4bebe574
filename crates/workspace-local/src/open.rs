//! Opens a directory as a workspace, and closes it again.

#![expect(
    clippy::disallowed_methods,
    reason = "the machine's id is read from where the system keeps it, a root is named without links"
)]

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use confine::{ConfineError, Root, RootOptions};
use futures_util::future::BoxFuture;
use sandbox::{Environment, Host, PlanError};
use sha2::{Digest, Sha256};
use stdx::clock::Clock;
use vocab::{
    ids::WorkspaceId,
    limits::{
        BASH_TIMEOUT_MS_DEFAULT, CHILD_GRACE_MS, CHILD_TIMEOUT_MS_MAX, POOL_FILE_THREADS_MAX,
        POOL_PROGRAM_THREADS_MAX,
    },
    outcome::Failure,
    path::WorkspacePath,
};
use workspace::{
    catalog::Catalog,
    grant::Grants,
    source::{OwnedWorkspace, Workspace},
};

use crate::{
    artifact, hash,
    pool::Pool,
    serve::LocalWorkspace,
    site::{Programs, Site},
    tools,
    transfer::held::Held,
    turn::Turns,
};

/// What a workspace is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory.
    pub root: PathBuf,
    /// Its id; derived from the machine and the directory when absent.
    pub id: Option<WorkspaceId>,
    /// The generation of its catalog, one more than that of the one in whose place it is put.
    pub generation: u64,
    /// What it may do.
    pub grants: Grants,
    /// Stead's own files and directories, closed to tools.
    pub protected: Vec<PathBuf>,
    /// Directories inside protected ones that may be roots.
    pub exempt: Vec<PathBuf>,
    /// A scratch directory beside the root.
    pub temp: Option<PathBuf>,
    /// A private directory for full outputs, of this workspace alone.
    pub artifacts: PathBuf,
    /// How much is kept there.
    pub artifact_bounds: artifact::Bounds,
    /// How programs are run, where the grants allow it.
    pub programs: ProgramOptions,
    /// Hears of every file that a tool or a primitive has published.
    pub listener: Listener,
    /// Tells the time.
    pub clock: Clock,
}

/// Hears of every file that was published, after it was. It is called where files are worked on, so it must
/// not wait for anything.
#[derive(Clone, Default)]
pub struct Listener(Option<Arc<Hear>>);

type Hear = dyn Fn(&WorkspacePath) + Send + Sync;

impl Listener {
    /// Makes one.
    #[must_use]
    pub fn new(hear: impl Fn(&WorkspacePath) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hear)))
    }

    pub(crate) fn published(&self, path: &WorkspacePath) {
        if let Some(hear) = &self.0 {
            hear(path);
        }
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Listener").field(&self.0.is_some()).finish()
    }
}

/// How programs are run.
#[derive(Debug, Clone)]
pub struct ProgramOptions {
    /// The shell; Bash or else `sh` is looked for when absent.
    pub shell: Option<PathBuf>,
    /// All that programs see of the environment.
    pub environment: Environment,
    /// When a command is ended that gave no timeout of its own.
    pub timeout_ms_default: u64,
    /// The longest timeout a command may ask for.
    pub timeout_ms_max: u64,
}

impl Options {
    /// Starts from the common case: no grants, nothing protected, programs see an empty environment.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, artifacts: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            id: None,
            generation: 1,
            grants: Grants::default(),
            protected: Vec::new(),
            exempt: Vec::new(),
            temp: None,
            artifacts: artifacts.into(),
            artifact_bounds: artifact::Bounds::default(),
            programs: ProgramOptions {
                shell: None,
                environment: Environment::empty(),
                timeout_ms_default: BASH_TIMEOUT_MS_DEFAULT,
                timeout_ms_max: CHILD_TIMEOUT_MS_MAX,
            },
            listener: Listener::default(),
            clock: Clock::system(),
        }
    }

    /// Opens the root as the workspace reaches it, for whoever works on the same files beside it.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open_root(&self) -> Result<Root, ConfineError> {
        let options = RootOptions {
            mounts: self.grants.mounts,
            protected: self.protected.clone(),
            exempt: self.exempt.clone(),
            temp: self.temp.clone(),
            home: self.programs.environment.get("HOME").map(PathBuf::from),
        };
        Root::open(&self.root, options)
    }
}

/// Why a directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The root cannot be opened.
    #[error(transparent)]
    Root(#[from] ConfineError),
    /// There is no place for full outputs.
    #[error("the directory for full outputs cannot be used: {0}")]
    Artifacts(#[source] io::Error),
    /// Programs were granted and there is no shell.
    #[error(transparent)]
    Shell(#[from] PlanError),
}

impl OpenError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Root(error) => error.code(),
            Self::Artifacts(_) => "artifacts_unusable",
            Self::Shell(error) => error.code(),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Root(error) => error.into(),
            other @ (OpenError::Artifacts(_) | OpenError::Shell(_)) => {
                Self::not_started(other.code(), other.to_string())
            }
        }
    }
}

/// Returns the id of a root on this machine: 16 hexadecimal digits over the machine's id and the
/// canonical path, however the root is spelled here.
#[must_use]
pub fn derived_id(root: &Path) -> WorkspaceId {
    use std::os::unix::ffi::OsStrExt;
    // What is not there has no other name yet, and cannot be opened either.
    let real_root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let machine = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .find_map(|path| std::fs::read(path).ok())
        .unwrap_or_else(|| rustix::system::uname().nodename().to_bytes().to_vec());
    let mut hasher = Sha256::new();
    hasher.update(machine.trim_ascii());
    hasher.update([0]);
    hasher.update(real_root.as_os_str().as_bytes());
    WorkspaceId(hash::hex(&hasher.finalize()).chars().take(16).collect())
}

impl LocalWorkspace {
    /// Opens a directory. Blocks for as long as a look at the disk takes.
    ///
    /// # Errors
    /// When the root, the directory for outputs or the shell cannot be used.
    pub fn open(options: Options) -> Result<Box<dyn OwnedWorkspace>, OpenError> {
        Ok(Box::new(Owner(Arc::new(Site::open(options)?))))
    }
}

impl Site {
    fn open(options: Options) -> Result<Self, OpenError> {
        let root = options.open_root()?;
        let id = options.id.unwrap_or_else(|| derived_id(root.real()));
        let bounds = options.artifact_bounds;
        let artifacts = artifact::Store::open(&options.artifacts, &id, bounds, &options.clock)
            .map_err(OpenError::Artifacts)?;
        let programs = match options.grants.exec {
            Some(_) => Some(programs(options.programs)?),
            None => None,
        };
        let specs = tools::specs(programs.is_some());
        Ok(Self {
            id,
            root,
            artifacts,
            files: Pool::new("workspace-files", POOL_FILE_THREADS_MAX),
            programs,
            turns: Turns::default(),
            making: Arc::default(),
            catalog: Arc::new(Catalog::new(options.generation, specs.into_iter().map(Arc::new))),
            clock: options.clock,
            listener: options.listener,
            held: Held::default(),
            recent: Mutex::default(),
        })
    }
}

fn programs(options: ProgramOptions) -> Result<Programs, PlanError> {
    let shell = sandbox::find_shell(options.shell.as_deref(), &options.environment)?;
    Ok(Programs {
        shell,
        environment: options.environment,
        host: Host::probe(),
        pool: Pool::new("workspace-programs", POOL_PROGRAM_THREADS_MAX),
        timeout_ms_default: options.timeout_ms_default,
        timeout_ms_max: options.timeout_ms_max.min(CHILD_TIMEOUT_MS_MAX),
        scopes: Mutex::default(),
    })
}

/// The one who may close the workspace.
struct Owner(Arc<Site>);

impl OwnedWorkspace for Owner {
    fn borrow(&self) -> Arc<dyn Workspace> {
        Arc::new(LocalWorkspace(Arc::clone(&self.0)))
    }

    fn is_busy(&self) -> bool {
        self.0.programs.as_ref().is_some_and(|programs| {
            let scopes = programs.scopes.lock().unwrap_or_else(PoisonError::into_inner);
            scopes.open.values().any(|scope| scope.is_busy())
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        let site = Arc::clone(&self.0);
        Box::pin(async move {
            let (done, closed) = tokio::sync::oneshot::channel();
            let close = move || {
                site.close();
                done.send(()).ok();
            };
            // A thread of its own: the pools' threads are what it waits for.
            if std::thread::Builder::new().name("workspace-close".into()).spawn(close).is_ok() {
                closed.await.ok();
            }
        })
    }
}

impl Site {
    /// Ends programs, then waits for work in progress. Full outputs stay, for they are kept a while.
    /// Blocks.
    fn close(&self) {
        if let Some(programs) = &self.programs {
            let mut scopes = programs.scopes.lock().unwrap_or_else(PoisonError::into_inner);
            scopes.closed = true;
            let ended: Vec<_> = scopes.open.drain().collect();
            drop(scopes);
            for (_, scope) in ended {
                scope.end(Duration::from_millis(CHILD_GRACE_MS));
            }
            programs.pool.close();
        }
        self.files.close();
        self.held.clear();
    }
}

#[cfg(test)]
mod tests;
