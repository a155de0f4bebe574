//! How a server ends: by itself, because it was asked to, or because it holds too much. Also how that is told.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{LSP_ERROR_BYTES_MAX, LSP_SHUTDOWN_MS},
    outcome::{Effect, Failure},
};

use super::{Instance, Live};
use crate::{
    process,
    rpc::{Peer, PeerError, Refusal},
    site,
    status::State,
};

impl Instance {
    /// Tells how a server ended that was not asked to, and ends what it left.
    pub(super) async fn bury(&self, mut dead: Live) {
        let why = dead.peer.why().unwrap_or_default();
        let said = match dead.process.take() {
            Some(process) => process.end(Duration::from_millis(200), process::GRACE).await,
            None => String::new(),
        };
        self.note_failure(format!("{} is gone: {why}{said}", self.server.name));
    }

    pub(super) fn note_failure(&self, why: String) -> String {
        let why = site::plain(&why, LSP_ERROR_BYTES_MAX);
        let mut told = self.told_now();
        (told.state, told.pid, told.rss) = (State::Failed, None, None);
        told.failures.push_back(Instant::now());
        told.last_error = Some(why.clone());
        why
    }

    /// Ends the server as it asks to be ended. One that is only attached is let go.
    pub(super) async fn stop_live(&self, mut live: Live) {
        if let Some(process) = live.process.take() {
            let wait = Duration::from_millis(LSP_SHUTDOWN_MS);
            let never = CancellationToken::new();
            let until = Instant::now() + wait;
            let asked = live.peer.request(("shutdown", &Value::Null), until, &never).await;
            if asked.is_ok() {
                live.peer.notify("exit", &Value::Null).await.ok();
            }
            let wait = if asked.is_ok() { wait } else { Duration::ZERO };
            process.end(wait, process::GRACE).await;
        }
        live.peer.end("it was stopped");
        let mut told = self.told_now();
        (told.state, told.pid, told.rss) = (State::Stopped, None, None);
    }

    /// Stops it, whoever uses it.
    pub(crate) async fn stop(&self) {
        let mut slot = self.live.lock().await;
        if let Some(live) = slot.take() {
            self.stop_live(live).await;
        }
    }

    /// Looks at the memory of a server that has answered. One that holds too much is ended and told.
    pub(super) async fn look(&self, peer: &Peer) -> Option<String> {
        {
            let mut told = self.told_now();
            if told.looked.is_some_and(|at| at.elapsed() < self.site.bounds.memory_look) {
                return None;
            }
            told.looked = Some(Instant::now());
        }
        let scope = {
            let slot = self.live.lock().await;
            let live = slot.as_ref().filter(|live| live.peer.is(peer))?;
            Arc::clone(&live.process.as_ref()?.scope)
        };
        let held = tokio::task::spawn_blocking(move || scope.resident_bytes()).await.ok()?;
        self.told_now().rss = Some(held);
        let most = self.site.bounds.memory_bytes_max;
        if held <= most {
            return None;
        }
        let mut slot = self.live.lock().await;
        let mut live = slot.take_if(|live| live.peer.is(peer))?;
        live.peer.end("it held too much memory");
        if let Some(process) = live.process.take() {
            process.end(Duration::ZERO, Duration::ZERO).await;
        }
        let why = format!(
            "{} held {} MiB, more than {} MiB, and was ended; the next call starts it again",
            self.server.name,
            held >> 20,
            most >> 20,
        );
        Some(self.note_failure(why))
    }

    /// Words why there is no answer.
    pub(crate) fn failure(&self, error: PeerError) -> Failure {
        let name = &self.server.name;
        // What a program of ours has done meanwhile cannot be taken back.
        let effect = if self.is_managed() { Effect::Indeterminate } else { Effect::NotStarted };
        match error {
            PeerError::Ended(why) => {
                let message = site::plain(&format!("{name} is gone: {why}"), LSP_ERROR_BYTES_MAX);
                Failure::new("lsp_server_ended", effect, message)
                    .with_hint("the next call starts it again")
            }
            PeerError::TimedOut => {
                Failure::new("timeout", effect, format!("{name} did not answer in time"))
            }
            PeerError::Cancelled => {
                Failure::new("aborted", effect, "stopped because the call was cancelled")
            }
            PeerError::Busy => {
                let message = format!("too many calls wait for {name}");
                Failure::not_started("busy", message).with_hint("try again")
            }
            PeerError::Refused(Refusal { code, message }) => {
                let message = format!("{name} refused: {message} ({code})");
                Failure::not_started("lsp_refused", site::plain(&message, LSP_ERROR_BYTES_MAX))
            }
        }
    }
}
