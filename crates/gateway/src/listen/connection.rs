//! One connection, from its first byte to its last.
//!
//! This is the one place where a connection's protocol is chosen: by its first byte on the Unix socket,
//! which is looked at and left there, and HTTP/1.1 everywhere else.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use api::problem::Problem;
use bytes::Bytes;
use hyper::{
    Request,
    body::{Body as _, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use vocab::{limits, outcome::Failure};

use crate::{
    listen::{
        control,
        stream::Stream,
        watched::{self, Watched},
    },
    mount::Front,
    perimeter::Guest,
};

/// How a client of HTTP/2 begins.
const HTTP2_BEGINNING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The bounds of a door and its connections; the default is the table of limits.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Connections at a time.
    pub connections: usize,
    /// Surplus connections that are told so at a time.
    pub refused: usize,
    /// How long a head may take, and how long an idle connection is kept.
    pub head_read: Duration,
    /// How long a client may take to read one backlog.
    pub stall: Duration,
    /// How long a refused client may go on sending.
    pub linger: Duration,
}

/// Serves one connection until it ends or the doors close.
pub(crate) async fn serve(
    stream: Stream,
    guest: Guest,
    front: Arc<Front>,
    bounds: &Bounds,
    closing: CancellationToken,
) {
    let peer = front.look(guest).await;
    if let Some(caller) = front.admit_process(&peer) {
        let first = tokio::select! {
            () = closing.cancelled() => None,
            first = timeout(bounds.head_read, stream.first()) => first.ok().and_then(Result::ok).flatten(),
        };
        match first {
            Some(control::BEGINNING) => {
                // It lies beside: most connections are none of these.
                return Box::pin(control::serve(stream, caller, front, bounds, closing)).await;
            }
            Some(_) => {}
            None => return,
        }
    }
    let unread = AtomicBool::new(false);
    let answer = service_fn(|request: Request<Incoming>| {
        let (front, peer, unread, closing) = (&front, &peer, &unread, &closing);
        async move {
            let has_body = !request.body().is_end_stream();
            let response = front.answer(request, peer, closing).await;
            unread.fetch_or(has_body && !response.status().is_success(), Ordering::Relaxed);
            Ok::<_, Infallible>(response)
        }
    });
    let io = TokioIo::new(Watched::new(stream, bounds.stall));
    let mut http = within(bounds).serve_connection(io, answer);
    let early = tokio::select! {
        ended = &mut http => Some(ended),
        () = closing.cancelled() => None,
    };
    let ended = match early {
        Some(ended) => ended,
        None => {
            Pin::new(&mut http).graceful_shutdown();
            (&mut http).await
        }
    };
    let unparsed = matches!(&ended, Err(error) if error.is_parse());
    let may_send = match ended {
        Ok(()) => unread.load(Ordering::Relaxed),
        Err(error) if error.is_parse() => true,
        Err(error) => {
            tracing::debug!(%error, "a connection broke");
            false
        }
    };
    if may_send {
        let parts = http.into_parts();
        let mut stream = parts.io.into_inner().into_stream();
        // Hyper leaves this one beginning unanswered, for those who serve both versions.
        if unparsed && parts.read_buf.starts_with(HTTP2_BEGINNING) {
            let text = "HTTP/2 is not spoken here";
            let failure =
                Failure::not_started("malformed_request", text).with_hint("speak HTTP/1.1");
            let answer = watched::response("400 Bad Request", &Problem::from(failure));
            timeout(bounds.linger, stream.write_all(&answer)).await.ok();
            timeout(bounds.linger, stream.shutdown()).await.ok();
        }
        linger(stream, bounds.linger).await;
    }
}

/// Returns the protocol with its bounds.
fn within(bounds: &Bounds) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(bounds.head_read)
        .max_headers(limits::HEADERS_MAX)
        .max_header_size(limits::HEAD_BYTES_MAX)
        .max_buf_size(limits::STREAM_BACKLOG_BYTES_MAX);
    http
}

/// Writes the answer to a surplus connection.
pub(crate) fn no_seat() -> Bytes {
    let text = "all connections of this door are in use";
    let failure = Failure::not_started("too_many_connections", text)
        .with_hint("close other clients of the daemon, or try again in a moment");
    watched::response("503 Service Unavailable", &Problem::from(failure))
}

/// Tells a surplus connection that there is no room.
pub(crate) async fn turn_away(mut stream: Stream, bounds: &Bounds) {
    let response = no_seat();
    if let Ok(Ok(())) = timeout(bounds.linger, stream.write_all(&response)).await {
        timeout(bounds.linger, stream.shutdown()).await.ok();
        linger(stream, bounds.linger).await;
    }
}

/// Reads and throws away what a client still sends after the last answer. Closing over unread bytes
/// would reset the connection, and the client would lose the answer.
pub(crate) async fn linger(mut stream: Stream, limit: Duration) {
    let drain = async {
        let mut left = limits::LINGER_BYTES_MAX;
        let mut scrap = vec![0; 16 * 1024];
        while left > 0 {
            match stream.read(&mut scrap).await {
                Ok(0) | Err(_) => return,
                Ok(bytes) => left = left.saturating_sub(bytes),
            }
        }
    };
    timeout(limit, drain).await.ok();
}
