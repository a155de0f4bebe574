//! What carries messages: two ends of a line, each with a way in and a way out.
//!
//! Whoever opens one has decided who may talk on it; nothing here knows a token or an address.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{Sink, stream::BoxStream};

use crate::frame::{CloseStatus, Frame, Violation};

pub mod memory;
pub mod stream;
pub mod websocket;

/// Why nothing more comes or goes on a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It is gone.
    #[error("the line is lost: {0}")]
    Lost(String),
    /// What came on it is none of the protocol.
    #[error(transparent)]
    Violation(#[from] Violation),
}

impl Broken {
    /// Builds the loss of a line that ended by itself.
    #[must_use]
    pub fn ended() -> Self {
        Self::Lost("it ended".to_owned())
    }
}

/// What is said on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A message.
    Frame(Frame),
    /// The end, for transports that can say why.
    Close(CloseStatus),
}

/// The way in. Ends when the other side has closed in order.
pub type Incoming = BoxStream<'static, Result<Frame, Broken>>;

/// The way out.
pub type Outgoing = Pin<Box<dyn Sink<Said, Error = Broken> + Send>>;

/// One end of a line.
pub struct Transport {
    /// What the other side says.
    pub incoming: Incoming,
    /// What is said to it.
    pub outgoing: Outgoing,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}

/// Writes messages as far as the transport takes them. Ready only with the reason why it takes no more;
/// whoever has a new message polls again.
pub(crate) fn poll_write(
    outgoing: &mut Outgoing,
    context: &mut Context<'_>,
    mut next: impl FnMut() -> Option<Frame>,
) -> Poll<Broken> {
    loop {
        match outgoing.as_mut().poll_ready(context) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(broken)) => return Poll::Ready(broken),
            Poll::Pending => return Poll::Pending,
        }
        let Some(frame) = next() else { break };
        if let Err(broken) = outgoing.as_mut().start_send(Said::Frame(frame)) {
            return Poll::Ready(broken);
        }
    }
    match outgoing.as_mut().poll_flush(context) {
        Poll::Ready(Err(broken)) => Poll::Ready(broken),
        Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
    }
}
