//! At most two threads that read. They start when somebody reads and go home when nobody does.

use std::{
    collections::VecDeque,
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};
use vocab::{
    limits::{STORE_READERS_MAX, STORE_READS_WAITING_MAX},
    outcome::Effect,
};

use crate::{error::StoreError, open, writer::answer};

/// Long enough for the next click, short enough that an idle daemon is small.
pub(crate) const IDLE: Duration = Duration::from_secs(10);

type Read = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// The readers of one store.
#[derive(Debug)]
pub(crate) struct Readers {
    shared: Arc<Shared>,
    waiting: Semaphore,
    /// Whether anybody met damage, shared with the writer.
    damaged: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    vfs: Option<String>,
    /// Whether the disk is full.
    full: AtomicBool,
    /// How long a reader without work keeps its connection.
    idle: Duration,
    desk: Mutex<Desk>,
    work: Condvar,
}

#[derive(Default)]
struct Desk {
    queue: VecDeque<Read>,
    threads: usize,
    idle: usize,
    closed: bool,
    /// Connections are closed, and reads wait.
    paused: bool,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Readers {
    /// Builds the readers of a database, beside which nothing can be written if `full`.
    pub(crate) fn new(path: PathBuf, vfs: Option<String>, idle: Duration, full: bool) -> Self {
        let (full, desk, work) = (AtomicBool::new(full), Mutex::default(), Condvar::new());
        let shared = Shared { path, vfs, full, idle, desk, work };
        let waiting = Semaphore::new(STORE_READS_WAITING_MAX);
        Self { shared: Arc::new(shared), waiting, damaged: Arc::default() }
    }

    /// Returns the note that somebody met damage: it keeps the end from counting as a clean one.
    pub(crate) fn damaged(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.damaged)
    }

    /// Runs a query on a reader and returns what it found.
    pub(crate) async fn read<T, Q>(&self, query: Q) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let _room = self.waiting.acquire().await?;
        let (reply, found) = oneshot::channel();
        self.enqueue(Box::new(move |conn| {
            answer(reply, conn.and_then(|conn| snapshot(conn, query)))
        }))?;
        // A query changes nothing, however it ended.
        let found = found.await.unwrap_or(Err(StoreError::Broken { effect: Effect::NotStarted }));
        if matches!(found, Err(StoreError::Corrupt { .. })) {
            self.damaged.store(true, Ordering::Relaxed);
        }
        found
    }

    fn enqueue(&self, read: Read) -> Result<(), StoreError> {
        let mut desk = self.shared.desk();
        if desk.closed {
            return Err(StoreError::Closed);
        }
        desk.queue.push_back(read);
        if desk.paused {
            return Ok(());
        }
        if desk.idle >= desk.queue.len() || desk.threads >= STORE_READERS_MAX {
            drop(desk);
            self.shared.work.notify_one();
            return Ok(());
        }
        desk.threads += 1;
        drop(desk);
        self.begin()
    }

    /// Starts a thread that is counted already.
    fn begin(&self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let started = std::thread::Builder::new()
            .name("store-read".into())
            .stack_size(512 << 10)
            .spawn(move || serve(&shared));
        if let Err(error) = started {
            let mut desk = self.shared.desk();
            desk.threads -= 1;
            // Without any reader nobody would ever take the query.
            if desk.threads == 0 {
                desk.queue.clear();
            }
            return Err(StoreError::io(&self.shared.path, &error));
        }
        Ok(())
    }

    /// Closes the connections of a full disk, which take the database for one that nobody changes, and lets the
    /// reads that wait go on with others.
    pub(crate) fn renew(&self) {
        let mut desk = self.shared.desk();
        desk.paused = true;
        self.shared.work.notify_all();
        while desk.threads > 0 {
            let waited = self.shared.work.wait_timeout(desk, Duration::from_secs(1));
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
            self.shared.work.notify_all();
        }
        self.shared.full.store(false, Ordering::Relaxed);
        desk.paused = false;
        desk.threads = desk.queue.len().min(STORE_READERS_MAX);
        let n_threads = desk.threads;
        drop(desk);
        for _ in 0..n_threads {
            // Where none can be started, whoever waits is told.
            self.begin().ok();
        }
    }

    /// Lets queued reads end and refuses later ones; the connections are closed when this returns.
    pub(crate) fn close(&self) {
        self.waiting.close();
        let mut desk = self.shared.desk();
        desk.closed = true;
        self.shared.work.notify_all();
        while desk.threads > 0 {
            let waited = self.shared.work.wait_timeout(desk, Duration::from_secs(1));
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
            self.shared.work.notify_all();
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.shared.desk().closed = true;
        self.shared.work.notify_all();
    }
}

/// Runs a query in one snapshot, so that what it reads in several steps fits together.
fn snapshot<T>(
    conn: &Connection,
    query: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let moment = conn.unchecked_transaction()?;
    let found = query(&moment)?;
    moment.commit()?;
    Ok(found)
}

/// Signs the thread off when it ends, after its connection is closed.
struct SignOff<'a>(&'a Shared);

impl Drop for SignOff<'_> {
    fn drop(&mut self) {
        self.0.desk().threads -= 1;
        self.0.work.notify_all();
    }
}

fn serve(shared: &Shared) {
    let sign_off = SignOff(shared);
    let mut conn = None;
    loop {
        let read = match next(shared) {
            Next::Read(read) => read,
            Next::Closed => return,
            Next::Idle => {
                std::mem::forget(sign_off);
                return;
            }
        };
        if conn.is_none() {
            let full = shared.full.load(Ordering::Relaxed);
            match open::reader(&shared.path, shared.vfs.as_deref(), full) {
                Ok(opened) => conn = Some(opened),
                Err(error) => {
                    read(Err(error));
                    continue;
                }
            }
        }
        let Some(open) = conn.take() else { continue };
        // A panic ends the query, whose caller is told, and not the thread, for which others may wait.
        let ran = panic::catch_unwind(AssertUnwindSafe(|| read(Ok(&open))));
        if ran.is_ok() {
            conn = Some(open);
        }
    }
}

/// What a reader does next.
enum Next {
    Read(Read),
    /// It ends, and signs off once its connection is closed.
    Closed,
    /// It ends and is signed off already.
    Idle,
}

fn next(shared: &Shared) -> Next {
    let mut desk = shared.desk();
    loop {
        if desk.paused {
            return Next::Closed;
        }
        if let Some(read) = desk.queue.pop_front() {
            return Next::Read(read);
        }
        if desk.closed {
            return Next::Closed;
        }
        desk.idle += 1;
        let waited = shared.work.wait_timeout(desk, shared.idle);
        let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        desk = woken;
        desk.idle -= 1;
        if timeout.timed_out() && desk.queue.is_empty() && !desk.closed {
            // Under the same lock that found the queue empty, or a read could wait for a thread that left.
            desk.threads -= 1;
            shared.work.notify_all();
            return Next::Idle;
        }
    }
}

#[cfg(test)]
mod tests;
