//! Serves a workspace to clients: greets, holds what may be taken up again, publishes generations, drains.
//!
//! Who may connect was decided before a line came here, and the line is the proof of that. Each connection is one task's work, and none
//! waits for another.

mod session;
pub mod shared;
mod work;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt, future::BoxFuture};
use stdx::secret::Secret;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{REMOTE_END_MS, REMOTE_GRACE_MS, REMOTE_HANDSHAKE_MS},
    outcome::Failure,
};
use workspace::source::Workspace;

use self::session::Session;
use crate::{
    connection::{
        Served,
        gate::{Gate, Places, Room},
        greeting::{self, First, Offered},
    },
    door::Admitted,
    frame::{CloseStatus, Violation},
    offer,
    protocol::{Closing, Hello, Resume, hello::Program, write},
    transport::{Broken, Said, Transport},
};

/// How a server serves.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// What it offers.
    pub offered: Offered,
    /// How long a connection without a line is held.
    pub grace_ms: u64,
    /// What one connection may take.
    pub connection: Places,
    /// What all may take together.
    pub runtime: Places,
    /// What it calls itself.
    pub program: Program,
}

impl ServerOptions {
    /// Returns the usual ones for a program.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            offered: Offered::default(),
            grace_ms: REMOTE_GRACE_MS,
            connection: Places::of_connection(),
            runtime: Places::of_runtime(),
            program: Program { name: name.to_owned(), version: version.to_owned() },
        }
    }
}

/// What is served at present.
#[derive(Clone)]
struct Present {
    workspace: Arc<dyn Workspace>,
    served: Served,
}

impl Present {
    fn of(workspace: Arc<dyn Workspace>) -> Self {
        let catalog = Arc::new(offer::body(&workspace.catalog()));
        let exec = workspace.exec().is_some();
        Self { workspace, served: Served { catalog, exec } }
    }
}

/// A new line for an old connection.
struct Takeover {
    transport: Transport,
    n_received: u64,
}

/// A connection that may be taken up again.
struct Holder {
    token: Secret,
    door: mpsc::Sender<Takeover>,
}

struct Shared {
    options: ServerOptions,
    gate: Gate,
    present: watch::Sender<Present>,
    held: Mutex<HashMap<String, Holder>>,
    draining: CancellationToken,
    n_lines: watch::Sender<usize>,
}

impl Shared {
    fn held(&self) -> MutexGuard<'_, HashMap<String, Holder>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves one workspace to many clients. Clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("status", &self.status()).finish_non_exhaustive()
    }
}

/// What a server holds at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Connections, held ones included.
    pub connections: u64,
    /// Requests that run.
    pub calls: u64,
    /// Uploads.
    pub uploads: u64,
    /// Downloads.
    pub downloads: u64,
    /// Bytes of writes that are still coming.
    pub gathered: u64,
}

impl Status {
    fn of(gate: &Gate) -> Self {
        let taken = |room| gate.taken(room);
        Self {
            connections: taken(Room::Connections),
            calls: taken(Room::Calls),
            uploads: taken(Room::Uploads),
            downloads: taken(Room::Downloads),
            gathered: taken(Room::Gathered),
        }
    }
}

/// Serves lines that were let in.
pub trait Serve: Clone + Send + Sync + 'static {
    /// Serves one until its connection is over. A connection outlives its line here, for as long as it is held.
    fn serve_admitted(&self, line: Admitted) -> BoxFuture<'static, ()>;
}

impl Serve for Server {
    fn serve_admitted(&self, line: Admitted) -> BoxFuture<'static, ()> {
        self.serve(line)
    }
}

/// Counts a line until it is over.
struct Counted(Arc<Shared>);

impl Counted {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.n_lines.send_modify(|count| *count += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.n_lines.send_modify(|count| *count -= 1);
    }
}

fn resume_refused() -> Violation {
    let message = "there is no such connection to take up again";
    Violation::new(CloseStatus::Policy, "resume_refused", message)
}

fn draining() -> Violation {
    Violation::new(CloseStatus::GoingAway, "draining", "the runtime is about to end")
}

impl Server {
    /// Serves a workspace.
    #[must_use]
    pub fn new(workspace: Arc<dyn Workspace>, options: ServerOptions) -> Self {
        let gate = Gate::new(options.runtime);
        Self::with(workspace, options, gate, CancellationToken::new())
    }

    /// Serves a workspace beside others, with what all may take together.
    fn with(
        workspace: Arc<dyn Workspace>,
        options: ServerOptions,
        gate: Gate,
        draining: CancellationToken,
    ) -> Self {
        Self(Arc::new(Shared {
            options,
            gate,
            present: watch::Sender::new(Present::of(workspace)),
            held: Mutex::default(),
            draining,
            n_lines: watch::Sender::new(0),
        }))
    }

    /// Returns what is held at present.
    #[must_use]
    pub fn status(&self) -> Status {
        Status::of(&self.0.gate)
    }

    /// Tells whether there is no connection, none that is held either.
    fn is_unused(&self) -> bool {
        *self.0.n_lines.borrow() == 0
    }

    /// Tells whether a connection of that name can be taken up again here.
    fn holds(&self, connection: &str) -> bool {
        self.0.held().contains_key(connection)
    }

    /// Publishes the next generation: the same place with another catalog or other services. Every connection is
    /// told in order, and programs of the generation before are ended.
    ///
    /// # Errors
    /// When it is another place; nothing is published then.
    pub fn publish(&self, workspace: Arc<dyn Workspace>) -> Result<(), Failure> {
        let before = Arc::clone(&self.0.present.borrow().workspace);
        if before.id() != workspace.id() || before.root() != workspace.root() {
            let message = "a runtime serves one place for all its life";
            return Err(Failure::not_started("wrong_workspace", message));
        }
        self.0.present.send_replace(Present::of(workspace));
        Ok(())
    }

    /// Serves one line until its connection is over, or hands it to the connection it takes up again. A connection
    /// outlives its line here, for as long as it is held.
    #[must_use]
    pub fn serve(&self, line: impl Into<Admitted>) -> BoxFuture<'static, ()> {
        let server = self.clone();
        let counted = Counted::new(&server.0);
        let mut transport = line.into().into_transport();
        Box::pin(async move {
            let greeted = tokio::select! {
                biased;
                () = server.0.draining.cancelled() => Err(draining()),
                first = first(&mut transport) => first,
            };
            match greeted {
                Ok(Some(First::Hello(hello))) => server.welcome(hello, transport).await,
                Ok(Some(First::Resume(resume))) => server.resume(resume, transport).await,
                Ok(None) => {}
                Err(violation) => refuse(transport, &violation).await,
            }
            drop(counted);
        })
    }

    async fn welcome(&self, hello: Hello, transport: Transport) {
        let agreed = greeting::agree(&hello, &self.0.options.offered);
        let permit = self.0.gate.take(Room::Connections, 1);
        match (agreed, permit) {
            (Ok(agreed), Some(permit)) => {
                Session::open(&self.0, agreed, permit).run(transport).await;
            }
            (Err(violation), _) => refuse(transport, &violation).await,
            (Ok(_), None) => {
                let message = "too many connections at the same time";
                refuse(transport, &Violation::new(CloseStatus::Policy, "busy", message)).await;
            }
        }
    }

    async fn resume(&self, resume: Resume, transport: Transport) {
        let door = {
            let held = self.0.held();
            let holder = held.get(&resume.connection);
            holder
                .filter(|holder| holder.token.matches(resume.token.as_bytes()))
                .map(|holder| holder.door.clone())
        };
        let takeover = Takeover { transport, n_received: resume.received };
        let refused = match door {
            Some(door) => door.send(takeover).await.err().map(|back| back.0),
            None => Some(takeover),
        };
        if let Some(Takeover { transport, .. }) = refused {
            refuse(transport, &resume_refused()).await;
        }
    }

    /// Takes no more lines and requests, ends what runs, tells how, and closes. Returns when all is accounted for
    /// or its time is over. Does not close the workspace.
    #[must_use]
    pub fn drain(&self) -> BoxFuture<'static, ()> {
        self.0.draining.cancel();
        let mut n_lines = self.0.n_lines.subscribe();
        Box::pin(async move {
            let all = n_lines.wait_for(|count| *count == 0);
            drop(tokio::time::timeout(Duration::from_millis(2 * REMOTE_END_MS), all).await);
        })
    }
}

/// Reads the first message of a line; none when the line ends before.
async fn first(transport: &mut Transport) -> Result<Option<First>, Violation> {
    let limit = Duration::from_millis(REMOTE_HANDSHAKE_MS);
    match tokio::time::timeout(limit, transport.incoming.next()).await {
        Ok(Some(Ok(frame))) => greeting::first(&frame).map(Some),
        Ok(Some(Err(Broken::Violation(violation)))) => Err(violation),
        Ok(Some(Err(Broken::Lost(_))) | None) => Ok(None),
        Err(_elapsed) => Err(Violation::new(
            CloseStatus::Policy,
            "handshake_timeout",
            "no greeting came in time",
        )),
    }
}

/// Says why a line is closed, as far as the other side listens.
async fn refuse(mut transport: Transport, violation: &Violation) {
    let Violation { status, code, message } = violation;
    let closing = write(&Closing { code: (*code).to_owned(), message: message.clone() });
    let said = async {
        transport.outgoing.send(Said::Frame(closing)).await?;
        transport.outgoing.send(Said::Close(*status)).await?;
        transport.outgoing.close().await
    };
    // The line is dropped either way.
    drop(tokio::time::timeout(Duration::from_millis(REMOTE_END_MS), said).await);
}
