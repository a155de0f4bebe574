//! The workspaces below a shared parent: each is a directory of it, and never what a link leads to.

#![expect(clippy::disallowed_methods, reason = "makes a directory for outputs, beside every root")]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use confine::{Kind, Root, RootOptions};
use futures_util::future::BoxFuture;
use vocab::{outcome::Failure, path::display_name};
use workspace::source::OwnedWorkspace;
use workspace_remote::server::shared::Channels;

use super::{open_place, settings::Settings};

/// Opens channels.
pub(super) struct Below {
    settings: Arc<Settings>,
    parent: Root,
    outputs: PathBuf,
}

impl Below {
    pub(super) fn open(
        parent: &Path,
        settings: Arc<Settings>,
        outputs: &Path,
    ) -> Result<Self, Failure> {
        let mounts = settings.permits.allow_mounts;
        let options = RootOptions { mounts, ..RootOptions::default() };
        let parent = Root::open(parent, options)?;
        Ok(Self { settings, parent, outputs: outputs.to_path_buf() })
    }

    /// Returns the parent as people write it.
    pub(super) fn root(&self) -> PathBuf {
        self.parent.real().to_path_buf()
    }
}

impl Channels for Below {
    fn open(
        &self,
        channel: &str,
        generation: u64,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>> {
        let (settings, parent, channel) =
            (Arc::clone(&self.settings), self.parent.clone(), channel.to_owned());
        // Outputs of one channel lie where no other looks.
        let outputs = self.outputs.join(&channel);
        let opening = tokio::task::spawn_blocking(move || {
            let path = parent.parse(&channel)?;
            if parent.lstat(&path)?.kind != Kind::Dir {
                let message = format!("{channel} is no directory");
                return Err(Failure::not_started("not_a_directory", message));
            }
            let dir = parent.open_dir(&path)?;
            std::fs::create_dir_all(&outputs)
                .map_err(|error| Failure::not_started("io", error.to_string()))?;
            let real = parent.real().join(&channel);
            let owner = open_place(&settings, real.clone(), &outputs, generation)?;
            // Opened by its path: what stands there must be what was looked at, reached through no link.
            let is_same = owner.borrow().root() == display_name(real.as_os_str())
                && parent.open_dir(&path)?.id() == dir.id();
            if is_same {
                return Ok(owner);
            }
            let message = format!("{channel} changed while it was opened");
            Err(Failure::not_started("path_changed", message))
        });
        Box::pin(async move {
            opening.await.unwrap_or_else(|_lost| {
                Err(Failure::not_started("internal", "the channel could not be opened"))
            })
        })
    }
}
