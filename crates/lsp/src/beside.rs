//! A workspace and its language servers under one owner.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use vocab::place::Link;
use workspace::{
    joined::Joined,
    source::{OwnedWorkspace, Workspace},
};

use crate::serve::Lsp;

/// A workspace with its language servers.
pub(crate) struct Beside {
    pub(crate) owner: Box<dyn OwnedWorkspace>,
    pub(crate) lsp: Lsp,
}

impl OwnedWorkspace for Beside {
    fn borrow(&self) -> Arc<dyn Workspace> {
        Arc::new(Joined::new(self.owner.borrow(), Arc::new(self.lsp.clone())))
    }

    fn is_busy(&self) -> bool {
        self.owner.is_busy()
    }

    fn link(&self) -> Link {
        self.owner.link()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.lsp.close().await;
            self.owner.close().await;
        })
    }
}
