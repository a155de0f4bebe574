//! Registered places and the open ones among them. How a kind is opened is the composer's business.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;
use vocab::{
    limits::WORKSPACES_OPEN_MAX,
    outcome::Failure,
    place::{Link, Place, Source},
};
use workspace::source::{OwnedWorkspace, Workspace};

mod book;
mod change;

use book::Book;
pub use change::Listed;

/// A registered place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Its name.
    pub name: String,
    /// What it is.
    pub place: Place,
    /// Where it was registered.
    pub source: Source,
}

impl Registered {
    /// Returns its directory, if it is one of this machine.
    #[must_use]
    pub fn local(&self) -> Option<&Path> {
        match &self.place {
            Place::Local { path } => Some(Path::new(path)),
            Place::Remote { .. } | Place::Ssh { .. } | Place::Deferred { .. } => None,
        }
    }
}

/// Opens workspaces of the kinds there are. The daemon never names one.
pub trait Openings: Send + Sync {
    /// Opens the local directory at `path`.
    fn open_local(
        &self,
        path: PathBuf,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>>;

    /// Opens a place that is no directory of this machine.
    fn open_far(
        &self,
        registered: Registered,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        let why = format!("{} cannot be reached from here", registered.name);
        Box::pin(std::future::ready(Err(Failure::not_started("workspace_unsupported", why))))
    }

    /// Returns the registered places, as the configuration names them now.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    fn registered(&self) -> Result<Vec<Registered>, Failure>;
}

/// The open workspaces; the daemon owns them all, everybody else borrows.
pub struct Workspaces {
    openings: Arc<dyn Openings>,
    book: Book,
    /// Held by whoever changes what is registered.
    changing: tokio::sync::Mutex<()>,
    open: Mutex<HashMap<Directory, Arc<Slot>>>,
}

/// Which directory is meant, whatever its name. One that was removed and made again is another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Directory {
    Found {
        dev: u64,
        ino: u64,
    },
    /// Nothing stands there; opening it says why.
    Missing(PathBuf),
    /// None of this machine: the place of that name.
    Far(String),
}

/// A place that is open, or is being opened by whoever came first.
#[derive(Default)]
struct Slot {
    owned: OnceCell<Box<dyn OwnedWorkspace>>,
    used: Arc<()>,
}

impl Slot {
    /// Tells whether nobody borrows it, nobody is about to, and nothing runs there that somebody comes
    /// back to.
    fn is_idle(slot: &Arc<Self>) -> bool {
        let is_unused = Arc::strong_count(slot) == 1 && Arc::strong_count(&slot.used) == 1;
        is_unused && !slot.owned.get().is_some_and(|owned| owned.is_busy())
    }

    fn is_lost(&self) -> bool {
        self.owned.get().is_some_and(|owned| owned.link() == Link::Lost)
    }
}

/// A borrowed workspace. The place stays open while somebody holds one.
#[derive(Clone)]
pub struct Lease {
    workspace: Arc<dyn Workspace>,
    _used: Arc<()>,
}

impl Lease {
    /// Returns the workspace.
    #[must_use]
    pub fn workspace(&self) -> Arc<dyn Workspace> {
        Arc::clone(&self.workspace)
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Workspaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspaces").finish_non_exhaustive()
    }
}

impl Workspaces {
    /// Builds the registry; nothing is opened yet.
    #[must_use]
    pub fn new(openings: Arc<dyn Openings>) -> Self {
        let (book, changing) = (Book::default(), tokio::sync::Mutex::default());
        Self { openings, book, changing, open: Mutex::default() }
    }

    /// Says in which file places are kept that are added.
    #[must_use]
    pub fn kept_in(self, path: PathBuf) -> Self {
        Self { book: Book::at(path), ..self }
    }

    /// Returns all registered places, those of the configuration first.
    ///
    /// # Errors
    /// When the configuration or the list of what was added cannot be read.
    pub fn registered(&self) -> Result<Vec<Registered>, Failure> {
        let mut all = self.openings.registered()?;
        let added = self.book.read()?;
        // Whoever writes a name into the configuration means that one.
        let is_new = |added: &Registered| !all.iter().any(|known| known.name == added.name);
        let added: Vec<Registered> = added.into_iter().filter(is_new).collect();
        all.extend(added);
        Ok(all)
    }

    /// Finds a registered place by name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn find(&self, name: &str) -> Result<Registered, Failure> {
        let all = self.registered()?;
        all.iter().find(|place| place.name == name).cloned().ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|place| place.name.as_str()).collect();
            let hint = if known.is_empty() {
                "there is none; name a directory with -C, or: stead workspace add".to_owned()
            } else {
                format!("known workspaces: {}", known.join(", "))
            };
            Failure::not_started("workspace_not_found", format!("no workspace is named {name:?}"))
                .with_hint(hint)
        })
    }

    /// Borrows the workspace at a directory, opening it first if nobody did. Two names of one directory
    /// are one place. Opening one holds up nobody who wants another.
    ///
    /// # Errors
    /// When it cannot be opened, or too many are open.
    pub async fn at(&self, path: &Path) -> Result<Lease, Failure> {
        let directory = directory(path).await;
        self.lease(directory, || self.openings.open_local(path.to_path_buf())).await
    }

    /// Borrows a registered place, opening it first if nobody did.
    ///
    /// # Errors
    /// When there is none of that name, it cannot be opened, or too many are open.
    pub async fn named(&self, name: &str) -> Result<Lease, Failure> {
        let registered = self.find(name)?;
        if let Some(path) = registered.local() {
            return self.at(path).await;
        }
        if let Place::Deferred { address: None, .. } = registered.place {
            let why = format!("no runtime is attached to {name}");
            return Err(Failure::not_started("workspace_detached", why)
                .with_hint(format!("stead workspace attach {name} URL")));
        }
        self.lease(Directory::Far(name.to_owned()), || self.openings.open_far(registered)).await
    }

    async fn lease(
        &self,
        directory: Directory,
        open: impl FnOnce() -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>>,
    ) -> Result<Lease, Failure> {
        let slot = self.slot(&directory)?;
        match slot.owned.get_or_try_init(open).await {
            Ok(owned) => Ok(Lease { workspace: owned.borrow(), _used: Arc::clone(&slot.used) }),
            Err(failure) => {
                // What could not be opened is nobody's place.
                let mut open = self.lock();
                if open.get(&directory).is_some_and(|known| !known.owned.initialized()) {
                    open.remove(&directory);
                }
                Err(failure)
            }
        }
    }

    /// Closes all of them.
    pub async fn close(&self) {
        let all = std::mem::take(&mut *self.lock());
        for slot in all.into_values() {
            close_slot(slot).await;
        }
    }

    fn slot(&self, directory: &Directory) -> Result<Arc<Slot>, Failure> {
        let mut open = self.lock();
        if let Some(slot) = open.get(directory) {
            if !slot.is_lost() {
                return Ok(Arc::clone(slot));
            }
            // Its line is gone for good; whoever still works there hears of it, and the next one calls anew.
            if let Some(lost) = open.remove(directory) {
                tokio::spawn(close_slot(lost));
            }
        }
        if open.len() >= WORKSPACES_OPEN_MAX {
            let idle = open.iter().find(|(_, slot)| Slot::is_idle(slot));
            let Some(unused) = idle.map(|(directory, _)| directory.clone()) else {
                let why = format!("{WORKSPACES_OPEN_MAX} workspaces are in use");
                return Err(Failure::not_started("too_many_workspaces", why));
            };
            if let Some(slot) = open.remove(&unused) {
                tokio::spawn(close_slot(slot));
            }
        }
        let slot = Arc::new(Slot::default());
        open.insert(directory.clone(), Arc::clone(&slot));
        Ok(slot)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Directory, Arc<Slot>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn directory(path: &Path) -> Directory {
    let path = path.to_path_buf();
    // A hung mount holds up a thread of its own, not the runtime.
    let found = tokio::task::spawn_blocking(move || (rustix::fs::stat(&path), path)).await;
    match found {
        Ok((Ok(found), _)) => Directory::Found { dev: found.st_dev, ino: found.st_ino },
        Ok((Err(_), path)) => Directory::Missing(path),
        Err(_) => Directory::Missing(PathBuf::new()),
    }
}

async fn close_slot(slot: Arc<Slot>) {
    // Somebody who is opening it still holds it; then it ends with the process.
    if let Some(owned) = Arc::into_inner(slot).and_then(|slot| slot.owned.into_inner()) {
        owned.close().await;
    }
}

#[cfg(test)]
mod tests;
