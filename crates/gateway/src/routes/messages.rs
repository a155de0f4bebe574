//! A conversation as one JSON array, told page by page: `GET /sessions/{session}/messages`.
//!
//! The first page is read before the answer begins, so that a session that is not there is told with a
//! status. One that goes away later, or cannot be read, breaks the answer off inside the array, which
//! nobody takes for the whole. How much a page holds is the store's decision.

use std::sync::Arc;

use ::daemon::caller::Caller;
use ::sessions::{
    rows::{MessagePage, PageMark},
    sessions::Sessions,
};
use api::ui;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use vocab::{ids::SessionId, limits::STORE_PAGE_BYTES_MAX};

use crate::{
    body::Pieces,
    mount::{Ask, Reply},
    refuse::Refused,
    routes::{Services, session_of},
    sse::Cut,
};

/// `GET /sessions/{session}/messages`
pub(super) async fn tell(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let session = session_of(services, &ask.caller, &ask.parameter).await?;
    let sessions = Arc::clone(&services.sessions);
    let telling = Telling { sessions, caller: ask.caller.clone(), session };
    let (first, next) = telling.page(None).await?;
    if next.is_none() {
        return Ok(Reply::Json(first));
    }
    let rest = stream::try_unfold(next, move |next| telling.clone().more(next));
    Ok(Reply::Pieces(Pieces::new(stream::iter([Ok(first)]).chain(rest))))
}

/// A conversation that is being told, and to whom.
#[derive(Clone)]
struct Telling {
    sessions: Arc<Sessions>,
    caller: Caller,
    session: SessionId,
}

impl Telling {
    /// Reads and writes a page, and tells where the next one begins.
    async fn page(&self, from: Option<PageMark>) -> Result<(Bytes, Option<PageMark>), Refused> {
        let page = self.sessions.messages(&self.caller, &self.session, from).await?;
        let next = page.next;
        if page.bytes <= STORE_PAGE_BYTES_MAX {
            return Ok((written(&page, from)?, next));
        }
        // A message larger than a page takes its time, which is not for a thread of the runtime.
        let writing = tokio::task::spawn_blocking(move || written(&page, from));
        // Only a panic ends it otherwise, and the hook has told that.
        let text = writing.await.unwrap_or_else(|_| Err(Refused::internal()))?;
        Ok((text, next))
    }

    /// Returns the page that begins there; nothing behind the last one.
    async fn more(self, next: Option<PageMark>) -> Result<Option<(Bytes, Option<PageMark>)>, Cut> {
        let Some(from) = next else { return Ok(None) };
        self.page(Some(from)).await.map(Some).map_err(|refused| {
            let (session, code) = (&self.session, &refused.problem().code);
            tracing::warn!(%session, %code, "a conversation could not be told to its end");
            Cut
        })
    }
}

/// Writes a page of the array: the first opens it, the last closes it.
fn written(page: &MessagePage, from: Option<PageMark>) -> Result<Bytes, Refused> {
    let mut text = Vec::with_capacity(page.bytes);
    if from.is_none() {
        text.push(b'[');
    }
    for (idx, message) in page.messages.iter().enumerate() {
        if from.is_some() || 0 < idx {
            text.push(b',');
        }
        serde_json::to_writer(&mut text, &ui::message(message)).map_err(|error| {
            tracing::error!(%error, "a message does not serialise");
            Refused::internal()
        })?;
    }
    if page.next.is_none() {
        text.push(b']');
    }
    Ok(text.into())
}
