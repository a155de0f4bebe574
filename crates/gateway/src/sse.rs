//! Server-sent events as a response body.
//!
//! The source is pulled, never pushed: it is asked for the next frames only while the connection has
//! room, so that a slow client holds nothing but its own connection's buffer. A client that does not
//! drain that buffer is cut by the connection (`listen::watched`); it comes back with its last event
//! id. What a frame says is decided by whoever encoded it.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream::BoxStream};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use vocab::limits;

/// A comment line: readers skip it, and a dead connection shows.
const HEARTBEAT: Bytes = Bytes::from_static(b":\n\n");

/// The stream ends in the middle: its reader is too far behind, or its source failed. The connection
/// breaks, so that the reader cannot take it for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream was cut")]
pub struct Cut;

/// A stream of encoded frames with heartbeats between them.
pub struct Events {
    source: Option<BoxStream<'static, Result<Bytes, Cut>>>,
    every: Duration,
    beat: Pin<Box<Sleep>>,
    until: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Events {
    /// Builds the stream from whole frames; `source` ends it by ending.
    #[must_use]
    pub fn new(source: impl Stream<Item = Result<Bytes, Cut>> + Send + 'static) -> Self {
        let every = Duration::from_millis(limits::STREAM_HEARTBEAT_MS);
        Self {
            source: Some(source.boxed()),
            every,
            beat: Box::pin(sleep_until(Instant::now() + every)),
            until: None,
        }
    }

    /// Puts frames before those of the source.
    #[must_use]
    pub fn after(mut self, first: Bytes) -> Self {
        if let Some(source) = self.source.take() {
            let first = futures_util::stream::iter([Ok(first)]);
            self.source = Some(first.chain(source).boxed());
        }
        self
    }

    /// Ends the stream when the token is cancelled: for sources that never end by themselves.
    #[must_use]
    pub fn until(mut self, token: CancellationToken) -> Self {
        self.until = Some(Box::pin(token.cancelled_owned()));
        self
    }

    /// Returns the next frames, or a heartbeat when it is time for one.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        if let Poll::Ready(next) = source.poll_next_unpin(cx) {
            if !matches!(next, Some(Ok(_))) {
                self.source = None;
            }
            return Poll::Ready(next);
        }
        if self.until.as_mut().is_some_and(|until| until.as_mut().poll(cx).is_ready()) {
            self.source = None;
            return Poll::Ready(None);
        }
        if self.beat.as_mut().poll(cx).is_ready() {
            self.beat.as_mut().reset(Instant::now() + self.every);
            return Poll::Ready(Some(Ok(HEARTBEAT)));
        }
        Poll::Pending
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("every", &self.every).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
