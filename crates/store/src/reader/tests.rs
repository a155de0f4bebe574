//! How many readers there are, and when they leave.

use super::*;
use crate::open::{Options, writer};
use stdx::clock::Clock;

fn threads_become(readers: &Readers, wanted: usize) {
    let mut desk = readers.shared.desk();
    while desk.threads != wanted {
        desk = readers.shared.work.wait(desk).unwrap_or_else(PoisonError::into_inner);
    }
}

#[tokio::test]
async fn readers_are_few_and_go_home() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().join("state/stead.db"), Clock::system());
    let ready = writer(&options, crate::migrate::STEPS).unwrap();
    let idle = Duration::from_millis(1);
    let readers = Arc::new(Readers::new(ready.path.clone(), None, idle, false));
    assert_eq!(readers.shared.desk().threads, 0);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..3 * STORE_READS_WAITING_MAX {
        let readers = Arc::clone(&readers);
        tasks.spawn(async move {
            let seen = Arc::clone(&readers.shared);
            readers.read(move |_| Ok((number, seen.desk().threads))).await.unwrap()
        });
    }
    let mut answers: Vec<_> = tasks.join_all().await;
    assert!(answers.iter().all(|(_, threads)| (1..=STORE_READERS_MAX).contains(threads)));
    answers.sort_unstable();
    assert!(answers.iter().map(|(number, _)| *number).eq(0..3 * STORE_READS_WAITING_MAX));
    threads_become(&readers, 0);
    let again = readers.read(|conn| Ok(conn.query_row("SELECT 1", [], |row| row.get(0))?)).await;
    assert_eq!(again, Ok(1));
    readers.close();
    assert_eq!(readers.read(|_| Ok(())).await, Err(StoreError::Closed));
}

#[tokio::test]
async fn a_query_that_panics_takes_nobody_else_along() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().join("state/stead.db"), Clock::system());
    let ready = writer(&options, crate::migrate::STEPS).unwrap();
    let readers = Readers::new(ready.path.clone(), None, IDLE, false);
    for _ in 0..50 {
        let lost = readers.read(|_| -> Result<(), StoreError> { panic!("on purpose") }).await;
        assert_eq!(lost, Err(StoreError::Broken { effect: Effect::NotStarted }));
    }
    assert_eq!(readers.read(|_| Ok(7)).await, Ok(7));
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().join("state/stead.db"), Clock::system());
    let ready = writer(&options, crate::migrate::STEPS).unwrap();
    let readers = Readers::new(ready.path.clone(), None, IDLE, false);
    let done = readers.read(|conn| Ok(conn.execute("DELETE FROM meta", [])?)).await;
    assert_eq!(done.unwrap_err().code(), "store_io");
}
