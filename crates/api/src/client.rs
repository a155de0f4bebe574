//! The typed client: one HTTP/1.1 connection at a time over the Unix socket, or over loopback TCP with
//! a credential. It parses what it needs and starts nothing.

use std::{path::PathBuf, time::Duration};

use base64::Engine as _;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::{Body as _, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};
use stdx::secret::Secret;
use tokio::net::{TcpStream, UnixStream};
use vocab::{
    limits::{CLIENT_ANSWER_BYTES_MAX, CLIENT_CONNECT_MS_MAX},
    outcome::{Effect, Failure},
};

use crate::{
    problem::Problem,
    routes::{Endpoint, Method},
};

/// Where a daemon is.
#[derive(Debug, Clone)]
pub enum Address {
    /// Its Unix socket; the kernel vouches for the caller.
    Socket(PathBuf),
    /// Its loopback address, with the credential.
    Tcp {
        /// `127.0.0.1:port`.
        host: String,
        /// The credential of this daemon.
        credential: Secret,
    },
}

/// A client of one daemon.
#[derive(Debug, Clone)]
pub struct Client {
    address: Address,
    answer_bytes_max: usize,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers there.
    #[error("no daemon answers")]
    Unreachable(#[source] std::io::Error),
    /// The daemon said no.
    #[error("{}", .0.message)]
    Problem(Box<Problem>),
    /// The connection broke in the middle; whether the world changed is unknown.
    #[error("the connection to the daemon broke")]
    Broken(#[source] hyper::Error),
    /// The answer broke off before its end: it is not the whole, however much of it came.
    #[error("the daemon's answer broke off before its end")]
    Cut {
        /// Whether the world changed; a question changes nothing.
        effect: Effect,
        /// How it broke off.
        #[source]
        source: hyper::Error,
    },
    /// The answer makes no sense.
    #[error("the daemon's answer could not be read: {0}")]
    Malformed(String),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unreachable(source) => {
                Self::not_started("daemon_unreachable", format!("no daemon answers: {source}"))
            }
            ClientError::Problem(problem) => (*problem).into(),
            ClientError::Broken(source) => Self::new(
                "connection_broken",
                Effect::Indeterminate,
                format!("the connection to the daemon broke: {source}"),
            ),
            ClientError::Cut { effect, .. } => {
                let text = "the daemon's answer broke off before its end";
                Self::new("connection_broken", effect, text)
                    .with_hint("stead daemon logs says why, if the daemon knows")
            }
            ClientError::Malformed(text) => Self::new(
                "answer_malformed",
                Effect::Indeterminate,
                format!("the daemon's answer could not be read: {text}"),
            ),
        }
    }
}

impl Client {
    /// Builds a client; nothing is connected yet.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self { address, answer_bytes_max: CLIENT_ANSWER_BYTES_MAX }
    }

    /// Asks and reads one JSON answer. `parameter` fills the path's braces, `query` is appended as it is.
    ///
    /// # Errors
    /// When nobody answers, the daemon refuses, or the answer cannot be read.
    pub async fn json<B: Serialize + Sync, A: DeserializeOwned>(
        &self,
        endpoint: Endpoint,
        target: Target<'_>,
        body: Option<&B>,
    ) -> Result<A, ClientError> {
        let response = self.send(endpoint, target, body, None).await?;
        let bytes = self.collect(endpoint, response.into_body()).await?;
        serde_json::from_slice(&bytes).map_err(|error| ClientError::Malformed(error.to_string()))
    }

    /// Asks and hands out the body of a stream of events, with the status line's headers checked.
    ///
    /// # Errors
    /// When nobody answers or the daemon refuses.
    pub async fn events<B: Serialize + Sync>(
        &self,
        endpoint: Endpoint,
        target: Target<'_>,
        body: Option<&B>,
        last_event_id: Option<&str>,
    ) -> Result<Response<Incoming>, ClientError> {
        self.send(endpoint, target, body, last_event_id).await
    }

    async fn send<B: Serialize + Sync>(
        &self,
        endpoint: Endpoint,
        target: Target<'_>,
        body: Option<&B>,
        last_event_id: Option<&str>,
    ) -> Result<Response<Incoming>, ClientError> {
        let route = endpoint.route();
        let mut path = endpoint.path_with(target.parameter);
        if !target.query.is_empty() {
            path.push('?');
            path.push_str(target.query);
        }
        let method = match route.method {
            Method::Get => hyper::Method::GET,
            Method::Post => hyper::Method::POST,
            Method::Delete => hyper::Method::DELETE,
        };
        let bytes = match body {
            Some(body) => serde_json::to_vec(body)
                .map_err(|error| ClientError::Malformed(error.to_string()))?,
            None => Vec::new(),
        };
        let mut request = Request::builder().method(method).uri(path);
        if !bytes.is_empty() {
            request = request.header("content-type", "application/json");
        }
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = match &self.address {
            Address::Socket(_) => request.header("host", "localhost"),
            Address::Tcp { host, credential } => {
                let pair = format!("agent:{}", credential.expose());
                let basic = base64::engine::general_purpose::STANDARD.encode(pair);
                request.header("host", host).header("authorization", format!("Basic {basic}"))
            }
        };
        let request = request
            .body(Full::new(Bytes::from(bytes)))
            .map_err(|error| ClientError::Malformed(error.to_string()))?;
        let response = self.exchange(request).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let bytes = self.collect(endpoint, response.into_body()).await?;
        match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) => Err(ClientError::Problem(Box::new(problem))),
            Err(_) => Err(ClientError::Malformed(format!("HTTP {status} without a problem"))),
        }
    }

    /// Reads an answer to its end, whether or not its length is told before.
    async fn collect(&self, endpoint: Endpoint, mut body: Incoming) -> Result<Bytes, ClientError> {
        let max = self.answer_bytes_max;
        // What announces too much is not begun.
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if max < announced {
            let text = format!("it announces {announced} bytes, and {max} are taken");
            return Err(ClientError::Malformed(text));
        }
        let mut whole = BytesMut::with_capacity(announced);
        while let Some(frame) = body.frame().await {
            let cut = |source| ClientError::Cut { effect: effect_of(endpoint), source };
            let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
            if max - whole.len() < data.len() {
                return Err(ClientError::Malformed(format!("it is longer than {max} bytes")));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        let limit = Duration::from_millis(CLIENT_CONNECT_MS_MAX);
        let late = |_| ClientError::Unreachable(std::io::ErrorKind::TimedOut.into());
        match &self.address {
            Address::Socket(path) => {
                let stream =
                    tokio::time::timeout(limit, UnixStream::connect(path)).await.map_err(late)?;
                drive(TokioIo::new(stream.map_err(ClientError::Unreachable)?), request).await
            }
            Address::Tcp { host, .. } => {
                let stream =
                    tokio::time::timeout(limit, TcpStream::connect(host)).await.map_err(late)?;
                let stream = stream.map_err(ClientError::Unreachable)?;
                stream.set_nodelay(true).map_err(ClientError::Unreachable)?;
                drive(TokioIo::new(stream), request).await
            }
        }
    }
}

/// What fills a route: the value of its one path parameter, and the query.
#[derive(Debug, Clone, Copy, Default)]
pub struct Target<'a> {
    /// Fills the braces of the path.
    pub parameter: &'a str,
    /// Comes after the question mark, encoded already.
    pub query: &'a str,
}

impl<'a> Target<'a> {
    /// Fills the path alone.
    #[must_use]
    pub fn of(parameter: &'a str) -> Self {
        Self { parameter, query: "" }
    }
}

/// Tells what a request whose answer is lost did to the world.
fn effect_of(endpoint: Endpoint) -> Effect {
    match endpoint.route().method {
        Method::Get => Effect::NotStarted,
        Method::Post | Method::Delete => Effect::Indeterminate,
    }
}

async fn drive<S>(
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, ClientError>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(stream).await.map_err(ClientError::Broken)?;
    tokio::spawn(async move {
        // A broken connection shows in the body that its reader holds.
        connection.await.ok();
    });
    sender.send_request(request).await.map_err(ClientError::Broken)
}

#[cfg(test)]
mod tests;
