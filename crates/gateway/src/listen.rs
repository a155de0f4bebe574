//! The doors: the Unix socket and loopback TCP, each with its own accept loop and its own budget of
//! connections, so that a crowd at one door never locks the other.
//!
//! What a request may do is decided by the front, not here. Nothing listens beyond this machine.

use std::{
    fs,
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr},
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use stdx::state_file;
use tokio::{
    net::{TcpListener, UnixListener, UnixStream},
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;
use vocab::limits::{self, SOCKET_PATH_BYTES_MAX};

use crate::{
    listen::{connection::Bounds, stream::Stream},
    mount::Front,
    perimeter::Guest,
};

pub mod connection;
mod control;
pub(crate) mod stream;
pub(crate) mod watched;

/// Pauses after an accept that failed for want of something: it doubles up to the longest.
const ACCEPT_PAUSE_MS: (u64, u64) = (10, 1_000);

/// Where to listen.
#[derive(Debug, Clone)]
pub struct Doors {
    /// The Unix socket's path; its directory is made if it is missing, and checked otherwise. A
    /// socket found there at which nobody listens is a leftover and is replaced.
    pub socket: PathBuf,
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
}

/// Why the doors do not open.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The kernel would cut the path.
    #[error("the socket's path is longer than {SOCKET_PATH_BYTES_MAX} bytes: {0:?}")]
    PathTooLong(PathBuf),
    /// Something that is no socket lies there.
    #[error("{0:?} is in the way and is not a socket")]
    InTheWay(PathBuf),
    /// Somebody listens there: the lock of our state says nothing of the daemons of others.
    #[error("another process listens at the socket {0:?}")]
    InUse(PathBuf),
    /// The Unix socket cannot be made.
    #[error("cannot listen on the socket {path:?}")]
    Socket {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The port cannot be taken.
    #[error("cannot listen on port {port} of 127.0.0.1")]
    Port {
        /// The port.
        port: u16,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl ListenError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::PathTooLong(_) => "socket_path_too_long",
            Self::InTheWay(_) => "socket_path_taken",
            Self::InUse(_) => "socket_in_use",
            Self::Socket { .. } => "socket_unavailable",
            Self::Port { .. } => "port_unavailable",
        }
    }
}

/// Ends what the doors let in, in two steps.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Nobody new; requests that work go on, and so do the streams of runs.
    closing: CancellationToken,
    /// Everybody out.
    cutting: CancellationToken,
}

impl Shutdown {
    /// Returns a shutdown that nobody asked for yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Refuses new connections, and closes the others as they become idle.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Returns the token of the first step: streams that never end by themselves end with it.
    #[must_use]
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}

/// The open doors. Dropping it leaves them open; [`Server::drain`] closes them.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    socket: PathBuf,
    inode: (u64, u64),
    shutdown: Shutdown,
    loops: Vec<JoinHandle<usize>>,
}

impl Server {
    /// Opens both doors and serves until it is drained.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    pub async fn open(
        doors: Doors,
        front: Arc<Front>,
        bounds: Bounds,
        shutdown: Shutdown,
    ) -> Result<Self, ListenError> {
        let unix = bind_socket(&doors.socket).await?;
        let named = |source| ListenError::Socket { path: doors.socket.clone(), source };
        let meta = fs::symlink_metadata(&doors.socket).map_err(named)?;
        let port = |source| ListenError::Port { port: doors.port, source };
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, doors.port)).await.map_err(port)?;
        let address = tcp.local_addr().map_err(port)?;
        let bounds = Arc::new(bounds);
        let loops = [Door::Socket(unix), Door::Tcp(tcp)].map(|door| {
            let hall = Hall {
                front: front.clone(),
                bounds: bounds.clone(),
                shutdown: shutdown.clone(),
                seats: Arc::new(Semaphore::new(bounds.connections)),
                surplus: Arc::new(Semaphore::new(bounds.refused)),
            };
            tokio::spawn(hall.serve(door))
        });
        let inode = (meta.dev(), meta.ino());
        Ok(Self { address, socket: doors.socket, inode, shutdown, loops: loops.into() })
    }

    /// Returns the loopback address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the Unix socket's path.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Closes the doors, waits until everybody left or the deadline passed, and cuts who is left.
    /// Returns how many were cut.
    pub async fn drain(self, deadline: Duration) -> usize {
        self.shutdown.close();
        // The name goes first, so that nobody new finds a door that does not answer. Another daemon's
        // socket under the same name is left alone.
        let ours = fs::symlink_metadata(&self.socket)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) == self.inode);
        if ours && let Err(error) = state_file::remove(&self.socket) {
            tracing::warn!(%error, "the socket could not be removed");
        }
        let cutting = self.shutdown.cutting.clone();
        let watch = tokio::spawn(async move {
            tokio::time::sleep(deadline).await;
            cutting.cancel();
        });
        let mut cut = 0;
        for each in self.loops {
            cut += each.await.unwrap_or(0);
        }
        watch.abort();
        cut
    }
}

/// Makes a private socket. One found there at which nobody listens is a leftover and is replaced.
///
/// # Errors
/// When it cannot be made, or somebody listens there.
pub async fn bind_socket(path: &Path) -> Result<UnixListener, ListenError> {
    let named = |source| ListenError::Socket { path: path.to_owned(), source };
    if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
        return Err(ListenError::PathTooLong(path.to_owned()));
    }
    if let Some(parent) = path.parent() {
        state_file::ensure_dir(parent).map_err(named)?;
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_socket() => match UnixStream::connect(path).await {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                state_file::remove(path).map_err(named)?;
            }
            // It went meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // Also one whose queue is full: somebody listens there and is busy.
            Ok(_) | Err(_) => return Err(ListenError::InUse(path.to_owned())),
        },
        Ok(_) => return Err(ListenError::InTheWay(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(named(error)),
    }
    let listener = UnixListener::bind(path).map_err(named)?;
    // Until this takes effect the private directory keeps others out.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(named)?;
    Ok(listener)
}

enum Door {
    Socket(UnixListener),
    Tcp(TcpListener),
}

impl Door {
    /// Returns the next connection; none for one that is not let in.
    async fn accept(&self) -> io::Result<Option<(Stream, Guest)>> {
        match self {
            Self::Socket(listener) => {
                let (stream, _) = listener.accept().await?;
                let guest = Guest::of_socket(&stream);
                if guest.is_none() {
                    tracing::warn!("another user's connection to the socket was closed");
                }
                Ok(guest.map(|guest| (Stream::Unix(stream), guest)))
            }
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Some((Stream::Tcp(stream), Guest::Tcp)))
            }
        }
    }
}

/// What one door's connections share.
struct Hall {
    front: Arc<Front>,
    bounds: Arc<Bounds>,
    shutdown: Shutdown,
    seats: Arc<Semaphore>,
    surplus: Arc<Semaphore>,
}

impl Hall {
    /// Serves one door until it is closed and empty; returns how many connections were cut.
    async fn serve(self, door: Door) -> usize {
        let mut guests = JoinSet::new();
        let mut pause = ACCEPT_PAUSE_MS.0;
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.shutdown.closing.cancelled() => break,
                Some(_) = guests.join_next(), if !guests.is_empty() => continue,
                accepted = door.accept() => accepted,
            };
            match accepted {
                Ok(Some((stream, guest))) => {
                    pause = ACCEPT_PAUSE_MS.0;
                    self.seat(&mut guests, stream, guest);
                }
                Ok(None) => {}
                Err(error) if is_the_peers_fault(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, pause, "cannot accept; trying again");
                    tokio::select! {
                        () = self.shutdown.closing.cancelled() => break,
                        () = tokio::time::sleep(Duration::from_millis(pause)) => {}
                    }
                    pause = (pause * 2).min(ACCEPT_PAUSE_MS.1);
                }
            }
        }
        drop(door);
        loop {
            tokio::select! {
                biased;
                left = guests.join_next() => if left.is_none() { return 0 },
                () = self.shutdown.cutting.cancelled() => break,
            }
        }
        let cut = guests.len();
        guests.shutdown().await;
        cut
    }

    fn seat(&self, guests: &mut JoinSet<()>, stream: Stream, guest: Guest) {
        match self.seats.clone().try_acquire_owned() {
            Ok(seat) => {
                let (front, bounds) = (self.front.clone(), self.bounds.clone());
                let closing = self.shutdown.closing.clone();
                guests.spawn(async move {
                    connection::serve(stream, guest, front, &bounds, closing).await;
                    drop(seat);
                });
            }
            Err(_) => {
                let Ok(standing) = self.surplus.clone().try_acquire_owned() else {
                    stream.say_and_close(&connection::no_seat());
                    return;
                };
                let bounds = self.bounds.clone();
                guests.spawn(async move {
                    connection::turn_away(stream, &bounds).await;
                    drop(standing);
                });
            }
        }
    }
}

/// Tells whether an accept failed because the peer was gone already; the next one may work at once.
fn is_the_peers_fault(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::Interrupted
            | ErrorKind::NotConnected
            | ErrorKind::InvalidInput
    )
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: limits::CONNECTIONS_MAX,
            refused: limits::CONNECTIONS_REFUSED_MAX,
            head_read: Duration::from_millis(limits::HEAD_READ_MS_MAX),
            stall: Duration::from_millis(limits::STREAM_STALL_MS_MAX),
            linger: Duration::from_millis(limits::LINGER_MS_MAX),
        }
    }
}

#[cfg(test)]
mod tests;
