//! How connections are set up.

use super::*;
use crate::{Batch, Store};

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
    let reader = reader(&ready.path, None, false).unwrap();
    for conn in [&ready.conn, &reader] {
        let kib = i64::try_from(STORE_CACHE_KIB_MAX).unwrap();
        assert_eq!(number(conn, "cache_size"), -kib);
        assert_eq!(number(conn, "mmap_size"), 0);
        let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }
    assert_eq!(number(&ready.conn, "application_id"), i64::from(APPLICATION_ID));
}

#[test]
fn on_a_full_disk_what_is_stored_is_read_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    // Its name must not be taken for anything but a name.
    let options = Options::new(dir.path().join("state/a %41?b#c.db"), Clock::system());
    let ready = writer(&options, migrate::STEPS).unwrap();
    let (path, store_id) = (ready.path, ready.store_id);
    let names = || {
        let names = std::fs::read_dir(path.parent().unwrap()).unwrap().flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let check = |unclean: bool| {
        let before = names();
        let held = held::open(&options, &path, migrate::STEPS.len()).unwrap();
        assert_eq!((&held.store_id, held.epoch), (&store_id, ready.epoch + 1));
        assert_eq!((held.opening.room, held.opening.unclean), (Room::Full, unclean));
        let reading = reader(&path, None, true).unwrap();
        assert_eq!(meta_count(&reading, "epoch").unwrap(), ready.epoch);
        assert_eq!(names(), before);
        assert!(unclean || set_meta(&held.conn, "clean", "0").is_err());
    };
    // As a daemon leaves it that was killed: with its log and what is shared beside it.
    check(true);
    set_meta(&ready.conn, "clean", "1").unwrap();
    ready.conn.close().unwrap();
    assert_eq!(names().len(), 1);
    check(false);
    // There is room where tests run, and this much is asked for.
    assert!(!files::is_full(&path) && vocab::limits::STORE_ROOM_BYTES_MIN == 256 << 10);
    // One that would have to be migrated first is not opened.
    let newer = held::open(&options, &path, migrate::STEPS.len() + 1);
    assert_eq!(newer.unwrap_err().code(), "disk_full");
}

#[tokio::test]
async fn what_was_opened_on_a_full_disk_is_written_once_there_is_room() {
    let fact = || vocab::fact::JobFact::JobEdited { job: vocab::ids::JobId::generate() };
    for is_clean in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::new(dir.path().join("state/stead.db"), Clock::system());
        let ready = writer(&options, migrate::STEPS).unwrap();
        if is_clean {
            let (before, _) = Store::over(ready, &options).unwrap();
            before.close().await.unwrap();
        } else {
            // As a process leaves it that was killed.
            std::mem::forget(ready);
        }
        let path = files::prepare(&options.path).unwrap();
        let held = held::open(&options, &path, migrate::STEPS.len()).unwrap();
        let (store, _) = Store::over(held, &options).unwrap();
        // Whoever has this right to write has it afterwards.
        let batch = || Batch::of_store(store.epoch()).fact(fact());
        assert!(matches!(store.append(batch()).await, Err(StoreError::Full { .. })));
        let before = store.cursor().await.unwrap();
        assert!(store.is_full() && store.make_writable().await.unwrap() && !store.is_full());
        let stored = store.append(batch()).await.unwrap();
        assert_eq!(store.facts_after(Some(&before), 9).await.unwrap(), stored.events);
        assert!(store.make_writable().await.unwrap(), "it is not opened twice");
        store.close().await.unwrap();
        let next = writer(&options, migrate::STEPS).unwrap();
        assert_eq!((next.epoch, next.opening.unclean), (store.epoch().number + 1, false));
    }
}

#[test]
fn an_epoch_that_was_taken_late_is_taken_once_and_from_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().join("state/stead.db"), Clock::system());
    // As a process leaves it that was killed.
    std::mem::forget(writer(&options, migrate::STEPS).unwrap());
    let path = files::prepare(&options.path).unwrap();
    let options = Options { path: path.clone(), ..options };
    let held = held::open(&options, &path, migrate::STEPS.len()).unwrap();
    let epoch = Epoch { store_id: held.store_id, number: held.epoch };
    let taken = |conn: &Connection| {
        let seq: i64 = conn
            .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'facts'", [], |row| row.get(0))
            .unwrap();
        (meta_count(conn, "epoch").unwrap(), seq)
    };
    let first = taken(&again(&options, &epoch, "mine").unwrap());
    assert_eq!(first.0, epoch.number);
    // What came after it failed, and it is tried again.
    assert_eq!(taken(&again(&options, &epoch, "mine").unwrap()), first);
    let stale = again(&options, &epoch, "another's").unwrap_err();
    assert!(matches!(stale, StoreError::StaleEpoch { .. }) && !stale.may_pass(), "{stale:?}");
    let later = writer(&options, migrate::STEPS).unwrap();
    let stale = again(&options, &epoch, "mine").unwrap_err();
    assert!(matches!(stale, StoreError::StaleEpoch { .. }), "{stale:?}");
    // Whoever has it keeps it.
    assert_eq!(meta_count(&later.conn, "epoch").unwrap(), later.epoch);
}
