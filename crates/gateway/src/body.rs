//! What a response carries: nothing, one document, whole or in pieces, or a stream of events.
//!
//! Request bodies are read in `mount`, not here.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream::BoxStream};
use hyper::body::{Frame, SizeHint};

use crate::sse::{Cut, Events};

/// The body of a response.
pub enum Body {
    /// One document; empty once it was handed out.
    Whole(Bytes),
    /// One document in pieces.
    Pieces(Pieces),
    /// Events, until their source ends.
    Events(Box<Events>),
}

/// One document that is too long to be held: its source is asked for the next piece only when the
/// connection has room for it. A client that does not read is cut by the connection (`listen::watched`).
pub struct Pieces(BoxStream<'static, Result<Bytes, Cut>>);

impl Pieces {
    /// Builds the document from its pieces, none of them empty; `source` ends it by ending.
    #[must_use]
    pub fn new(source: impl Stream<Item = Result<Bytes, Cut>> + Send + 'static) -> Self {
        Self(source.boxed())
    }

    /// Returns the next piece.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Cut>> {
        self.0.next().await
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pieces")
    }
}

impl Body {
    /// Returns the body that carries nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Pieces(pieces) => pieces.fmt(f),
            Self::Events(_) => f.write_str("Events"),
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Pieces(pieces) => {
                pieces.0.poll_next_unpin(cx).map(|next| next.map(|bytes| bytes.map(Frame::data)))
            }
            Self::Events(events) => {
                events.poll_next(cx).map(|next| next.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
            }
            Self::Pieces(_) | Self::Events(_) => SizeHint::default(),
        }
    }
}
