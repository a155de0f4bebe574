//! A server and a client in one process, with a line of choice between them.

use std::sync::Arc;

use tempfile::TempDir;
use vocab::tool::ToolSpec;
use workspace::{
    fake::Fake,
    grant::{ExecGrant, Grants},
    source::{OwnedWorkspace, ToolSource, Workspace},
};
use workspace_local::{LocalWorkspace, Options};

use crate::{
    client::{ClientOptions, ConnectError, Connector, RemoteOwner, RemoteWorkspace},
    door::Admitted,
    protocol::{capability, hello::Wishes},
    server::{Server, ServerOptions},
    transport::{self, Transport, memory::Cut},
};

/// How the two are joined.
#[derive(Debug, Clone)]
pub(super) enum Wire {
    /// Messages in memory, which may break.
    Memory(Cut),
    /// Bytes through the codec.
    Bytes,
}

impl Wire {
    fn open(&self) -> (Transport, Admitted) {
        match self {
            Self::Memory(cut) => {
                let (client, server) = transport::memory::breaking_pair(cut);
                (client, server.into())
            }
            Self::Bytes => {
                let (client, server) = tokio::io::duplex(64 * 1024);
                let (reader, writer) = tokio::io::split(server);
                let server = Admitted::pipes(reader, writer);
                let (reader, writer) = tokio::io::split(client);
                (transport::stream::transport(reader, writer), server)
            }
        }
    }
}

pub(super) fn server(workspace: Arc<dyn Workspace>) -> Server {
    Server::new(workspace, ServerOptions::new("test-server", "1"))
}

/// Opens lines to a server, each served by a task.
pub(super) fn connector(server: &Server, wire: &Wire) -> Connector {
    let (server, wire) = (server.clone(), wire.clone());
    Arc::new(move || {
        let (client, served) = wire.open();
        let server = server.clone();
        tokio::spawn(async move { server.serve(served).await });
        Box::pin(std::future::ready(Ok(client)))
    })
}

pub(super) fn known(workspace: &dyn ToolSource) -> Vec<Arc<ToolSpec>> {
    workspace.catalog().tools().to_vec()
}

pub(super) fn options(workspace: &dyn ToolSource) -> ClientOptions {
    ClientOptions::new("test-client", "1", known(workspace))
}

pub(super) fn without_resume(mut options: ClientOptions) -> ClientOptions {
    options.wishes = Wishes { required: Vec::new(), optional: vec![capability::TRANSFER.into()] };
    options
}

/// Joins a client to a workspace through a server.
pub(super) async fn join(workspace: Arc<dyn Workspace>, wire: &Wire) -> RemoteOwner {
    let options = options(&*workspace);
    connect(&connector(&server(workspace), wire), &options).await
}

/// Connects; a line that breaks within the greeting is no connection yet, so it is tried again.
pub(super) async fn connect(connector: &Connector, options: &ClientOptions) -> RemoteOwner {
    let connect = || RemoteWorkspace::connect(Arc::clone(connector), options.clone());
    match connect().await {
        Ok(remote) => remote,
        Err(ConnectError::Unreachable(_)) => connect().await.unwrap(),
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn fake() -> Arc<dyn Workspace> {
    Arc::new(Fake::default())
}

/// A directory that is served, with programs.
pub(super) struct Local {
    root: TempDir,
    _artifacts: TempDir,
    pub(super) owner: Box<dyn OwnedWorkspace>,
}

impl Local {
    pub(super) fn open() -> Self {
        let root = tempfile::tempdir().unwrap();
        let artifacts = tempfile::tempdir().unwrap();
        let mut options = Options::new(root.path(), artifacts.path().join("a"));
        options.grants = Grants { exec: Some(ExecGrant::by_owner()), mounts: true };
        let owner = LocalWorkspace::open(options).unwrap();
        Self { root, _artifacts: artifacts, owner }
    }

    /// Moves something that is there, and nothing that is not.
    #[expect(clippy::disallowed_methods, reason = "looks at the real directory that is served")]
    pub(super) fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.root.path().join(from), self.root.path().join(to)).ok();
    }
}
