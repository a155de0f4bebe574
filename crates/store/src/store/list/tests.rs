//! That the list stays fast however many sessions there are.

use super::*;
use crate::{migrate::STEPS, transcript::MESSAGES};

fn check(sql: &str, index: &str) {
    let conn = Connection::open_in_memory().unwrap();
    for step in STEPS {
        conn.execute_batch(step).unwrap();
    }
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nulls = vec![rusqlite::types::Null; explain.parameter_count()];
    let plan: Vec<String> = explain
        .query_map(rusqlite::params_from_iter(nulls), |row| row.get(3))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let plan = plan.join("; ");
    assert!(plan.contains(index), "{plan}");
    // A sort would have to read everything before the first row.
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
}

#[test]
fn a_page_reads_no_more_than_it_returns() {
    check(&page_sql(true), "SEARCH sessions USING INDEX sessions_pinned (updated_seq<?)");
    check(&page_sql(false), "SEARCH sessions USING INDEX sessions_recent (updated_seq<?)");
    check(MESSAGES, "messages_of_session (session=? AND rowid>? AND rowid<?)");
    check(MESSAGES, "SEARCH p USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
}
