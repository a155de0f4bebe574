//! A model vendor on loopback: real HTTP, planned answers, strict about what it is asked.
//!
//! It speaks `POST /v1/chat/completions`, `POST /v1/messages` (streaming and whole) and
//! `GET /v1/models`, records every request, and breaks in planned ways. It holds no conversation: the
//! turn follows from the request alone. It is no model: it never reads what the words mean.

use std::{
    collections::VecDeque,
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

use axum::http::HeaderMap;
use bytes::Bytes;
use serde_json::Value;
use tokio::sync::oneshot;

pub mod plan;

mod anthropic;
mod fault;
mod head;
mod openai;
mod refusal;
mod routes;

pub use plan::Plan;

/// The most requests that are kept; the oldest go first.
const RECORDED_MAX: usize = 1_000;

/// A request as it came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The path asked for.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; a string when it was not JSON.
    pub body: Value,
}

impl Recorded {
    /// Returns the first header of that name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What the routes share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) connections: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: usize,
    recorded: VecDeque<Raw>,
}

/// A request before anybody looks at it; benches never do, so that it costs them nothing.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Raw {
    fn read(&self) -> Recorded {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = self.headers.iter();
        Recorded {
            path: self.path.clone(),
            headers: headers
                .map(|(name, value)| (name.to_string(), lossy(value.as_bytes())))
                .collect(),
            body: serde_json::from_slice(&self.body)
                .unwrap_or_else(|_| Value::String(lossy(&self.body))),
        }
    }
}

impl Shared {
    /// Records a request for an answer and tells its number, from zero.
    pub(crate) fn record(&self, request: Raw) -> usize {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.recorded.len() == RECORDED_MAX {
            state.recorded.pop_front();
        }
        state.recorded.push_back(request);
        state.asked += 1;
        state.asked - 1
    }
}

/// A running server; it stops when dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl ModelServer {
    /// Starts a server on a free loopback port, on a thread and a runtime of its own.
    ///
    /// # Errors
    /// When no port can be bound or no thread started.
    pub fn start(plan: Plan) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared =
            Arc::new(Shared { plan, connections: AtomicUsize::new(0), state: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let routes = routes::router(Arc::clone(&shared));
        let counted = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("model-server".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async move {
                tokio::select! {
                    end = routes::serve(listener, routes, counted) => end,
                    _ = stopped => Ok(()),
                }
            })
        })?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns where it listens, without a path.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL as clients of Chat Completions want it.
    #[must_use]
    pub fn v1_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns how many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Returns the requests for answers so far, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.recorded.iter().map(Raw::read).collect()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A server that already ended has nobody to hear it.
            stop.send(()).unwrap_or_default();
        }
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests;
