//! Registered places and the open ones among them. How a kind is opened is the composer's business.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use tokio::sync::Mutex;
use vocab::{limits::WORKSPACES_OPEN_MAX, outcome::Failure};
use workspace::source::{OwnedWorkspace, Workspace};

/// A registered place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: PathBuf,
}

/// Opens workspaces of the kinds there are. The daemon never names one.
pub trait Openings: Send + Sync {
    /// Opens the local directory at `path`.
    fn open_local(
        &self,
        path: PathBuf,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>>;

    /// Returns the registered places, as the configuration names them now.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    fn registered(&self) -> Result<Vec<Registered>, Failure>;
}

/// The open workspaces; the daemon owns them all, everybody else borrows.
pub struct Workspaces {
    openings: Arc<dyn Openings>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    places: BTreeMap<PathBuf, Opened>,
    /// Places whose directory is another one now, kept until nobody works there any more.
    left: Vec<Box<dyn OwnedWorkspace>>,
}

struct Opened {
    owned: Box<dyn OwnedWorkspace>,
    directory: Option<(u64, u64)>,
}

/// Tells which directory stands at a path. One that was removed and made again is another one.
fn directory(path: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::stat(path).ok()?;
    Some((found.st_dev, found.st_ino))
}

fn idle(owned: &dyn OwnedWorkspace) -> bool {
    Arc::strong_count(&owned.borrow()) <= 2
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
        Self { openings, open: Mutex::default() }
    }

    /// Finds a registered place by name.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn find(&self, name: &str) -> Result<Registered, Failure> {
        let all = self.openings.registered()?;
        all.iter().find(|place| place.name == name).cloned().ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|place| place.name.as_str()).collect();
            let hint = if known.is_empty() {
                "no workspace is configured; name a directory with -C, or add [workspaces.NAME]"
                    .to_owned()
            } else {
                format!("known workspaces: {}", known.join(", "))
            };
            Failure::not_started("workspace_not_found", format!("no workspace is named {name:?}"))
                .with_hint(hint)
        })
    }

    /// Borrows the workspace at a directory, opening it first if nobody did, or if another directory
    /// stands there now.
    ///
    /// # Errors
    /// When it cannot be opened, or too many are open.
    pub async fn at(&self, path: &Path) -> Result<Arc<dyn Workspace>, Failure> {
        let mut open = self.open.lock().await;
        let directory = directory(path);
        let known = open.places.get(path).filter(|known| known.directory == directory);
        if let (Some(known), Some(_)) = (known, directory) {
            return Ok(known.owned.borrow());
        }
        open.leave(path);
        open.make_room().await?;
        let owned = self.openings.open_local(path.to_path_buf()).await?;
        let borrowed = owned.borrow();
        open.places.insert(path.to_path_buf(), Opened { owned, directory });
        Ok(borrowed)
    }

    /// Closes all of them.
    pub async fn close(&self) {
        let all = std::mem::take(&mut *self.open.lock().await);
        for owned in all.places.into_values().map(|opened| opened.owned).chain(all.left) {
            owned.close().await;
        }
    }
}

impl Open {
    fn leave(&mut self, path: &Path) {
        if let Some(opened) = self.places.remove(path) {
            self.left.push(opened.owned);
        }
    }

    /// Closes what nobody uses: all that was left, and one place more where there are too many.
    async fn make_room(&mut self) -> Result<(), Failure> {
        let (unused, used) =
            std::mem::take(&mut self.left).into_iter().partition(|owned| idle(owned.as_ref()));
        self.left = used;
        let unused: Vec<Box<dyn OwnedWorkspace>> = unused;
        for owned in unused {
            owned.close().await;
        }
        if self.places.len() + self.left.len() < WORKSPACES_OPEN_MAX {
            return Ok(());
        }
        let mut places = self.places.iter();
        let unused = places.find(|(_, opened)| idle(opened.owned.as_ref()));
        let Some(path) = unused.map(|(path, _)| path.clone()) else {
            let why = format!("{WORKSPACES_OPEN_MAX} workspaces are in use");
            return Err(Failure::not_started("too_many_runs", why));
        };
        if let Some(opened) = self.places.remove(&path) {
            opened.owned.close().await;
        }
        Ok(())
    }
}
