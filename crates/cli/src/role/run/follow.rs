//! The stream of a run, followed until it ends, also over broken connections.
//!
//! A position is kept with every event; who comes back names it and misses nothing. A finish moves no
//! position: a parked run that goes on takes it back. What events mean is not known here.

use std::{collections::VecDeque, time::Duration};

use api::{
    agent::RunRequest,
    client::{Client, ClientError, Target},
    routes::Endpoint,
    sse::{Decoder, Event},
};
use futures_util::future::BoxFuture;
use serde_json::Value;
use vocab::{
    limits::CLIENT_SILENCE_MS_MAX,
    outcome::{Effect, Failure},
};

use crate::{client::Retry, print::words};

/// What the stream told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    /// Its first frame, with the session's id.
    Session(Value),
    /// A chunk.
    Chunk(Value),
    /// Nothing more: the run is over or parked, and its finish was told before.
    Done,
    /// Nothing is live any more, and its finish was not told.
    Gone,
}

/// The bytes of a stream as they come; none at its end.
pub(crate) trait Body: Send {
    /// Waits for the next bytes. Giving up the wait loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<u8>>>;
}

/// Opens streams.
pub(crate) trait Opener {
    /// Opens the stream of a session after a position; none when nothing is live. Without a session it
    /// asks for the run itself, once or again: that must be the same run.
    fn open<'a>(
        &'a self,
        session: &'a str,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Body>>, ClientError>>;
}

/// A reader of the stream of one session.
pub(crate) struct Follower<'a> {
    opener: &'a dyn Opener,
    session: String,
    position: Option<String>,
    body: Option<Box<dyn Body>>,
    decoder: Decoder,
    events: VecDeque<Event>,
    retry: Retry,
    /// Why the last attempt failed.
    why: Failure,
    finished: bool,
}

impl std::fmt::Debug for Follower<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("session", &self.session).finish_non_exhaustive()
    }
}

impl<'a> Follower<'a> {
    /// Follows a run of a session, or one that is begun first where none is named.
    pub(crate) fn new(opener: &'a dyn Opener, session: Option<&str>) -> Self {
        Self {
            opener,
            session: session.unwrap_or_default().to_owned(),
            position: None,
            body: None,
            decoder: Decoder::default(),
            events: VecDeque::new(),
            retry: Retry::default(),
            why: broken("nothing was asked yet"),
            finished: false,
        }
    }

    /// Returns the session, once it is known.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Goes on after a parked run was answered.
    pub(crate) fn go_on(&mut self) {
        self.lose("the run was parked");
        self.finished = false;
        self.retry.succeeded();
    }

    /// Waits for what is told next. Giving up the wait loses nothing.
    ///
    /// # Errors
    /// When the stream stays broken, or the daemon refuses it.
    pub(crate) async fn next(&mut self) -> Result<Told, Failure> {
        loop {
            if let Some(event) = self.events.pop_front() {
                if let Some(told) = self.understand(event) {
                    return Ok(told);
                }
                continue;
            }
            let Some(body) = &mut self.body else {
                if self.finished {
                    return Ok(Told::Done);
                }
                if !self.reopen().await? {
                    return Ok(Told::Gone);
                }
                continue;
            };
            let silence = Duration::from_millis(CLIENT_SILENCE_MS_MAX);
            match tokio::time::timeout(silence, body.next()).await {
                Ok(Some(bytes)) => {
                    if self.decoder.feed(&bytes, &mut self.events).is_err() {
                        return Err(Failure::new(
                            "answer_malformed",
                            Effect::Indeterminate,
                            "an event is too large",
                        ));
                    }
                }
                Ok(None) => self.lose("it ended too early"),
                Err(_) => self.lose("it fell silent"),
            }
        }
    }

    fn lose(&mut self, why: &str) {
        self.body = None;
        self.decoder = Decoder::default();
        self.why = broken(why);
    }

    /// Opens the stream again, with a wait that doubles; false when nothing is live.
    async fn reopen(&mut self) -> Result<bool, Failure> {
        if !self.retry.next().await {
            return Err(self.given_up());
        }
        match self.opener.open(&self.session, self.position.as_deref()).await {
            Ok(Some(body)) => {
                self.body = Some(body);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(ClientError::Problem(problem)) if problem.code == "no_live_run" => Ok(false),
            Err(ClientError::Problem(problem)) if !self.passes(&problem.code) => {
                Err((*problem).into())
            }
            Err(error) => {
                self.why = error.into();
                Ok(true)
            }
        }
    }

    /// Tells whether a refusal is over in a moment: a daemon that stops, and an earlier attempt to begin
    /// the same run that is still being stored.
    fn passes(&self, code: &str) -> bool {
        let again = self.session.is_empty() && 1 < self.retry.attempts();
        code == "draining" || again && matches!(code, "run_in_flight" | "conflict")
    }

    fn given_up(&self) -> Failure {
        let why = &self.why;
        if self.session.is_empty() {
            // Of several attempts one may have been heard.
            let message = format!("the run could not be begun: {}", why.message);
            return Failure::new(&why.code, Effect::Indeterminate, message)
                .with_hint("look whether it began: stead sessions list");
        }
        let message = format!("the stream of the run broke and did not come back: {}", why.message);
        let short = words::short_id(&self.session);
        broken(&message).with_hint(format!(
            "go on: stead run -s {short} \"…\"\nlook at it: stead sessions show {short}"
        ))
    }

    fn understand(&mut self, event: Event) -> Option<Told> {
        self.retry.succeeded();
        if event.data == "[DONE]" {
            self.lose("it ended");
            self.finished = true;
            return Some(Told::Done);
        }
        // A datum that is no JSON is nothing we could tell; the next ones may be.
        let mut value: Value = serde_json::from_str(&event.data).ok()?;
        if event.name == "stead-session" {
            if let Some(id) = value.get("session_id").and_then(Value::as_str) {
                id.clone_into(&mut self.session);
            }
            if let Value::Object(fields) = &mut value {
                fields.insert("type".to_owned(), Value::from("stead-session"));
            }
            return Some(Told::Session(value));
        }
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        self.finished |= kind == "finish";
        if kind != "finish" && event.id.is_some() {
            self.position = event.id;
        }
        Some(Told::Chunk(value))
    }
}

fn broken(why: &str) -> Failure {
    Failure::new("connection_broken", Effect::Indeterminate, why)
}

impl Opener for Client {
    fn open<'a>(
        &'a self,
        session: &'a str,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Body>>, ClientError>> {
        Box::pin(async move {
            let target = Target::of(session);
            let response = self.events::<()>(Endpoint::AgentStream, target, None, after).await?;
            // 204: nothing is live.
            Ok((response.status().as_u16() != 204)
                .then(|| Box::new(response.into_body()) as Box<dyn Body>))
        })
    }
}

/// Asks for a run, and for its stream once its session is known.
#[derive(Debug)]
pub(crate) struct Begin<'a> {
    /// The daemon.
    pub(crate) client: &'a Client,
    /// What is asked; its idempotency key makes a second request the same one.
    pub(crate) request: &'a RunRequest,
}

impl Opener for Begin<'_> {
    fn open<'a>(
        &'a self,
        session: &'a str,
        after: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Body>>, ClientError>> {
        if !session.is_empty() {
            return self.client.open(session, after);
        }
        Box::pin(async move {
            let target = Target::default();
            let sent = self.client.events(Endpoint::AgentRun, target, Some(self.request), None);
            Ok(Some(Box::new(sent.await?.into_body()) as Box<dyn Body>))
        })
    }
}

impl<B> Body for B
where
    B: http_body_util::BodyExt<Data = bytes::Bytes> + Send + Unpin,
{
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            loop {
                // A broken body and an ended one are the same to a reader that comes back.
                let frame = self.frame().await?.ok()?;
                if let Ok(data) = frame.into_data() {
                    return Some(data.to_vec());
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
