//! A connection whose client has to read, and whose errors are problems.
//!
//! The first half cuts a client that does not read one backlog within the limit; it costs nobody else
//! anything, since only its own connection waits. The second half concerns heads that hyper cannot
//! parse: it answers them itself, with an empty body, before any code of ours sees a request. Such an
//! answer is known by lacking the header that each of ours has, and is replaced on its way out.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use api::problem::Problem;
use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};
use vocab::{limits, outcome::Failure};

use crate::{
    listen::stream::Stream,
    refuse::{NOSNIFF, encode},
};

/// A watched connection.
#[derive(Debug)]
pub(crate) struct Watched {
    stream: Stream,
    stall: Duration,
    /// Runs from the first write that had to wait.
    timer: Option<Pin<Box<Sleep>>>,
    /// Bytes that left since then.
    since: usize,
    /// What is being sent in place of an answer of hyper's own.
    instead: Option<Bytes>,
}

impl Watched {
    /// Watches a connection.
    pub(crate) fn new(stream: Stream, stall: Duration) -> Self {
        Self { stream, stall, timer: None, since: 0, instead: None }
    }

    /// Gives the connection back.
    pub(crate) fn into_stream(self) -> Stream {
        self.stream
    }

    /// Judges the result of a write.
    fn judge(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match wrote {
            Poll::Ready(Ok(bytes)) => {
                self.since += bytes;
                if self.since >= limits::STREAM_BACKLOG_BYTES_MAX {
                    self.timer = None;
                    self.since = 0;
                }
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                let stall = self.stall;
                let since = &mut self.since;
                let timer = self.timer.get_or_insert_with(|| {
                    *since = 0;
                    Box::pin(sleep_until(Instant::now() + stall))
                });
                ready!(timer.as_mut().poll(cx));
                Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client does not read",
                )))
            }
        }
    }

    /// Sends the replacement; done when all of it left.
    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(mut left) = self.instead.take().filter(|left| left.has_remaining()) {
            let wrote = Pin::new(&mut self.stream).poll_write(cx, &left);
            let wrote = self.judge(cx, wrote);
            if let Poll::Ready(Ok(bytes)) = &wrote {
                left.advance(*bytes);
            }
            self.instead = Some(left);
            ready!(wrote)?;
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns what to send in place of an answer of hyper's own; none for an answer of ours.
fn replacement(head: &[u8]) -> Option<Bytes> {
    let head = std::str::from_utf8(head).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?;
    if !head.ends_with("\r\n\r\n") || head.contains(NOSNIFF.as_str()) {
        return None;
    }
    let (code, text) = match status {
        "400" => ("malformed_request", "the request's head could not be read"),
        "414" => ("uri_too_long", "the request's target is too long"),
        "431" => ("headers_too_large", "the request's head is too large"),
        _ => return None,
    };
    let line = head.strip_prefix("HTTP/1.1 ")?.split("\r\n").next()?;
    Some(response(line, &Problem::from(Failure::not_started(code, text))))
}

/// Writes a whole response by hand, for moments at which there is no request.
pub(crate) fn response(status: &str, problem: &Problem) -> Bytes {
    let body = encode(problem);
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         cache-control: no-store\r\n{NOSNIFF}: nosniff\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(&body);
    bytes.into()
}

impl AsyncRead for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let first = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| &**buf);
        if this.instead.is_none() {
            this.instead = replacement(first);
        }
        if this.instead.is_some() {
            ready!(this.poll_instead(cx))?;
            return Poll::Ready(Ok(first.len()));
        }
        let wrote = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.judge(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // Hyper flushes once its buffer is empty, so the client has read all but what the kernel holds.
        this.timer = None;
        this.since = 0;
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
