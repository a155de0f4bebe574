//! One workspace, or those below a parent: what a runtime serves, alike for whoever begins and ends it.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use workspace::source::OwnedWorkspace;
use workspace_remote::{
    door::{
        Admitted, Door,
        listen::{self, Listener},
    },
    server::{Serve as _, Server, shared::SharedServer},
};

/// What it serves.
pub(super) enum Served {
    One(Server, Box<dyn OwnedWorkspace>),
    Shared(SharedServer, PathBuf),
}

impl Served {
    pub(super) fn serve(&self, line: Admitted) -> BoxFuture<'static, ()> {
        match self {
            Self::One(server, _) => server.serve_admitted(line),
            Self::Shared(server, _) => server.serve_admitted(line),
        }
    }

    pub(super) fn listen(
        &self,
        listener: Listener,
        door: Door,
        closing: CancellationToken,
    ) -> tokio::task::JoinHandle<()> {
        match self {
            Self::One(server, _) => {
                tokio::spawn(listen::serve(listener, door, server.clone(), closing))
            }
            Self::Shared(server, _) => {
                tokio::spawn(listen::serve(listener, door, server.clone(), closing))
            }
        }
    }

    pub(super) fn drain(&self) -> BoxFuture<'static, ()> {
        match self {
            Self::One(server, _) => server.drain(),
            Self::Shared(server, _) => server.drain(),
        }
    }

    pub(super) async fn close(self) {
        match self {
            Self::One(_, owner) => owner.close().await,
            Self::Shared(server, _) => server.close().await,
        }
    }
}
