//! Serves the workspaces below one parent: each connection says which, and sees that one alone.
//!
//! A channel is a server of its own, with its own catalog, connections to take up again, and files; only what all may
//! take together is shared. Which directory a channel is, and whether it may be one, is its source's business.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::{BoxFuture, join_all};
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{REMOTE_CHANNEL_BYTES_MAX, REMOTE_CHANNELS_MAX, REMOTE_END_MS},
    outcome::Failure,
};
use workspace::source::OwnedWorkspace;

use super::{Counted, Serve, Server, ServerOptions, Status, first, refuse};
use crate::{
    connection::{gate::Gate, greeting::First},
    door::Admitted,
    frame::{CloseStatus, Violation},
    protocol::{Resume, capability},
    transport::Transport,
};

/// Opens the workspace of a channel.
pub trait Channels: Send + Sync {
    /// Opens one. The name is plain: letters, digits, `-`, `_` and `.`, and no dot first.
    fn open(
        &self,
        channel: &str,
        generation: u64,
    ) -> BoxFuture<'static, Result<Box<dyn OwnedWorkspace>, Failure>>;
}

/// A channel that is open.
struct Room {
    server: Server,
    owner: Box<dyn OwnedWorkspace>,
}

struct Hall {
    source: Arc<dyn Channels>,
    options: ServerOptions,
    gate: Gate,
    rooms: Mutex<HashMap<String, Room>>,
    generation: AtomicU64,
    draining: CancellationToken,
    n_lines: watch::Sender<usize>,
}

/// Serves a channel to each client. Clones are the same server.
#[derive(Clone)]
pub struct SharedServer(Arc<Hall>);

impl std::fmt::Debug for SharedServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedServer").finish_non_exhaustive()
    }
}

/// Counts a line until it is over.
struct Line(Arc<Hall>);

impl Drop for Line {
    fn drop(&mut self) {
        self.0.n_lines.send_modify(|count| *count -= 1);
    }
}

fn refusal(code: &'static str, message: &str) -> Violation {
    Violation::new(CloseStatus::Policy, code, message)
}

/// Tells whether a text names a channel.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=REMOTE_CHANNEL_BYTES_MAX).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('.')
}

impl SharedServer {
    /// Serves what a source opens. Transfers are not offered.
    #[must_use]
    pub fn new(source: Arc<dyn Channels>, mut options: ServerOptions) -> Self {
        options.offered.capabilities.retain(|known| *known != capability::TRANSFER);
        options.offered.capabilities.push(capability::CHANNEL);
        let gate = Gate::new(options.runtime);
        Self(Arc::new(Hall {
            source,
            options,
            gate,
            rooms: Mutex::default(),
            generation: AtomicU64::new(1),
            draining: CancellationToken::new(),
            n_lines: watch::Sender::new(0),
        }))
    }

    /// Publishes the next generation of every open channel, once all of them could be opened anew. Channels that are
    /// opened later are of it as well.
    ///
    /// # Errors
    /// When one cannot be opened; all stay as they are then.
    pub async fn reload(&self) -> Result<u64, Failure> {
        let mut rooms = self.0.rooms.lock().await;
        let next = self.0.generation.load(Ordering::SeqCst) + 1;
        let mut opened = Vec::new();
        let mut failed = None;
        for name in rooms.keys() {
            match self.0.source.open(name, next).await {
                Ok(owner) => opened.push((name.clone(), owner)),
                Err(failure) => {
                    failed = Some(failure);
                    break;
                }
            }
        }
        if let Some(failure) = failed {
            join_all(opened.into_iter().map(|(_, owner)| owner.close())).await;
            return Err(failure);
        }
        for (name, owner) in opened {
            let Some(room) = rooms.get_mut(&name) else { continue };
            // Another place under the old name keeps the old one until nobody is there.
            if room.server.publish(owner.borrow()).is_err() {
                tokio::spawn(owner.close());
                continue;
            }
            tokio::spawn(std::mem::replace(&mut room.owner, owner).close());
        }
        self.0.generation.store(next, Ordering::SeqCst);
        Ok(next)
    }

    /// Takes no more lines and requests, ends what runs, tells how, and closes all channels. Returns when all is
    /// accounted for or its time is over.
    #[must_use]
    pub fn drain(&self) -> BoxFuture<'static, ()> {
        self.0.draining.cancel();
        let mut n_lines = self.0.n_lines.subscribe();
        Box::pin(async move {
            let all = n_lines.wait_for(|count| *count == 0);
            drop(tokio::time::timeout(Duration::from_millis(2 * REMOTE_END_MS), all).await);
        })
    }

    /// Closes the workspaces of all channels.
    pub async fn close(&self) {
        let rooms: Vec<Room> = self.0.rooms.lock().await.drain().map(|(_, room)| room).collect();
        join_all(rooms.into_iter().map(|room| room.owner.close())).await;
    }

    /// Returns what all channels hold at present.
    #[must_use]
    pub fn status(&self) -> Status {
        Status::of(&self.0.gate)
    }

    /// Returns the server of a channel, opened first if nobody did. It is in use from here on, so that it makes room for
    /// nobody.
    async fn room(&self, channel: Option<&str>) -> Result<(Server, Counted), Violation> {
        let Some(name) = channel else {
            let message = "this runtime serves several workspaces: the greeting says which";
            return Err(refusal("channel_required", message));
        };
        if !is_plain(name) {
            let message = "a channel has letters, digits, '-', '_' and '.', and no dot first";
            return Err(refusal("channel_invalid", message));
        }
        let mut rooms = self.0.rooms.lock().await;
        if let Some(room) = rooms.get(name) {
            return Ok((room.server.clone(), Counted::new(&room.server.0)));
        }
        if rooms.len() >= REMOTE_CHANNELS_MAX {
            let idle = rooms.iter().find(|(_, room)| room.server.is_unused());
            let Some(idle) = idle.map(|(name, _)| name.clone()) else {
                return Err(refusal("busy", "too many channels are in use"));
            };
            if let Some(room) = rooms.remove(&idle) {
                tokio::spawn(room.owner.close());
            }
        }
        let generation = self.0.generation.load(Ordering::SeqCst);
        let opened = self.0.source.open(name, generation).await;
        // Whether it is missing, a file or a link is nobody's business who does not know it.
        let owner = opened.map_err(|failure| {
            tracing::info!(channel = name, %failure, "a channel was not opened");
            refusal("channel_not_found", "there is no such channel")
        })?;
        let draining = self.0.draining.child_token();
        let options = self.0.options.clone();
        let server = Server::with(owner.borrow(), options, self.0.gate.clone(), draining);
        let counted = Counted::new(&server.0);
        rooms.insert(name.to_owned(), Room { server: server.clone(), owner });
        Ok((server, counted))
    }

    /// Returns the server whose connection is to be taken up again.
    async fn holder(&self, resume: &Resume) -> Option<Server> {
        let rooms = self.0.rooms.lock().await;
        let found = rooms.values().find(|room| room.server.holds(&resume.connection));
        found.map(|room| room.server.clone())
    }

    async fn serve_line(&self, mut transport: Transport) -> Result<(), (Transport, Violation)> {
        let greeted = tokio::select! {
            biased;
            () = self.0.draining.cancelled() => Err(super::draining()),
            first = first(&mut transport) => first,
        };
        match greeted {
            Ok(Some(First::Hello(mut hello))) => {
                // What the two agree on says nothing of channels: that is settled here.
                let channel = hello.channel.take();
                let agreed =
                    hello.capabilities.required.iter().any(|name| name == capability::CHANNEL);
                let room = match (agreed, channel) {
                    (false, Some(_)) => {
                        let message = "who names a channel requires the capability for it";
                        Err(refusal("channel_not_supported", message))
                    }
                    (_, channel) => self.room(channel.as_deref()).await,
                };
                match room {
                    Ok((server, counted)) => {
                        server.welcome(hello, transport).await;
                        drop(counted);
                    }
                    Err(violation) => return Err((transport, violation)),
                }
            }
            Ok(Some(First::Resume(resume))) => match self.holder(&resume).await {
                Some(server) => server.resume(resume, transport).await,
                None => return Err((transport, super::resume_refused())),
            },
            Ok(None) => {}
            Err(violation) => return Err((transport, violation)),
        }
        Ok(())
    }
}

impl Serve for SharedServer {
    fn serve_admitted(&self, line: Admitted) -> BoxFuture<'static, ()> {
        let server = self.clone();
        self.0.n_lines.send_modify(|count| *count += 1);
        let counted = Line(Arc::clone(&self.0));
        Box::pin(async move {
            if let Err((transport, violation)) = server.serve_line(line.into_transport()).await {
                refuse(transport, &violation).await;
            }
            drop(counted);
        })
    }
}
