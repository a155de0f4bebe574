//! What one chunk of a deletion removes.

use serde_json::json;
use stdx::clock::{Clock, Timestamp};
use vocab::{
    ids::MessageId,
    message::{Message, Part, Role},
};

use super::*;
use crate::{Batch, Change, NewFact, NewSession, Options};

/// Counts the rows that a deletion removes.
async fn rows(store: &Store) -> usize {
    let sql = "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM messages) \
               + (SELECT count(*) FROM parts) + (SELECT count(*) FROM facts)";
    let found: i64 =
        store.read(move |conn| Ok(conn.query_row(sql, [], |row| row.get(0))?)).await.unwrap();
    usize::try_from(found).unwrap()
}

#[tokio::test]
async fn a_chunk_deletes_so_many_rows_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(Timestamp::from_millis(1));
    let options = Options::new(dir.path().join("state/stead.db"), clock);
    let (store, _) = Store::open(&options).unwrap();
    let id = SessionId::generate();
    let parts = (0..STORE_CHUNK_ROWS_MAX + 5).map(|_| Part::Text { text: "x".into(), done: true });
    let batch = Batch::of_session(store.epoch(), id.clone())
        .change(Change::CreateSession(NewSession::default()))
        .change(Change::AddMessage(Message {
            id: MessageId::generate(),
            role: Role::User,
            run: None,
            parts: parts.collect(),
            created_at: 1,
        }));
    let fact = || NewFact::new("probe", json!({ "kind": "probed" }));
    let batch = (0..STORE_CHUNK_ROWS_MAX).fold(batch, |batch, _| batch.fact(fact()));
    store.append(batch).await.unwrap();
    let hidden = id.clone();
    store.task(move |writer| writer.within(|scene| hide(scene, &hidden))).await.unwrap();
    // Session, message, parts and facts; at the end one fact tells that they are gone.
    let whole = rows(&store).await;
    assert_eq!(whole, 2 * STORE_CHUNK_ROWS_MAX + 7);
    for left in [whole - STORE_CHUNK_ROWS_MAX, whole - 2 * STORE_CHUNK_ROWS_MAX, 1] {
        let id = id.clone();
        store.task(move |writer| writer.within(|scene| chunk(scene, &id))).await.unwrap();
        assert_eq!(rows(&store).await, left);
    }
}
