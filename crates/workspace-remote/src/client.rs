//! A workspace that is served elsewhere: the same seam, whatever lies between.
//!
//! How a line is opened, and with which credentials, is the connector's. What cannot be known after a lost line is
//! said to be indeterminate; nothing that may have changed something is ever asked twice.

mod call;
mod core;
mod driver;
mod heard;
mod link;
mod pending;
mod primitive;
mod transfer;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use vocab::{
    outcome::{Effect, Failure},
    place::Link as PlaceLink,
    tool::ToolSpec,
};
use workspace::source::{OwnedWorkspace, Workspace};

use self::link::Link;
use crate::{
    frame::Violation,
    protocol::{
        capability,
        hello::{Place, Program, Wishes},
    },
    transport::Transport,
};

/// Opens a new line to the same server.
pub type Connector =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Transport, ConnectError>> + Send + Sync>;

/// Why there is no connection.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConnectError {
    /// No line could be opened.
    #[error("the workspace cannot be reached: {0}")]
    Unreachable(String),
    /// The server does not let us in, or has nothing in common with us.
    #[error("the workspace refuses the connection: {message}")]
    Refused {
        /// Its code.
        code: String,
        /// Its words.
        message: String,
    },
    /// What the server says is none of the protocol.
    #[error("the other side does not speak this protocol: {0}")]
    Protocol(#[from] Violation),
    /// It serves another place than expected.
    #[error("the workspace there is {found}, not {expected}")]
    WrongPlace {
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
}

impl ConnectError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::Refused { code, .. } => code,
            Self::Protocol(violation) => violation.code,
            Self::WrongPlace { .. } => "wrong_workspace",
        }
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        Self::not_started(error.code(), error.to_string())
    }
}

/// What a client wants of a server.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The tools this program was compiled with; of the server's, only these are offered.
    pub known: Vec<Arc<ToolSpec>>,
    /// Optional behavior.
    pub wishes: Wishes,
    /// What it calls itself.
    pub program: Program,
    /// The root that must be served, if one was agreed on beforehand.
    pub expected_root: Option<String>,
    /// Which workspace below a shared parent is meant, where the runtime serves several.
    pub channel: Option<String>,
}

impl ClientOptions {
    /// Returns the usual ones for a program.
    #[must_use]
    pub fn new(name: &str, version: &str, known: Vec<Arc<ToolSpec>>) -> Self {
        let optional = capability::ALL.iter().map(|&wish| wish.to_owned()).collect();
        Self {
            known,
            wishes: Wishes { required: Vec::new(), optional },
            program: Program { name: name.to_owned(), version: version.to_owned() },
            expected_root: None,
            channel: None,
        }
    }
}

/// A workspace behind a wire. Clones are the same workspace.
#[derive(Clone)]
pub struct RemoteWorkspace(Arc<Link>);

impl std::fmt::Debug for RemoteWorkspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteWorkspace").field("place", self.0.place()).finish_non_exhaustive()
    }
}

/// How a remote workspace is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connected {
    /// There is a line.
    Yes,
    /// The line is lost and is being taken up again.
    Resuming,
    /// There is none; the next request opens one.
    No,
}

impl RemoteWorkspace {
    /// Connects, and goes on connecting whenever it is needed. Must be called within a runtime.
    ///
    /// # Errors
    /// When the first connection cannot be had.
    #[must_use]
    pub fn connect(
        connector: Connector,
        options: ClientOptions,
    ) -> BoxFuture<'static, Result<RemoteOwner, ConnectError>> {
        Box::pin(async move {
            let (link, driver) = driver::start(connector, options).await?;
            Ok(RemoteOwner { workspace: Self(link), driver: Some(driver) })
        })
    }

    /// Returns what is served.
    #[must_use]
    pub fn place(&self) -> &Place {
        self.0.place()
    }

    /// Tells how it is connected at present.
    #[must_use]
    pub fn connected(&self) -> Connected {
        self.0.connected()
    }
}

/// The one who may close a remote workspace.
#[derive(Debug)]
pub struct RemoteOwner {
    workspace: RemoteWorkspace,
    driver: Option<tokio::task::JoinHandle<()>>,
}

impl RemoteOwner {
    /// Returns a handle that also tells of the connection.
    #[must_use]
    pub fn workspace(&self) -> RemoteWorkspace {
        self.workspace.clone()
    }
}

impl Drop for RemoteOwner {
    fn drop(&mut self) {
        self.workspace.0.close();
    }
}

impl OwnedWorkspace for RemoteOwner {
    fn borrow(&self) -> Arc<dyn Workspace> {
        Arc::new(self.workspace.clone())
    }

    fn is_busy(&self) -> bool {
        self.workspace.0.core().is_busy()
    }

    fn link(&self) -> PlaceLink {
        match self.workspace.connected() {
            Connected::Yes => PlaceLink::Connected,
            Connected::Resuming => PlaceLink::Resuming,
            Connected::No => PlaceLink::Lost,
        }
    }

    fn close(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        self.workspace.0.close();
        let driver = self.driver.take();
        Box::pin(async move {
            if let Some(driver) = driver {
                // A driver that failed has nothing left to close.
                driver.await.unwrap_or(());
            }
        })
    }
}

/// What a server said that has not the shape of what was asked.
fn unreadable() -> Failure {
    let message = "the workspace answered in a shape that was not asked for";
    Failure::new("protocol_error", Effect::Indeterminate, message)
}
