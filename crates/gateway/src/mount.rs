//! From a request to its row, and from the row to its handler: the only way in.
//!
//! A request passes the perimeter, finds its row in `api::routes::TABLE`, proves what the row needs,
//! and only then is its body read. What is said without HTTP takes the same way to the same handlers. What
//! a handler does is in `routes`, and how lines are read in `listen::control`.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use api::routes::{Endpoint, Method, Needs, Route, TABLE};
use bytes::Bytes;
use daemon::caller::Caller;
use futures_util::{FutureExt, future::BoxFuture};
use http_body_util::BodyExt;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;
use vocab::{limits, outcome::Failure};

use crate::{
    body::{Body, Pieces},
    decode,
    perimeter::{Guest, Peer, Perimeter, too_large},
    refuse::{self, Refused},
    sse::Events,
};

mod payload;

pub use payload::Payload;
pub(crate) use payload::{Bodies, Gathering};

/// A request that passed the perimeter and found its row.
#[derive(Debug)]
pub struct Ask {
    /// The proof.
    pub caller: Caller,
    /// The value of the path's one parameter, decoded; empty where the path has none.
    pub parameter: String,
    /// What comes after the question mark.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty for methods that have none.
    pub body: Payload,
    /// Fires when the doors close; streams that never end by themselves end with it.
    pub closing: CancellationToken,
}

/// What is said to a row, in whatever encoding it came.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// The value of the path's one parameter.
    pub(crate) parameter: String,
    /// The query.
    pub(crate) query: String,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body.
    pub(crate) body: Payload,
}

impl Ask {
    /// Reads the body as JSON.
    ///
    /// # Errors
    /// When it is not what the row takes.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        decode::json(&self.body)
    }

    /// Returns a header's text, if it has one.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// What a handler answers.
#[derive(Debug)]
pub enum Reply {
    /// One JSON document.
    Json(Bytes),
    /// One JSON document, in pieces.
    Pieces(Pieces),
    /// Nothing: there is nothing to tell.
    Nothing,
    /// A stream of events, with headers of its own.
    Events(Box<Events>, Vec<(&'static str, String)>),
}

impl Reply {
    /// Builds a document from a value.
    ///
    /// # Errors
    /// When the value does not serialise, which is a fault of ours.
    pub fn json<T: Serialize>(value: &T) -> Result<Self, Refused> {
        match serde_json::to_vec(value) {
            Ok(bytes) => Ok(Self::Json(bytes.into())),
            Err(error) => {
                tracing::error!(%error, "an answer does not serialise");
                Err(Refused::internal())
            }
        }
    }

    fn into_response(self) -> Response<Body> {
        match self {
            Self::Json(bytes) => refuse::json(StatusCode::OK, Body::Whole(bytes)),
            Self::Pieces(pieces) => refuse::json(StatusCode::OK, Body::Pieces(pieces)),
            Self::Nothing => refuse::plain(StatusCode::NO_CONTENT, Body::empty()),
            Self::Events(events, headers) => {
                let mut response = refuse::plain(StatusCode::OK, Body::Events(events));
                let kind = HeaderValue::from_static("text/event-stream");
                response.headers_mut().insert(CONTENT_TYPE, kind);
                for (name, value) in headers {
                    if let Ok(value) = HeaderValue::from_str(&value) {
                        response.headers_mut().insert(HeaderName::from_static(name), value);
                    }
                }
                response
            }
        }
    }
}

/// All handlers as one function. `routes::handler` builds it from an exhaustive match, so that a row
/// without a handler does not compile.
pub type Handler =
    Arc<dyn Fn(Endpoint, Ask) -> BoxFuture<'static, Result<Reply, Refused>> + Send + Sync>;

/// The front of the daemon: perimeter, table and handlers, shared by both doors.
pub struct Front {
    perimeter: Perimeter,
    handler: Handler,
    bodies: Bodies,
    body_read: Duration,
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Front").field("perimeter", &self.perimeter).finish_non_exhaustive()
    }
}

impl Front {
    /// Builds the front.
    #[must_use]
    pub fn new(perimeter: Perimeter, handler: Handler) -> Self {
        Self {
            perimeter,
            handler,
            bodies: Bodies::new(limits::REQUEST_BODIES_BYTES_MAX),
            body_read: Duration::from_millis(limits::BODY_READ_MS_MAX),
        }
    }

    /// Bounds how long a body may take to arrive, in place of the usual limit.
    #[must_use]
    pub fn with_body_read(mut self, limit: Duration) -> Self {
        self.body_read = limit;
        self
    }

    /// Bounds the bytes of all bodies in memory, in place of the usual limit.
    #[must_use]
    pub fn with_bodies(mut self, bytes: usize) -> Self {
        self.bodies = Bodies::new(bytes);
        self
    }

    /// Looks at the process that opened a connection.
    pub(crate) async fn look(&self, guest: Guest) -> Peer {
        self.perimeter.look(guest).await
    }

    /// Lets a process on the socket speak without HTTP; nobody else.
    pub(crate) fn admit_process(&self, peer: &Peer) -> Option<Caller> {
        self.perimeter.admit_process(peer)
    }

    /// Returns the budget of bodies.
    pub(crate) fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Returns how long a body may take to arrive.
    pub(crate) fn body_read(&self) -> Duration {
        self.body_read
    }

    /// Answers what was said to a row without HTTP. `words` are read once the caller may be heard. It
    /// always has an answer, also when a handler panics.
    pub(crate) async fn answer_words(
        &self,
        (caller, closing): (&Caller, &CancellationToken),
        route: &Route,
        words: impl FnOnce() -> Result<Words, Refused>,
    ) -> Result<Reply, Refused> {
        let answering = async {
            prove(route, caller)?;
            let Words { parameter, query, headers, body } = words()?;
            let (caller, closing) = (caller.clone(), closing.clone());
            let ask = Ask { caller, parameter, query, headers, body, closing };
            (self.handler)(route.endpoint, ask).await
        };
        AssertUnwindSafe(answering).catch_unwind().await.unwrap_or_else(|_| Err(panicked()))
    }

    /// Answers one request. It always has an answer, also when a handler panics.
    pub async fn answer(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
        closing: &CancellationToken,
    ) -> Response<Body> {
        let headers = request.headers().clone();
        let answered = AssertUnwindSafe(self.pass(request, peer, closing)).catch_unwind().await;
        let mut response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(refused)) => refused.into_response(),
            Err(_) => panicked().into_response(),
        };
        self.perimeter.share(&headers, &mut response);
        response
    }

    async fn pass(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
        closing: &CancellationToken,
    ) -> Result<Response<Body>, Refused> {
        let (head, body) = request.into_parts();
        if let Some(response) = self.perimeter.preflight(&head, peer)? {
            return Ok(response);
        }
        let caller = self.perimeter.admit(&head, peer)?;
        let (route, parameter) = find(&head.method, head.uri.path())?;
        prove(route, &caller)?;
        let body = match route.method {
            Method::Post => self.read(&head.headers, body).await?,
            Method::Get | Method::Delete => Payload::default(),
        };
        let query = head.uri.query().unwrap_or_default().to_owned();
        let closing = closing.clone();
        let ask = Ask { caller, parameter, query, headers: head.headers, body, closing };
        (self.handler)(route.endpoint, ask).await.map(Reply::into_response)
    }

    /// Reads a body within the limits of one and of all.
    async fn read(&self, headers: &HeaderMap, body: Incoming) -> Result<Payload, Refused> {
        let late = |_| Refused::new("body_timeout", "the body did not arrive in time");
        let whole = self.collect(body);
        let payload = tokio::time::timeout(self.body_read, whole).await.map_err(late)??;
        if payload.is_empty() {
            return Ok(payload);
        }
        let plain = headers.get(CONTENT_ENCODING).is_none_or(|value| value == "identity");
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if plain && kind.is_some_and(is_json) {
            Ok(payload)
        } else {
            let hint = "send `content-type: application/json`, not compressed";
            Err(Refused::new("unsupported_media_type", "the body is not JSON").with_hint(hint))
        }
    }

    async fn collect(&self, mut body: Incoming) -> Result<Payload, Refused> {
        let mut gathering = self.bodies.begin();
        while let Some(frame) = body.frame().await {
            let cut = |_| Refused::new("malformed_body", "the body broke off");
            let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
            if gathering.len() + data.len() > limits::REQUEST_BODY_BYTES_MAX {
                return Err(too_large());
            }
            gathering.push(&data)?;
        }
        Ok(gathering.take())
    }
}

/// Checks what a row needs of its caller.
fn prove(route: &Route, caller: &Caller) -> Result<(), Failure> {
    match route.needs {
        Needs::Caller => Ok(()),
        Needs::Hand => caller.hand(),
        Needs::Program => caller.program(),
        Needs::Person => caller.person(),
    }
}

fn panicked() -> Refused {
    // The panic hook has told what and where.
    tracing::error!("a handler panicked");
    Refused::internal()
}

fn is_json(kind: &str) -> bool {
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Finds the row of a method and path, with the decoded value of the path's parameter.
fn find(method: &hyper::Method, path: &str) -> Result<(&'static Route, String), Refused> {
    let mut allowed: Vec<&str> = Vec::new();
    for route in TABLE {
        let Some(parameter) = fit(route.path, path) else { continue };
        if word(route.method) == method.as_str() {
            return Ok((route, parameter));
        }
        allowed.push(word(route.method));
    }
    if allowed.is_empty() {
        return Err(Refused::new("no_route", "there is nothing at this path"));
    }
    let allowed = allowed.join(", ");
    let text = format!("this path answers {allowed} only");
    Err(Refused::new("method_not_allowed", text).allowing(allowed))
}

/// Returns the method's word on the wire.
pub(crate) fn word(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Delete => "DELETE",
    }
}

/// Fits a path to a pattern, segment by segment; a parameter is decoded after the split, so that an
/// encoded slash stays within its segment.
fn fit(pattern: &str, path: &str) -> Option<String> {
    let mut parameter = String::new();
    let mut segments = path.split('/');
    for wanted in pattern.split('/') {
        let segment = segments.next()?;
        if wanted.starts_with('{') {
            parameter = decode::percent(segment)?;
            if parameter.is_empty() || parameter.len() > limits::PATH_PARAMETER_BYTES_MAX {
                return None;
            }
        } else if wanted != segment {
            return None;
        }
    }
    segments.next().is_none().then_some(parameter)
}

#[cfg(test)]
mod tests;
