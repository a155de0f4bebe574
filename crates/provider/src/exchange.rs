//! One model call over HTTP: send, decode as it comes, end in exactly one terminal delta.
//!
//! Every wait has a limit and listens to the cancel token. What the events mean is the dialect's.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream, stream::BoxStream};
use reqwest::{Response, Url, header::HeaderMap};
use serde_json::Value;
use stdx::clock::Clock;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{PROVIDER_ANSWER_BYTES_MAX, PROVIDER_ERROR_BYTES_MAX},
    outcome::Effect,
};

use crate::{
    client,
    delta::{Delta, ProviderFailure},
    refusal::{self, Told},
    speaker::Speaker,
    sse,
    timeouts::Timeouts,
};

mod failures;
mod headers;

pub(crate) use failures::empty;
pub(crate) use headers::sensitive;

/// How a dialect reads an answer.
pub(crate) trait Decode: Send {
    /// Reads an event of a stream.
    fn event(&mut self, event: &Value, out: &mut Vec<Delta>);
    /// Reads an answer that came whole.
    fn whole(&mut self, answer: &Value, out: &mut Vec<Delta>);
    /// Takes the event `[DONE]`.
    fn done(&mut self, out: &mut Vec<Delta>) {
        self.end(out);
    }
    /// Ends a stream; appends nothing when its terminal event is missing.
    fn end(&mut self, out: &mut Vec<Delta>);
}

/// Who is asked, and how long it may take.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) speaker: Arc<Speaker>,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) timeouts: Timeouts,
    /// Tells how far away a moment is that a vendor names.
    pub(crate) clock: Clock,
}

/// Asks and returns the answer as it comes.
pub(crate) fn stream(
    peer: Peer,
    body: Bytes,
    decode: Box<dyn Decode>,
    cancel: CancellationToken,
) -> BoxStream<'static, Delta> {
    let exchange = Exchange {
        peer,
        stage: Stage::Ask(body),
        decode,
        sse: sse::Decoder::default(),
        head: Vec::new(),
        shape: Shape::Unknown,
        taken: 0,
        queue: VecDeque::new(),
        ended: false,
    };
    stream::unfold((exchange, cancel), |(mut exchange, cancel)| async move {
        let delta = exchange.next(&cancel).await?;
        Some((delta, (exchange, cancel)))
    })
    .boxed()
}

/// How far the exchange is.
enum Stage {
    Ask(Bytes),
    Read(Response),
    Over,
}

/// What the body turned out to be, told from its first bytes: gateways send wrong media types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Unknown,
    Events,
    Whole,
    Page,
}

struct Exchange {
    peer: Peer,
    stage: Stage,
    decode: Box<dyn Decode>,
    sse: sse::Decoder,
    /// The body so far when it is not a stream of events.
    head: Vec<u8>,
    shape: Shape,
    taken: usize,
    queue: VecDeque<Delta>,
    ended: bool,
}

impl Exchange {
    async fn next(&mut self, cancel: &CancellationToken) -> Option<Delta> {
        loop {
            if cancel.is_cancelled() && !self.ended {
                let sent = !matches!(self.stage, Stage::Ask(_));
                self.queue.clear();
                self.settle(Err(failures::aborted(sent)));
            }
            if let Some(delta) = self.queue.pop_front() {
                return Some(delta);
            }
            if self.ended {
                return None;
            }
            let step = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(failures::aborted(true)),
                step = self.step() => step,
            };
            self.settle(step);
        }
    }

    /// Takes a step's deltas; the first terminal one, or a failure, is the last.
    fn settle(&mut self, step: Result<Vec<Delta>, ProviderFailure>) {
        let deltas = step.unwrap_or_else(|failure| vec![Delta::Failed(failure)]);
        for delta in deltas {
            if self.ended {
                return;
            }
            self.ended = matches!(delta, Delta::Done(_) | Delta::Failed(_));
            self.queue.push_back(delta);
        }
        if self.ended {
            self.stage = Stage::Over;
        }
    }

    async fn step(&mut self) -> Result<Vec<Delta>, ProviderFailure> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Ask(body) => {
                let response = ask(&self.peer, body).await?;
                self.stage = Stage::Read(response);
                Ok(Vec::new())
            }
            Stage::Read(response) => self.read(response).await,
            Stage::Over => Ok(Vec::new()),
        }
    }

    async fn read(&mut self, mut response: Response) -> Result<Vec<Delta>, ProviderFailure> {
        let mut out = Vec::new();
        let idle = self.peer.timeouts.idle;
        let chunk = match timeout(idle, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => {
                self.finish(&mut out)?;
                return Ok(out);
            }
            // What is complete does not become a failure because the connection was not closed well.
            Ok(Err(_)) => return self.or_complete(out, failures::cut(&self.peer.speaker.provider)),
            Err(_) => {
                return self.or_complete(out, failures::idle(&self.peer.speaker.provider, idle));
            }
        };
        self.taken += chunk.len();
        if self.taken > PROVIDER_ANSWER_BYTES_MAX {
            return Err(failures::too_large(&self.peer.speaker.provider));
        }
        self.take(&chunk, &mut out)?;
        if out.iter().any(|delta| matches!(delta, Delta::Done(_))) {
            drain(response).await;
        } else {
            self.stage = Stage::Read(response);
        }
        Ok(out)
    }

    fn or_complete(
        &mut self,
        mut out: Vec<Delta>,
        failure: ProviderFailure,
    ) -> Result<Vec<Delta>, ProviderFailure> {
        self.decode.end(&mut out);
        if out.is_empty() { Err(failure) } else { Ok(out) }
    }

    fn take(&mut self, chunk: &[u8], out: &mut Vec<Delta>) -> Result<(), ProviderFailure> {
        if self.shape == Shape::Unknown {
            self.head.extend_from_slice(chunk);
            self.shape = shape(&self.head);
            if text(&self.head).is_empty() {
                // Blanks say nothing, and are not looked at again with every piece.
                self.head.clear();
            }
            if self.shape == Shape::Events {
                let head = std::mem::take(&mut self.head);
                return self.events(&head, out);
            }
            return Ok(());
        }
        if self.shape == Shape::Events {
            return self.events(chunk, out);
        }
        self.head.extend_from_slice(chunk);
        Ok(())
    }

    fn events(&mut self, chunk: &[u8], out: &mut Vec<Delta>) -> Result<(), ProviderFailure> {
        let mut events = Vec::new();
        let fed = self.sse.feed(chunk, &mut events);
        for event in events {
            if !self.event(&event, out) {
                return Err(failures::garbled(&self.peer.speaker, &event.data));
            }
        }
        fed.map_err(|over| failures::event_too_large(&self.peer.speaker.provider, over))
    }

    /// Reads an event; tells whether it is one.
    fn event(&mut self, event: &sse::Event, out: &mut Vec<Delta>) -> bool {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.decode.done(out);
            return true;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(data) else { return data.is_empty() };
        // Some gateways tell the type by the event's name alone.
        if let Some(fields) = value.as_object_mut()
            && !event.name.is_empty()
        {
            fields.entry("type").or_insert_with(|| Value::String(event.name.clone()));
        }
        self.decode.event(&value, out);
        true
    }

    /// Ends the body: the rest of a stream, or an answer that came whole.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<(), ProviderFailure> {
        let body = String::from_utf8_lossy(text(&self.head)).into_owned();
        match self.shape {
            Shape::Events => {
                if let Some(last) = self.sse.finish() {
                    // One that is not whole was cut, which the missing end tells.
                    self.event(&last, out);
                }
                self.decode.end(out);
                if out.iter().any(|delta| matches!(delta, Delta::Done(_) | Delta::Failed(_))) {
                    return Ok(());
                }
                Err(failures::cut(&self.peer.speaker.provider))
            }
            Shape::Whole => match serde_json::from_str::<Value>(&body) {
                Ok(value) if value["error"].is_null() => {
                    self.decode.whole(&value, out);
                    Ok(())
                }
                Ok(_) => Err(refusal::classify(&Told::inside(&self.peer.speaker, &body))),
                Err(_) => Err(failures::cut(&self.peer.speaker.provider)),
            },
            Shape::Unknown if body.trim().is_empty() => {
                Err(failures::cut(&self.peer.speaker.provider))
            }
            Shape::Unknown | Shape::Page => Err(failures::garbled(&self.peer.speaker, &body)),
        }
    }
}

/// Tells what a body is from its first bytes, as soon as they suffice.
fn shape(head: &[u8]) -> Shape {
    let text = text(head);
    let names: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b":"];
    match text.first() {
        None => Shape::Unknown,
        Some(b'{') => Shape::Whole,
        _ if names.iter().any(|name| text.starts_with(name)) => Shape::Events,
        _ if names.iter().any(|name| name.starts_with(text)) => Shape::Unknown,
        // The mark itself may have been cut.
        _ if b"\xEF\xBB\xBF".starts_with(head) => Shape::Unknown,
        Some(_) => Shape::Page,
    }
}

/// Returns a body from its first word on, without the mark that some servers put before it.
fn text(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start()
}

/// Sends the request and returns a response that is an answer.
async fn ask(peer: &Peer, body: Bytes) -> Result<Response, ProviderFailure> {
    let client = client::for_url(&peer.url)
        .map_err(|error| ProviderFailure::fatal("connect_failed", Effect::NotStarted, error))?;
    let request = client.post(peer.url.clone()).headers(peer.headers.clone()).body(body);
    let wait = peer.timeouts.headers;
    let response = match timeout(wait, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(failures::unsent(peer, &error)),
        Err(_) => return Err(failures::no_headers(&peer.speaker.provider, wait)),
    };
    if response.status() == 200 {
        return Ok(response);
    }
    Err(refused(peer, response).await)
}

/// Reads the start of an error body and makes a failure of it.
pub(crate) async fn refused(peer: &Peer, mut response: Response) -> ProviderFailure {
    let status = response.status().as_u16();
    let wait_ms = headers::retry_after(response.headers(), &peer.clock);
    let should_retry = headers::should_retry(response.headers());
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > PROVIDER_ERROR_BYTES_MAX {
                // One more than is quoted from, so that the quote knows that it was cut.
                body.truncate(PROVIDER_ERROR_BYTES_MAX + 1);
                return;
            }
        }
    };
    // What came until then is told; the status alone says the most.
    drop(timeout(peer.timeouts.error_body, read).await);
    let body = String::from_utf8_lossy(&body);
    refusal::classify(&Told {
        speaker: &peer.speaker,
        status: Some(status),
        body: &body,
        wait_ms,
        should_retry,
    })
}

/// Reads the end of a complete answer, so that its connection can be used again.
async fn drain(mut response: Response) {
    let rest = async move { while let Ok(Some(_)) = response.chunk().await {} };
    let mut rest = Box::pin(rest);
    if timeout(Duration::from_millis(20), &mut rest).await.is_err() {
        tokio::spawn(timeout(Duration::from_secs(2), rest));
    }
}

#[cfg(test)]
mod echo_tests;
#[cfg(test)]
mod peer_tests;
#[cfg(test)]
mod tests;
