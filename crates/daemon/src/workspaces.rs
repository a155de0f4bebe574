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
    open: Mutex<BTreeMap<PathBuf, Box<dyn OwnedWorkspace>>>,
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
        Self { openings, open: Mutex::new(BTreeMap::new()) }
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

    /// Borrows the workspace at a directory, opening it first if nobody did.
    ///
    /// # Errors
    /// When it cannot be opened, or too many are open.
    pub async fn at(&self, path: &Path) -> Result<Arc<dyn Workspace>, Failure> {
        let mut open = self.open.lock().await;
        if let Some(owned) = open.get(path) {
            return Ok(owned.borrow());
        }
        if open.len() >= WORKSPACES_OPEN_MAX {
            let idle = open.iter().find(|(_, owned)| Arc::strong_count(&owned.borrow()) <= 2);
            let Some(path) = idle.map(|(path, _)| path.clone()) else {
                let why = format!("{WORKSPACES_OPEN_MAX} workspaces are in use");
                return Err(Failure::not_started("too_many_workspaces", why)
                    .with_hint("end a run that works in another place"));
            };
            if let Some(owned) = open.remove(&path) {
                owned.close().await;
            }
        }
        let owned = self.openings.open_local(path.to_path_buf()).await?;
        let borrowed = owned.borrow();
        open.insert(path.to_path_buf(), owned);
        Ok(borrowed)
    }

    /// Closes all of them.
    pub async fn close(&self) {
        let all = std::mem::take(&mut *self.open.lock().await);
        for (_, owned) in all {
            owned.close().await;
        }
    }
}

#[cfg(test)]
mod tests;
