//! The control protocol: the rows of `api::routes`, a line of JSON for a request and lines for its answer
//! (`docs/protocol/control.md`). It is spoken on the Unix socket by whoever begins with `{`.
//!
//! Requests go to the same handlers as those of HTTP and have to prove the same; nothing here knows what an
//! operation does. Whoever opened the connection was looked at once, before its first byte was read.

use std::{
    future::{pending, poll_fn},
    io,
    sync::Arc,
};

use api::routes::{Answers, Endpoint, Method, Route};
use bytes::Bytes;
use daemon::caller::Caller;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde::Deserialize;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf},
    sync::Semaphore,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{CONTROL_REQUESTS_MAX, CONTROL_STREAMS_MAX},
    outcome::{Effect, Failure},
};

use crate::{
    listen::{
        connection::{Bounds, linger},
        stream::Stream,
        watched::Watched,
    },
    mount::{Front, Payload, Reply, Words},
    refuse::Refused,
    sse::Events,
};

mod lines;
mod pen;
mod request;
mod told;

use lines::{Heard, Lines, Stop};
use pen::Pen;
use request::Id;

/// How a client begins that speaks this protocol.
pub(crate) const BEGINNING: u8 = b'{';

/// Why no further line is read.
#[derive(Debug)]
enum End {
    /// The doors close, or nobody has said anything for long: what is being told is told to its end.
    Quiet,
    /// The client sends no more: answers that are due are given, and streams end.
    Gone,
    /// What it sent cannot be taken; otherwise as above.
    Refused(Refused),
}

/// Serves one connection until it ends or the doors close.
pub(crate) async fn serve(
    stream: Stream,
    caller: Caller,
    front: Arc<Front>,
    bounds: &Bounds,
    closing: CancellationToken,
) {
    let (reader, writer) = tokio::io::split(Watched::new(stream, bounds.stall));
    let lines = Lines::new(reader, front.bodies());
    let streams = Semaphore::new(CONTROL_STREAMS_MAX);
    let (pen, leaving) = (Pen::new(writer), CancellationToken::new());
    let desk = Desk { front: &front, caller, closing: &closing, pen, streams, leaving };
    match desk.serve(lines, bounds).await {
        Ok((End::Refused(_), reader)) => part(reader, desk.pen.into_writer(), bounds).await,
        Ok((End::Quiet | End::Gone, _)) => {}
        Err(error) => tracing::debug!(%error, "a control connection broke"),
    }
}

/// Ends a connection whose client may still be sending, so that it reads why.
async fn part(reader: ReadHalf<Watched>, writer: WriteHalf<Watched>, bounds: &Bounds) {
    let mut stream = reader.unsplit(writer).into_stream();
    timeout(bounds.linger, stream.shutdown()).await.ok();
    linger(stream, bounds.linger).await;
}

/// What the requests of one connection share.
struct Desk<'a, W> {
    front: &'a Front,
    caller: Caller,
    closing: &'a CancellationToken,
    pen: Pen<W>,
    /// One for each stream that may be told.
    streams: Semaphore,
    /// Fires when the client sends no more.
    leaving: CancellationToken,
}

impl<W: AsyncWrite + Unpin> Desk<'_, W> {
    /// Reads lines and answers them, several at a time, until there are no more.
    async fn serve<R: tokio::io::AsyncRead + Unpin>(
        &self,
        mut lines: Lines<R>,
        bounds: &Bounds,
    ) -> io::Result<(End, R)> {
        let mut due = FuturesUnordered::new();
        let mut quiet_since = Instant::now();
        let end = loop {
            let has_room = due.len() < CONTROL_REQUESTS_MAX;
            if !has_room {
                lines.forgive();
            }
            let deadline = match lines.begun() {
                Some(begun) => Some(begun + self.front.body_read()),
                None => due.is_empty().then(|| quiet_since + bounds.head_read),
            };
            tokio::select! {
                biased;
                Some(said) = due.next(), if !due.is_empty() => {
                    let () = said?;
                    quiet_since = Instant::now();
                }
                () = self.closing.cancelled() => break End::Quiet,
                line = lines.next(), if has_room => match line {
                    Ok(Heard::Line(line)) => due.push(self.one(line)),
                    Ok(Heard::Begun) => {}
                    Ok(Heard::Over) => break End::Gone,
                    Err(Stop::Broken(error)) => return Err(error),
                    Err(Stop::Refused(refused)) => break End::Refused(refused),
                },
                () = until(deadline), if has_room => match lines.begun() {
                    Some(_) => {
                        let text = "the line did not arrive in time";
                        break End::Refused(Refused::new("body_timeout", text));
                    }
                    None => break End::Quiet,
                },
            }
        };
        match &end {
            End::Quiet => {}
            End::Gone => self.leaving.cancel(),
            End::Refused(refused) => {
                self.leaving.cancel();
                self.pen.refuse(&Id::none(), refused).await?;
            }
        }
        while let Some(said) = due.next().await {
            let () = said?;
        }
        drop(due);
        Ok((end, lines.into_reader()))
    }

    /// Answers one line.
    async fn one(&self, line: Payload) -> io::Result<()> {
        let (id, wish) = request::read(line).await;
        let wish = match wish {
            Ok(wish) => wish,
            Err(refused) => return self.pen.refuse(&id, &refused).await,
        };
        let route = wish.route;
        let seat = (route.answers == Answers::Events).then(|| self.streams.try_acquire());
        if let Some(Err(_)) = seat {
            return self.pen.refuse(&id, &too_many_streams()).await;
        }
        match self.ask(route, || wish.words()).await {
            Ok(Reply::Json(result)) => self.pen.answer(&id, &result).await,
            Ok(Reply::Pieces(pieces)) => self.pen.answer_in_pieces(&id, pieces).await,
            Ok(Reply::Nothing) => self.pen.answer(&id, &Bytes::from_static(b"null")).await,
            Ok(Reply::Events(events, _)) => self.tell(&id, route, *events).await,
            Err(refused) => self.pen.refuse(&id, &refused).await,
        }
    }

    async fn ask(
        &self,
        route: &Route,
        words: impl FnOnce() -> Result<Words, Refused>,
    ) -> Result<Reply, Refused> {
        self.front.answer_words((&self.caller, self.closing), route, words).await
    }

    /// Tells a stream until it ends or the client leaves.
    async fn tell(&self, id: &Id, route: &Route, mut events: Events) -> io::Result<()> {
        loop {
            let next = tokio::select! {
                biased;
                () = self.leaving.cancelled() => return Ok(()),
                next = poll_fn(|cx| events.poll_next(cx)) => next,
            };
            let frames = match next {
                None => return self.pen.answer(id, &Bytes::from_static(b"null")).await,
                Some(Err(_cut)) => return self.pen.refuse(id, &cut(route)).await,
                Some(Ok(frames)) => frames,
            };
            // Ours are text; what is not would tell nothing.
            let text = std::str::from_utf8(&frames).unwrap_or_default();
            let mut lines = String::new();
            for told in told::frames(text) {
                let job = if route.endpoint == Endpoint::Events { told.job() } else { None };
                let row = match job {
                    Some(job) => Some(self.row(job).await),
                    None => None,
                };
                told.write(id, row.as_deref(), &mut lines);
            }
            if !lines.is_empty() {
                self.pen.say(lines.as_bytes()).await?;
            }
        }
    }

    /// Returns the row of a job as it is now, as JSON: null when it is gone.
    async fn row(&self, job: String) -> String {
        #[derive(Deserialize)]
        struct Named {
            id: String,
        }
        let words = Words { parameter: job.clone(), ..Words::default() };
        let shown = self.ask(Endpoint::JobShow.route(), || Ok(words)).await;
        let Ok(Reply::Json(row)) = shown else { return "null".to_owned() };
        // The row also takes parts of names, so that another job may answer to what this one was called.
        let is_it = serde_json::from_slice::<Named>(&row).is_ok_and(|named| named.id == job);
        let text = String::from_utf8(row.into()).ok().filter(|_| is_it);
        text.unwrap_or_else(|| "null".to_owned())
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

fn too_many_streams() -> Refused {
    let text = format!("this connection tells {CONTROL_STREAMS_MAX} streams already");
    Refused::new("too_many_streams", text).with_hint("open another connection")
}

/// Says that a stream broke off. What it is about goes on.
fn cut(route: &Route) -> Refused {
    let effect = match route.method {
        Method::Get => Effect::NotStarted,
        Method::Post | Method::Delete => Effect::Completed,
    };
    Failure::new("stream_cut", effect, "the stream broke off, and what it tells of goes on")
        .with_hint("ask for it again from the last cursor")
        .into()
}

#[cfg(test)]
mod tests;
