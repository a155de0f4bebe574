//! What one chunk of a pruning removes, and what is kept when nobody says how much.

use serde_json::json;
use stdx::clock::{Clock, Timestamp};

use super::*;
use crate::{Batch, Change, NewFact, Options};

#[test]
fn what_is_kept_stands_in_the_table() {
    let keep = Retention::default();
    assert_eq!(keep.facts_count, STORE_FACTS_KEPT_MAX);
    assert_eq!(keep.facts_age.as_secs(), STORE_FACTS_DAYS_MAX * 24 * 60 * 60);
}

#[tokio::test]
async fn a_chunk_prunes_so_many_rows_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(Timestamp::from_millis(1));
    let options = Options::new(dir.path().join("state/stead.db"), clock.clone());
    let (store, _) = Store::open(&options).unwrap();
    let many = STORE_CHUNK_ROWS_MAX + 5;
    let batch = (0..many).fold(Batch::of_store(store.epoch()), |batch, number| {
        let (scope, token) = ("s".into(), number.to_string());
        batch
            .change(Change::PutIdempotent { scope, token, answer: json!(1) })
            .fact(NewFact::new("probe", json!({ "kind": "probed" })))
    });
    store.append(batch).await.unwrap();
    clock.advance(DAY * 365);
    let keep = Retention::default();
    for left in [many, 5, 0] {
        let step = store.task(move |writer| writer.within(|scene| chunk(scene, keep, 0))).await;
        let rows = left.min(STORE_CHUNK_ROWS_MAX);
        assert_eq!(step.unwrap(), Pruned { facts: rows, answers: rows });
    }
}
