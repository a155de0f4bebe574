//! Listeners of the hub: one that is behind, one that comes late. Runs are not here; `sessions` tells those.

use stdx::clock::{Clock, Timestamp};
use store::{Batch, NewSession, Options};
use vocab::{fact::SessionFact, ids::SessionId};

use super::*;

async fn append(hub: &Hub) {
    let batch = Batch::of_session(hub.store.epoch(), SessionId::generate())
        .change(store::Change::CreateSession(NewSession::default()))
        .fact(SessionFact::SessionCreated);
    let appended = hub.store.append(batch).await.unwrap();
    hub.tell(appended.events);
}

fn hub() -> (tempfile::TempDir, Hub) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state");
    stdx::state_file::ensure_dir(&path).unwrap();
    let clock = Clock::manual(Timestamp::from_millis(1));
    let (store, _) = Store::open(&Options::new(path.join("stead.db"), clock)).unwrap();
    (dir, Hub::new(store))
}

#[tokio::test]
async fn a_listener_that_falls_behind_misses_nothing() {
    let (_dir, hub) = hub();
    let start = hub.store.cursor().await.unwrap();
    let mut slow = hub.subscribe_after(Some(start.clone())).await.unwrap();
    let n = HUB_EVENTS_MAX.max(EVENT_PAGE_ROWS_MAX) + 50;
    for _ in 0..n {
        append(&hub).await;
    }
    let mut last = start.seq;
    for _ in 0..n {
        let event = slow.next().await.unwrap().unwrap();
        assert_eq!(event.seq, last + 1);
        last = event.seq;
    }
    append(&hub).await;
    assert_eq!(slow.next().await.unwrap().unwrap().seq, last + 1);
}

#[tokio::test]
async fn a_listener_without_a_cursor_hears_only_what_comes() {
    let (_dir, hub) = hub();
    append(&hub).await;
    let mut listener = hub.subscribe_after(None).await.unwrap();
    append(&hub).await;
    let event = listener.next().await.unwrap().unwrap();
    assert_eq!(event.seq, hub.store.cursor().await.unwrap().seq);
}

#[tokio::test]
async fn a_cursor_of_another_store_is_refused() {
    let (_dir, hub) = hub();
    let foreign = Cursor { store_id: "00000000".into(), seq: 0 };
    assert_eq!(hub.subscribe_after(Some(foreign)).await.unwrap_err().code, "cursor_expired");
}

#[tokio::test]
async fn events_told_out_of_order_are_heard_in_order() {
    let (_dir, hub) = hub();
    let mut listener = hub.subscribe_after(None).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..3 {
        let batch = Batch::of_session(hub.store.epoch(), SessionId::generate())
            .change(store::Change::CreateSession(NewSession::default()))
            .fact(SessionFact::SessionCreated);
        held.extend(hub.store.append(batch).await.unwrap().events);
    }
    held.reverse();
    hub.tell(held);
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(listener.next().await.unwrap().unwrap().seq);
    }
    assert!(heard.is_sorted(), "{heard:?}");
}
