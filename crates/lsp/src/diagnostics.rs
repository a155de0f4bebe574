//! Diagnostics of the present content, or the word that there are none yet. Never those of an earlier one.
//!
//! Three kinds of servers, three ways to be sure:
//! - one that is asked for diagnostics answers in the order of what it was told, so its answer is of what it was
//!   told last;
//! - one that publishes them with a version is waited for until the version is the present one; where another
//!   file changed after that, it is given a settling time to say something new;
//! - one that publishes them without a version: only what arrives after the change was sent counts, and only
//!   once the server has answered a question that was asked after the change (so that it has read the change),
//!   and after that has published nothing more for the settling time.

use std::{future::Future, pin::Pin};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use vocab::{
    limits::{LSP_PULL_AGAIN_MS, LSP_RESULTS_MAX},
    outcome::Failure,
};

use crate::{
    documents::Document,
    instance::{Ask, Served},
    rpc::{PeerError, Refusal},
};

/// What is known of a document's present content.
#[derive(Debug)]
pub(crate) enum Found {
    /// These, of so many.
    Known(Vec<Value>, usize),
    /// Nothing, until now.
    NotYet,
}

const PULL: &str = "textDocument/diagnostic";

/// Asks for, or waits for, the diagnostics of a document that was just shown.
pub(crate) async fn of(served: &Served, document: &Document, ask: &Ask) -> Result<Found, Failure> {
    match wait(served, document, ask).await? {
        Some(found) => Ok(found),
        None => pull(served, document, ask).await,
    }
}

async fn pull(served: &Served, document: &Document, ask: &Ask) -> Result<Found, Failure> {
    let mut params = json!({"textDocument": {"uri": document.uri}});
    let added = served.board.registered(PULL).and_then(|added| added.identifier);
    if let Some(name) = added.as_deref().or(served.abilities.diagnostic_name()) {
        params["identifier"] = Value::from(name);
    }
    loop {
        let asked = (PULL, &params);
        match served.peer.request(asked, ask.until, &ask.cancel).await {
            Ok(answer) => {
                let Some(items) = answer.get("items").and_then(Value::as_array) else {
                    return Ok(Found::NotYet);
                };
                let kept = items.iter().take(LSP_RESULTS_MAX).cloned().collect();
                return Ok(Found::Known(kept, items.len()));
            }
            Err(PeerError::TimedOut) => return Ok(Found::NotYet),
            Err(PeerError::Refused(Refusal {
                code: Refusal::SERVER_CANCELLED | Refusal::CONTENT_MODIFIED,
                ..
            })) => {
                let again = Instant::now() + std::time::Duration::from_millis(LSP_PULL_AGAIN_MS);
                if again >= ask.until {
                    return Ok(Found::NotYet);
                }
                sleep_until(again).await;
            }
            Err(error) => return Err(served.instance.failure(error)),
        }
    }
}

type Answered<'a> = Pin<Box<dyn Future<Output = Result<Value, PeerError>> + Send + 'a>>;

/// How far it is with a publication.
enum Stand {
    Fresh,
    /// Fresh at that time, if nothing more comes.
    At(Instant),
    /// The server must answer something first.
    Unread,
    Old,
}

/// Waits for a publication. None as soon as the server says that it can be asked, which some say only after
/// their start.
async fn wait(served: &Served, document: &Document, ask: &Ask) -> Result<Option<Found>, Failure> {
    let board = &served.board;
    let mut moved = board.watch();
    let params = json!({"textDocument": {"uri": document.uri}});
    // A server answers every question, if only to say that it does not know it.
    let symbols = "textDocument/documentSymbol";
    let question = if served.can(symbols) { symbols } else { "$/stead/settled" };
    let mut asked: Option<Answered<'_>> = None;
    let mut read_at: Option<Instant> = None;
    loop {
        moved.borrow_and_update();
        if served.can(PULL) {
            return Ok(None);
        }
        let published = board.published(&document.path);
        let stand = match &published {
            None => Stand::Old,
            Some(published) => {
                let settle = served.instance.settle();
                match (published.version, read_at) {
                    (Some(version), _) if version != document.version => Stand::Old,
                    (Some(_), _) => match board.disturbed() {
                        Some(at) if at > published.at => Stand::At(at + settle),
                        _ => Stand::Fresh,
                    },
                    (None, _) if published.arrival <= document.arrivals => Stand::Old,
                    (None, None) => Stand::Unread,
                    (None, Some(read_at)) => Stand::At(published.at.max(read_at) + settle),
                }
            }
        };
        let mut calm = None;
        match (stand, published) {
            (Stand::Fresh, Some(found)) => return Ok(Some(Found::Known(found.items, found.count))),
            (Stand::At(at), Some(found)) if at <= Instant::now() => {
                return Ok(Some(Found::Known(found.items, found.count)));
            }
            (Stand::At(at), _) => calm = Some(at),
            (Stand::Unread, _) if asked.is_none() => {
                let request = served.peer.request((question, &params), ask.until, &ask.cancel);
                asked = Some(Box::pin(request));
            }
            _ => {}
        }
        tokio::select! {
            biased;
            () = ask.cancel.cancelled() => return Err(served.instance.failure(PeerError::Cancelled)),
            () = served.peer.ended() => return Err(served.instance.failure(
                PeerError::Ended(served.peer.why().unwrap_or_default()))),
            () = sleep_until(ask.until) => return Ok(Some(Found::NotYet)),
            _ = moved.changed() => {}
            _ = async { match &mut asked { Some(asked) => asked.await, None => std::future::pending().await } },
                if read_at.is_none() && asked.is_some() => read_at = Some(Instant::now()),
            () = sleep_until(calm.unwrap_or(ask.until)), if calm.is_some() => {}
        }
    }
}
