//! Keeping house: deletion, retention, copies.

use std::time::Duration;

use serde_json::json;
use store::{Batch, Change, Pruned, Retention, StoreError};
use vocab::message::RunState;

use crate::rig::{Rig, change, session, started, state, step_ended, text, user};

fn rows(rig: &Rig, table: &str) -> i64 {
    let conn = rusqlite::Connection::open(rig.path()).unwrap();
    conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn deleting_leaves_one_tombstone() {
    let rig = Rig::new();
    let store = rig.store();
    let kept = session(&store, "kept").await;
    let id = session(&store, "gone").await;
    let mut message = user("many");
    message.parts = (0..2_500).map(|number| text(&number.to_string())).collect();
    change(&store, &id, Change::AddMessage(message)).await.unwrap();
    let run = started(&store, &id).await;
    assert_eq!(store.delete_session(&id).await.unwrap_err().code(), "conflict");
    change(&store, &id, state(&run, RunState::Parked { blocks: vec![] })).await.unwrap();
    let before = store.cursor().await.unwrap();
    assert!(!store.is_deleted(&id).await.unwrap());
    let tombstone = store.delete_session(&id).await.unwrap();
    assert!(store.is_deleted(&id).await.unwrap());
    assert_eq!(tombstone.body, json!({"kind": "session_deleted"}));
    assert_eq!(tombstone.session, Some(id.clone()));
    let left = store.facts_after(None, 100).await.unwrap();
    let of_it: Vec<_> = left.iter().filter(|event| event.session == Some(id.clone())).collect();
    assert_eq!(of_it, [&tombstone]);
    assert_eq!(store.facts_after(Some(&before), 100).await.unwrap(), [tombstone]);
    for table in ["messages", "parts", "runs"] {
        assert_eq!(rows(&rig, table), 0, "{table}");
    }
    assert_eq!(store.session(&id).await.unwrap_err().code(), "not_found");
    assert_eq!(store.counts().await.unwrap().sessions, 1);
    store.session(&kept).await.unwrap();
}

#[tokio::test]
async fn a_deletion_that_was_cut_off_is_finished_at_the_next_start() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "half gone").await;
    change(&store, &id, Change::AddMessage(user("x"))).await.unwrap();
    store.close().await.unwrap();
    let conn = rusqlite::Connection::open(rig.path()).unwrap();
    conn.execute("UPDATE sessions SET deleted = 1", []).unwrap();
    drop(conn);
    let store = rig.store();
    assert!(store.sessions(store::rows::Filter::default()).await.unwrap().sessions.is_empty());
    assert_eq!(store.finish_deletions().await.unwrap().len(), 1);
    assert!(store.finish_deletions().await.unwrap().is_empty());
    assert_eq!(rows(&rig, "messages") + rows(&rig, "sessions"), 0);
}

#[tokio::test]
async fn old_facts_go_and_older_cursors_expire() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "old").await;
    let run = started(&store, &id).await;
    let many = |count: usize| {
        let batch = Batch::of_session(store.epoch(), id.clone());
        (0..count).fold(batch, |batch, _| batch.fact(step_ended(&run)))
    };
    store.append(many(1_498)).await.unwrap();
    let old = store.cursor().await.unwrap();
    assert_eq!(store.prune(Retention::default()).await.unwrap(), Pruned::default());
    rig.clock.advance(Duration::from_secs(31 * 24 * 3_600));
    let answer = Change::PutIdempotent { scope: "s".into(), token: "t".into(), answer: json!(1) };
    store.append(many(10).change(answer)).await.unwrap();
    assert_eq!(store.prune(Retention::default()).await.unwrap().facts, 1_500);
    let early = store::Cursor { seq: 1_499, ..old.clone() };
    let expired = store.facts_after(Some(&early), 10).await;
    assert_eq!(expired, Err(StoreError::CursorExpired { oldest: old.clone() }));
    assert_eq!(store.facts_after(Some(&old), 100).await.unwrap().len(), 10);
    let few = Retention { facts_count: 3, ..Retention::default() };
    assert_eq!(store.prune(few).await.unwrap(), Pruned { facts: 7, answers: 0 });
    assert_eq!(store.facts_after(None, 100).await.unwrap().len(), 3);
    rig.clock.advance(Duration::from_secs(31 * 24 * 3_600));
    let pruned = store.prune(Retention::default()).await.unwrap();
    assert_eq!(pruned, Pruned { facts: 3, answers: 1 });
    // Numbers go on where they were although nothing is left.
    assert_eq!(store.append(many(1)).await.unwrap().events[0].seq, 1_511);
    assert_eq!(store.transcript(&id).await.unwrap().messages.len(), 1);
}
