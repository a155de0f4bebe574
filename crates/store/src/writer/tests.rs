//! A writer that meets a bug of ours: what its callers are told, and that it goes on.

use super::*;
use crate::{
    batch::{Batch, Change, NewSession},
    cursor::Epoch,
    open::{self, Options},
    store::Store,
};
use tokio::sync::Semaphore;
use vocab::{fact::SessionFact, ids::SessionId};

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().join("state/stead.db"), Clock::system());
    let (store, _) = Store::open(&options).unwrap();
    (dir, store)
}

fn batch(store: &Store) -> Batch {
    Batch::of_session(store.epoch(), SessionId::generate())
        .change(Change::CreateSession(NewSession::default()))
        .fact(SessionFact::SessionCreated)
}

const UNKNOWN: StoreError = StoreError::Broken { effect: Effect::Indeterminate };

#[tokio::test]
async fn a_panic_ends_its_job_as_indeterminate_and_not_the_writer() {
    let (_dir, store) = store();
    for _ in 0..3 {
        // In the middle of a transaction that has changed something.
        let broken = store.task(|writer| {
            writer.within(|scene| -> Result<(), StoreError> {
                scene.conn.execute("INSERT INTO meta (key, value) VALUES ('x', 'x')", [])?;
                panic!("on purpose")
            })
        });
        assert_eq!(broken.await, Err(UNKNOWN));
        store.append(batch(&store)).await.unwrap();
    }
    let left = store.task(|writer| {
        Ok(writer.conn.query_row("SELECT count(*) FROM meta WHERE key = 'x'", [], |r| r.get(0))?)
    });
    assert_eq!(left.await, Ok(0));
    store.close().await.unwrap();
}

#[tokio::test]
async fn what_waits_behind_the_close_is_told_that_it_never_began() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().join("state/stead.db"), Clock::system());
    let ready = open::writer(&options, crate::migrate::STEPS).unwrap();
    let epoch = Epoch { store_id: ready.store_id.clone(), number: ready.epoch };
    let identity = (ready.store_id, ready.epoch);
    let writer = Writer::new(ready.conn, Clock::system(), identity).unwrap();
    let room = Arc::new(Semaphore::new(9));
    let (jobs, inbox) = mpsc::channel(9);
    let append = || {
        let batch = Batch::of_session(epoch.clone(), SessionId::generate())
            .change(Change::CreateSession(NewSession::default()));
        let room = Arc::clone(&room).try_acquire_owned().unwrap();
        let (reply, stored) = oneshot::channel();
        let member = Member { sealed: Sealed::new(batch).unwrap(), reply, room };
        assert!(jobs.try_send(Job::Append(Box::new(member))).is_ok());
        async { Ok::<_, StoreError>(stored.await??.events.len()) }
    };
    let task = |panics: bool| {
        let (reply, done) = oneshot::channel();
        let work = move |writer: Result<&mut Writer, StoreError>| {
            assert!(!panics, "on purpose");
            answer(reply, writer.map(|_| 0));
        };
        assert!(jobs.try_send(Job::Task(Box::new(work))).is_ok());
        async { done.await? }
    };
    let before = append();
    let broken = task(true);
    let after = append();
    let (reply, closed) = oneshot::channel();
    assert!(jobs.try_send(Job::Close(reply)).is_ok());
    let (late, late_task) = (append(), task(false));
    std::thread::spawn(move || writer.serve(inbox)).join().unwrap();
    assert_eq!((before.await, broken.await, after.await), (Ok(0), Err(UNKNOWN), Ok(0)));
    assert_eq!(closed.await.unwrap(), Ok(()));
    let never = StoreError::Closed;
    assert_eq!(never.effect(), Effect::NotStarted);
    assert_eq!((late.await, late_task.await), (Err(never.clone()), Err(never)));
}
