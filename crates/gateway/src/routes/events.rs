//! Every fact, from a cursor on: `GET /events`.
//!
//! The stream begins with the reader's cursor as an id without data, so that one who hears nothing and
//! comes back still misses nothing. Each fact is `event: stead-fact` with its cursor as id and
//! `vocab::fact::Event` as data. Where facts are gone that the reader has not heard, and where they
//! cannot be read, `event: stead-gap` says so with a problem as data, and the stream ends: the reader
//! asks for the present state and begins anew without a cursor. `Last-Event-ID` wins over `?after=`.
//!
//! Which facts there are is not decided here.

use api::problem::Problem;
use bytes::Bytes;
use daemon::hub::{Cursor, Subscription};
use futures_util::stream;
use vocab::{fact::Event, outcome::Failure};

use crate::{
    decode::Query,
    mount::{Ask, Reply},
    refuse::Refused,
    routes::Services,
    sse::Events,
};

/// How long a browser waits before it comes back.
const RETRY_MS: u64 = 1_000;

/// `GET /events`
pub(super) async fn follow(services: &Services, ask: &Ask) -> Result<Reply, Refused> {
    let after = Query::parse(&ask.query, &["after"])?.take("after");
    let cursor = match ask.header("last-event-id").map(str::to_owned).or(after) {
        Some(text) => text
            .parse::<Cursor>()
            .map_err(|bad| Refused::new("invalid_query", bad.to_string()).at("after"))?,
        None => services.daemon.store.cursor().await.map_err(Failure::from)?,
    };
    let newest = services.daemon.store.cursor().await.map_err(Failure::from)?;
    if cursor.store_id == newest.store_id && cursor.seq > newest.seq {
        let text = format!("the cursor is ahead of this store, which is at {newest}");
        return Err(Refused::new("invalid_query", text)
            .at("after")
            .with_hint("begin without a cursor, and ask for the present state"));
    }
    let first = format!("retry: {RETRY_MS}\nid: {cursor}\n\n");
    let told = services.daemon.hub.subscribe_after(Some(cursor)).await?;
    let events = Events::new(frames(told)).after(first.into()).until(ask.closing.clone());
    Ok(Reply::Events(Box::new(events), Vec::new()))
}

fn frames(told: Subscription) -> impl futures_util::Stream<Item = Result<Bytes, crate::sse::Cut>> {
    stream::unfold(Some(told), |told| async move {
        let mut told = told?;
        match told.next().await {
            Ok(Some(event)) => Some((Ok(fact(&event)), Some(told))),
            Ok(None) => None,
            Err(failure) => Some((Ok(gap(failure)), None)),
        }
    })
}

fn fact(event: &Event) -> Bytes {
    let data = serde_json::to_string(event).unwrap_or_default();
    format!("id: {}\nevent: stead-fact\ndata: {data}\n\n", event.cursor).into()
}

fn gap(failure: Failure) -> Bytes {
    let data = serde_json::to_string(&Problem::from(failure)).unwrap_or_default();
    format!("event: stead-gap\ndata: {data}\n\n").into()
}
