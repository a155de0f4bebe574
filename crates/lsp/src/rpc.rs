//! A peer that speaks JSON-RPC: requests with a deadline, answers to what it asks, notifications both ways.
//!
//! What the methods mean is its handler's. A peer that broke the rules is ended and never mended here.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use vocab::limits::{LSP_OUTGOING_MAX, LSP_PENDING_MAX, LSP_REST_MS};

use crate::framing;

/// An error as one side tells it to the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
    /// The server gave a request up and asks for it again.
    pub(crate) const SERVER_CANCELLED: i64 = -32_802;
    /// The document changed under the request.
    pub(crate) const CONTENT_MODIFIED: i64 = -32_801;

    pub(crate) fn unknown(method: &str) -> Self {
        let message = format!("{method} is not known here");
        Self { code: Self::METHOD_NOT_FOUND, message }
    }
}

/// What answers the other side. Must not block.
pub(crate) trait Handler: Send + Sync + 'static {
    fn asked(&self, method: &str, params: &Value) -> Result<Value, Refusal>;
    fn told(&self, method: &str, params: &Value);
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PeerError {
    /// The line is over; why.
    Ended(String),
    TimedOut,
    Cancelled,
    /// Too many requests wait for answers.
    Busy,
    Refused(Refusal),
}

/// A live line. Clones are the same.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Inner>);

struct Inner {
    outgoing: mpsc::Sender<Vec<u8>>,
    pending: Mutex<HashMap<i64, oneshot::Sender<Result<Value, Refusal>>>>,
    next: AtomicI64,
    ended: CancellationToken,
    why: OnceLock<String>,
    send: Duration,
}

/// Takes a request out of the waiting ones, however waiting for it ends.
struct Waiting<'a>(&'a Inner, i64);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.pending().remove(&self.1);
    }
}

impl Peer {
    /// Begins to listen and to send. `send` is how long the other side may not read.
    pub(crate) fn start(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        handler: Arc<dyn Handler>,
        send: Duration,
    ) -> Self {
        let (outgoing, queue) = mpsc::channel(LSP_OUTGOING_MAX);
        let peer = Self(Arc::new(Inner {
            outgoing,
            pending: Mutex::default(),
            next: AtomicI64::new(1),
            ended: CancellationToken::new(),
            why: OnceLock::new(),
            send,
        }));
        tokio::spawn(write(peer.clone(), queue, writer));
        tokio::spawn(listen(peer.clone(), BufReader::new(reader), handler));
        peer
    }

    /// Ends the line; the first reason stays.
    pub(crate) fn end(&self, why: impl Into<String>) {
        self.0.why.set(why.into()).ok();
        self.0.ended.cancel();
        self.0.pending().clear();
    }

    /// Ends the line once what is still on it was read, which a program that has ended cannot make longer.
    pub(crate) async fn end_after_rest(&self) {
        let rest = Duration::from_millis(LSP_REST_MS);
        if timeout(rest, self.ended()).await.is_err() {
            self.end("its program ended");
        }
    }

    /// Tells whether both are the same line.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until the line is over.
    pub(crate) async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// Returns why the line is over; none while it is not.
    pub(crate) fn why(&self) -> Option<String> {
        let why = || self.0.why.get().cloned().unwrap_or_default();
        self.0.ended.is_cancelled().then(why)
    }

    fn gone(&self) -> PeerError {
        PeerError::Ended(self.why().unwrap_or_default())
    }

    /// Tells the other side something.
    pub(crate) async fn notify(&self, method: &str, params: &Value) -> Result<(), PeerError> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    async fn send(&self, message: &Value) -> Result<(), PeerError> {
        let queued = self.0.outgoing.send(framing::encode(message));
        let queued = tokio::select! {
            biased;
            () = self.ended() => return Err(self.gone()),
            queued = timeout(self.0.send, queued) => queued,
        };
        if !matches!(queued, Ok(Ok(()))) {
            self.end("it does not read what it is sent");
            return Err(self.gone());
        }
        Ok(())
    }

    /// Asks the other side and waits for its answer.
    pub(crate) async fn request(
        &self,
        (method, params): (&str, &Value),
        until: Instant,
        cancel: &CancellationToken,
    ) -> Result<Value, PeerError> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (answer, mut answered) = oneshot::channel();
        {
            let mut pending = self.0.pending();
            if pending.len() >= LSP_PENDING_MAX {
                return Err(PeerError::Busy);
            }
            pending.insert(id, answer);
        }
        let _waiting = Waiting(&self.0, id);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request).await?;
        let error = tokio::select! {
            biased;
            answered = &mut answered => {
                let answered = answered.ok().ok_or_else(|| self.gone())?;
                return answered.map_err(PeerError::Refused);
            }
            () = self.ended() => return Err(self.gone()),
            () = cancel.cancelled() => PeerError::Cancelled,
            () = sleep_until(until) => PeerError::TimedOut,
        };
        self.notify("$/cancelRequest", &json!({"id": id})).await.ok();
        Err(error)
    }

    /// Deals with one message; an error ends the line.
    async fn take(&self, mut message: Value, handler: &dyn Handler) -> Result<(), String> {
        let params = message.get_mut("params").map(Value::take).unwrap_or_default();
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), None) => handler.told(method, &params),
            (Some(method), Some(id)) => {
                let answer = match handler.asked(method, &params) {
                    Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    Err(Refusal { code, message }) => {
                        json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
                    }
                };
                self.send(&answer).await.ok();
            }
            (None, Some(id)) => {
                let waiting = id.as_i64().and_then(|id| self.0.pending().remove(&id));
                // An answer that nobody waits for any more is none's.
                if let Some(waiting) = waiting {
                    waiting.send(answer_of(&mut message)).ok();
                }
            }
            (None, None) => return Err("it sent what is neither a request nor an answer".into()),
        }
        Ok(())
    }
}

fn answer_of(message: &mut Value) -> Result<Value, Refusal> {
    let Some(error) = message.get("error").filter(|error| !error.is_null()) else {
        return Ok(message.get_mut("result").map(Value::take).unwrap_or_default());
    };
    Err(Refusal {
        code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
    })
}

impl Inner {
    fn pending(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Result<Value, Refusal>>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn listen(
    peer: Peer,
    mut reader: BufReader<impl AsyncRead + Unpin>,
    handler: Arc<dyn Handler>,
) {
    let why = loop {
        let message = tokio::select! {
            biased;
            () = peer.ended() => return,
            message = framing::read(&mut reader) => message,
        };
        match message {
            Ok(Some(message)) => {
                if let Err(why) = peer.take(message, handler.as_ref()).await {
                    break why;
                }
            }
            Ok(None) => break "it closed the line".to_owned(),
            Err(error) => break format!("it sent {error}"),
        }
    };
    peer.end(why);
}

async fn write(
    peer: Peer,
    mut queue: mpsc::Receiver<Vec<u8>>,
    mut writer: impl AsyncWrite + Unpin,
) {
    loop {
        let message = tokio::select! {
            biased;
            () = peer.ended() => return,
            message = queue.recv() => message,
        };
        let Some(message) = message else { return };
        let written = tokio::select! {
            biased;
            () = peer.ended() => return,
            written = async { writer.write_all(&message).await?; writer.flush().await } => written,
        };
        if let Err(error) = written {
            return peer.end(format!("it takes no more messages: {error}"));
        }
    }
}

#[cfg(test)]
mod tests;
