//! Steps, copies and refusals.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::{
    batch::Batch,
    open::{Options, writer},
    sql::meta,
    store::Store,
};
use stdx::clock::{Clock, Timestamp};

const NEXT: &str = "ALTER TABLE idempotency ADD COLUMN note TEXT";
const BROKEN: &str =
    "ALTER TABLE idempotency ADD COLUMN note TEXT; ALTER TABLE nothing ADD COLUMN x TEXT";

fn options(dir: &tempfile::TempDir) -> Options {
    let clock = Clock::manual(Timestamp::from_millis(5));
    Options::new(dir.path().join("state/stead.db"), clock)
}

fn steps(next: &'static str) -> Vec<&'static str> {
    STEPS.iter().copied().chain([next]).collect()
}

/// The schema that this program knows.
fn known() -> u32 {
    u32::try_from(STEPS.len()).unwrap()
}

fn version(path: &Path) -> u32 {
    let conn = Connection::open(path).unwrap();
    conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_step_keeps_the_content_and_leaves_a_private_copy_of_before() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(&options(&dir)).unwrap();
    let put = crate::Change::PutIdempotent {
        scope: "s".into(),
        token: "t".into(),
        answer: serde_json::json!(1),
    };
    store.append(Batch::of_store(store.epoch()).change(put)).await.unwrap();
    store.close().await.unwrap();
    let (store, opening) = Store::open_with(&options(&dir), &steps(NEXT)).unwrap();
    assert_eq!(store.idempotent("s", "t").await.unwrap(), Some(serde_json::json!(1)));
    let copy = opening.migrated_from.unwrap();
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(version(&copy), known());
    let kept = Connection::open(&copy).unwrap();
    let rows: i64 =
        kept.query_row("SELECT count(*) FROM idempotency", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
    assert_ne!(meta(&kept, "store_id").unwrap().as_deref(), Some(store.id()));
    store.close().await.unwrap();
    let found = Store::open(&options(&dir)).unwrap_err();
    assert_eq!(found, StoreError::Newer { found: known() + 1, known: known() });
    let said =
        format!("the store has schema {}, this program knows up to {}", known() + 1, known());
    assert_eq!(found.to_string(), said);
}

#[tokio::test]
async fn a_step_that_fails_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(&options(&dir)).unwrap();
    store.close().await.unwrap();
    let path = dir.path().join("state/stead.db");
    assert!(writer(&options(&dir), &steps(BROKEN)).is_err());
    assert_eq!(version(&path), known());
    let (store, opening) = Store::open(&options(&dir)).unwrap();
    assert_eq!(opening.migrated_from, None);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_copy_that_is_stopped_leaves_nothing_and_is_made_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(&options(&dir)).unwrap();
    for n in 0..BACKUP_PAGES {
        let answer = serde_json::json!("x".repeat(8_192));
        let put = crate::Change::PutIdempotent { scope: "s".into(), token: n.to_string(), answer };
        store.append(Batch::of_store(store.epoch()).change(put)).await.unwrap();
    }
    store.close().await.unwrap();
    let stop = Options { stopped: std::sync::Arc::new(true.into()), ..options(&dir) };
    assert_eq!(Store::open_with(&stop, &steps(NEXT)).unwrap_err(), StoreError::Stopped);
    assert_eq!(version(&dir.path().join("state/stead.db")), known());
    // The clock stands still, so that the next copy has the name of the one that was stopped.
    let (_store, opening) = Store::open_with(&options(&dir), &steps(NEXT)).unwrap();
    assert_eq!(version(&opening.migrated_from.unwrap()), known());
}

#[tokio::test]
async fn a_session_of_the_first_schema_is_read_and_can_be_pinned() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open_with(&options(&dir), &STEPS[..1]).unwrap();
    let id = vocab::ids::SessionId::generate();
    let new = crate::NewSession { title: "old".into(), ..crate::NewSession::default() };
    let batch = Batch::of_session(store.epoch(), id.clone());
    store.append(batch.change(crate::Change::CreateSession(new))).await.unwrap();
    store.close().await.unwrap();
    let (store, opening) = Store::open(&options(&dir)).unwrap();
    assert_eq!(version(&opening.migrated_from.unwrap()), 1);
    let row = store.session(&id).await.unwrap();
    assert_eq!((row.title.as_str(), row.pinned), ("old", false));
    let batch = Batch::of_session(store.epoch(), id.clone());
    store.append(batch.change(crate::Change::SetPinned(true))).await.unwrap();
    assert!(store.session(&id).await.unwrap().pinned);
}

#[test]
fn store_ids_are_eight_hexadecimal_digits() {
    let id = new_store_id();
    assert!(id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
    assert_ne!(id, new_store_id());
}
