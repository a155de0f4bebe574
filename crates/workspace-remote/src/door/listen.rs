//! Accepts connections, shakes hands with those the door lets in, and hands them to the server.
//!
//! A socket counts against a small budget until it is let in, and has a deadline to get there.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use hyper::{
    Request, body::Incoming, server::conn::http1, service::service_fn, upgrade::OnUpgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use vocab::limits::{
    REMOTE_HANDSHAKE_MS, REMOTE_HEAD_BYTES_MAX, REMOTE_KNOCKS_MAX, REMOTE_SOCKETS_MAX,
};

use super::{Admitted, Door, admitted::Pass};
use crate::server::Serve;

/// Pauses after an accept that failed for want of something: it doubles up to the longest.
const ACCEPT_PAUSE_MS: (u64, u64) = (10, 1_000);

/// Where connections come from.
#[derive(Debug)]
pub enum Listener {
    /// TCP, with TLS where there is a configuration; a later one is for those who come after it.
    Tcp(TcpListener, Option<watch::Receiver<Arc<ServerConfig>>>),
    /// A Unix socket: only processes of our own user are let as far as the door.
    Unix(UnixListener),
}

/// A stream of bytes, whichever.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}
pub(crate) type Line = Box<dyn Duplex>;

/// A socket that nobody was let in on yet.
struct Knock {
    line: Line,
    tls: Option<Arc<ServerConfig>>,
    socket: OwnedSemaphorePermit,
    knock: OwnedSemaphorePermit,
}

/// Lets clients in until it is told to close; then nobody new, and who has not shaken hands yet is let go.
pub async fn serve(listener: Listener, door: Door, server: impl Serve, closing: CancellationToken) {
    let door = Arc::new(door);
    let sockets = Arc::new(Semaphore::new(REMOTE_SOCKETS_MAX));
    let knocks = Arc::new(Semaphore::new(REMOTE_KNOCKS_MAX));
    let mut pause = ACCEPT_PAUSE_MS.0;
    loop {
        let accepted = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let line = match accepted {
            Ok(line) => line,
            // The peer's own fault.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => {
                tracing::warn!(%error, pause, "cannot accept; trying again");
                tokio::select! {
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(Duration::from_millis(pause)) => {}
                }
                pause = (pause * 2).min(ACCEPT_PAUSE_MS.1);
                continue;
            }
        };
        pause = ACCEPT_PAUSE_MS.0;
        let Some((line, tls)) = line else { continue };
        let (Ok(socket), Ok(knock)) =
            (Arc::clone(&sockets).try_acquire_owned(), Arc::clone(&knocks).try_acquire_owned())
        else {
            // Whoever is let go tries again; whoever waits in vain for an answer may not.
            tracing::debug!("a connection was let go: too many are open");
            continue;
        };
        let knock = Knock { line, tls, socket, knock };
        tokio::spawn(welcome(knock, Arc::clone(&door), server.clone(), closing.clone()));
    }
}

impl Listener {
    /// Returns the next socket; none for one of another user.
    async fn accept(&self) -> io::Result<Option<(Line, Option<Arc<ServerConfig>>)>> {
        match self {
            Self::Tcp(listener, tls) => {
                let (stream, _) = listener.accept().await?;
                // Small messages are answers that somebody waits for.
                if stream.set_nodelay(true).is_err() {
                    return Ok(None);
                }
                let tls = tls.as_ref().map(|latest| Arc::clone(&latest.borrow()));
                Ok(Some((Box::new(stream), tls)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let ours = rustix::process::geteuid().as_raw();
                if stream.peer_cred().is_ok_and(|peer| peer.uid() == ours) {
                    return Ok(Some((Box::new(stream), None)));
                }
                tracing::warn!("another user's connection to the socket was closed");
                Ok(None)
            }
        }
    }
}

async fn welcome(knock: Knock, door: Arc<Door>, server: impl Serve, closing: CancellationToken) {
    let limit = Duration::from_millis(REMOTE_HANDSHAKE_MS);
    let shaken = tokio::select! {
        biased;
        () = closing.cancelled() => None,
        shaken = timeout(limit, shake(knock.line, knock.tls, &door)) => shaken.ok().flatten(),
    };
    drop(knock.knock);
    if let Some(line) = shaken {
        server.serve_admitted(line).await;
    }
    drop(knock.socket);
}

async fn shake(line: Line, tls: Option<Arc<ServerConfig>>, door: &Door) -> Option<Admitted> {
    let line: Line = match tls {
        Some(config) => match TlsAcceptor::from(config).accept(line).await {
            Ok(line) => Box::new(line),
            Err(error) => {
                tracing::debug!(%error, "TLS was not agreed on");
                return None;
            }
        },
        None => line,
    };
    let (shaken, upgrade) = oneshot::channel::<(OnUpgrade, Pass)>();
    let shaken = std::sync::Mutex::new(Some(shaken));
    let answer = service_fn(|mut request: Request<Incoming>| {
        let upgrade = hyper::upgrade::on(&mut request);
        let (head, _) = request.into_parts();
        let response = match door.admit(&head) {
            Ok(welcome) => {
                let (response, pass) = welcome.response();
                let mut shaken = shaken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if let Some(shaken) = shaken.take() {
                    shaken.send((upgrade, pass)).ok();
                }
                response
            }
            Err(refusal) => {
                tracing::debug!(status = refusal.status().as_u16(), "a handshake was refused");
                refusal.response()
            }
        };
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(REMOTE_HANDSHAKE_MS))
        .keep_alive(false)
        .max_buf_size(REMOTE_HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(line), answer)
        .with_upgrades();
    http.await.ok()?;
    // Sent before the answer was, if it was sent at all.
    drop(shaken);
    let (upgraded, pass) = upgrade.await.ok()?;
    let parts = upgraded.await.ok()?.downcast::<TokioIo<Line>>().ok()?;
    Some(pass.line(parts.io.into_inner(), &parts.read_buf).await)
}
