//! How connections are set up.

use super::*;

fn number(conn: &Connection, pragma: &str) -> i64 {
    conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
}

/// Without the look in between, what is asked here never ends.
#[test]
fn a_check_looks_whether_it_should_stop_while_it_runs() {
    let mut conn = Connection::open_in_memory().unwrap();
    look(&mut conn, &Arc::new(true.into())).unwrap();
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let error = conn.query_row(endless, [], |row| row.get::<_, i64>(0)).unwrap_err();
    assert_eq!(StoreError::from(error), StoreError::Stopped);
}

#[test]
fn pragmas_hold_the_memory_budget() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().join("state/stead.db"), Clock::system());
    let ready = writer(&options, migrate::STEPS).unwrap();
    let reader = reader(&ready.path, None).unwrap();
    for conn in [&ready.conn, &reader] {
        let kib = i64::try_from(STORE_CACHE_KIB_MAX).unwrap();
        assert_eq!(number(conn, "cache_size"), -kib);
        assert_eq!(number(conn, "mmap_size"), 0);
        let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }
    assert_eq!(number(&ready.conn, "application_id"), i64::from(APPLICATION_ID));
}
