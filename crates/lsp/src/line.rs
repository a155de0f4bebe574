//! The line to a server: the pipes of a child, or a socket that somebody else listens on.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::timeout,
};
use vocab::{outcome::Failure, path::WorkspacePath};

use crate::{
    config::{Server, Transport},
    process::Process,
    rpc::{Handler, Peer},
    site::Site,
};

/// A line nobody has spoken on yet.
pub(crate) struct Connected {
    reading: Box<dyn AsyncRead + Send + Unpin>,
    writing: Box<dyn AsyncWrite + Send + Unpin>,
    process: Option<Process>,
}

/// Starts the server, or connects to it.
pub(crate) async fn connect(
    server: &Arc<Server>,
    dir: &WorkspacePath,
    site: &Arc<Site>,
) -> Result<Connected, Failure> {
    let unreachable = |error: std::io::Error| {
        let message = format!("{} cannot be reached: {error}", server.name);
        Failure::not_started("lsp_server_failed", message)
    };
    let late = |_| unreachable(std::io::ErrorKind::TimedOut.into());
    let limit = site.bounds.initialize;
    match &server.transport {
        Transport::Command(program) => {
            let (process, line) = Process::start(server, program.clone(), dir, site).await?;
            let (reading, writing) = (Box::new(line.reading), Box::new(line.writing));
            Ok(Connected { reading, writing, process: Some(process) })
        }
        Transport::Unix(path) => {
            let stream = timeout(limit, UnixStream::connect(path)).await.map_err(late)?;
            let (reading, writing) = stream.map_err(unreachable)?.into_split();
            Ok(Connected { reading: Box::new(reading), writing: Box::new(writing), process: None })
        }
        Transport::Tcp(address) => {
            let stream = timeout(limit, TcpStream::connect(address)).await.map_err(late)?;
            let (reading, writing) = stream.map_err(unreachable)?.into_split();
            Ok(Connected { reading: Box::new(reading), writing: Box::new(writing), process: None })
        }
    }
}

impl Connected {
    /// Begins to speak. A child that ends takes the line along, whoever still holds its other end.
    pub(crate) fn begin(
        self,
        handler: Arc<dyn Handler>,
        send: Duration,
    ) -> (Peer, Option<Process>) {
        let peer = Peer::start(self.reading, self.writing, handler, send);
        if let Some(process) = &self.process {
            let (exit, over) = (process.exit(), peer.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = exit => over.end_after_rest().await,
                    () = over.ended() => {}
                }
            });
        }
        (peer, self.process)
    }
}
