//! The store as everybody else sees it: a handle that appends, reads and keeps house.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};
use vocab::{
    fact::Event,
    ids::{RunId, SessionId},
    limits::{STORE_FACTS_PAGE_MAX, STORE_QUEUE_BYTES_MAX},
};

use crate::{
    batch::{Appended, Batch},
    cursor::{Cursor, Epoch},
    encode::{BASE_BYTES, Sealed},
    error::StoreError,
    files, migrate,
    open::{self, Opening, Options, Ready, Room},
    reader::{self, Readers},
    rows::{
        Counts, Filter, Fitting, MessagePage, Page, PageMark, SessionRow, StoredRun, Transcript,
    },
    sql::{self, FACT_COLUMNS, RUN_SELECT, count, event, int, last_seq, stored_run},
    transcript,
    writer::{Job, Member, Writer, answer},
};

mod list;

/// A unit of the queue's room; a semaphore counts in 32 bits.
const ROOM_BYTES: usize = 256;

/// An open store. Clones share it.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    epoch: Epoch,
    jobs: mpsc::Sender<Job>,
    room: Arc<Semaphore>,
    readers: Readers,
    /// Nothing can be written.
    full: AtomicBool,
    /// How it is opened once that can be.
    options: Options,
    /// What tells this start from every other one that takes an epoch late.
    mark: String,
    /// Why it will not be written by this start, although there is room.
    lost: OnceLock<StoreError>,
}

impl Store {
    /// Opens a store, making it if it is missing, and takes a new epoch. Blocks; call it at start.
    ///
    /// # Errors
    /// When the files are not private, lie on a network, are a newer program's, or the disk fails.
    pub fn open(options: &Options) -> Result<(Self, Opening), StoreError> {
        Self::open_with(options, migrate::STEPS)
    }

    pub(crate) fn open_with(
        options: &Options,
        steps: &[&str],
    ) -> Result<(Self, Opening), StoreError> {
        Self::over(open::writer(options, steps)?, options)
    }

    /// Builds a store over a database that was opened.
    pub(crate) fn over(ready: Ready, options: &Options) -> Result<(Self, Opening), StoreError> {
        let epoch = Epoch { store_id: ready.store_id.clone(), number: ready.epoch };
        // Every job takes at least `BASE_BYTES` of room, so the channel itself is never full.
        let (jobs, inbox) = mpsc::channel(STORE_QUEUE_BYTES_MAX / BASE_BYTES + 1);
        let identity = (ready.store_id, ready.epoch);
        let (path, full) = (ready.path.clone(), ready.opening.room == Room::Full);
        let readers = Readers::new(path, options.vfs.clone(), reader::IDLE, full);
        let mut writer = Writer::new(ready.conn, options.clock.clone(), identity)?;
        writer.damaged = readers.damaged();
        writer.room = ready.opening.room;
        std::thread::Builder::new()
            .name("store-write".into())
            .stack_size(1 << 20)
            .spawn(move || writer.serve(inbox))
            .map_err(|error| StoreError::io(&ready.path, &error))?;
        let room = Arc::new(Semaphore::new(STORE_QUEUE_BYTES_MAX / ROOM_BYTES));
        let options = Options { path: ready.path, on_long_work: || (), ..options.clone() };
        let (full, lost) = (AtomicBool::new(full), OnceLock::new());
        let mark = migrate::new_store_id();
        let inner = Inner { epoch, jobs, room, readers, full, options, mark, lost };
        Ok((Self(Arc::new(inner)), ready.opening))
    }

    /// Returns the right to write of this start.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.0.epoch.clone()
    }

    /// Returns the store's id, the first half of every cursor.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.epoch.store_id
    }

    /// Stores a batch, whole or not at all, and returns once it is as durable as it asks.
    ///
    /// Waits while the queue is full. Once it is queued, dropping the future does not undo it.
    ///
    /// # Errors
    /// When a change breaks a rule, the epoch is over, or the disk fails; see [`StoreError::effect`].
    pub async fn append(&self, batch: Batch) -> Result<Appended, StoreError> {
        self.check_room()?;
        let sealed = Sealed::new(batch)?;
        let units = (sealed.bytes.min(STORE_QUEUE_BYTES_MAX) / ROOM_BYTES).max(1);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.0.room).acquire_many_owned(units).await?;
        let (reply, stored) = oneshot::channel();
        self.send(Job::Append(Box::new(Member { sealed, reply, room }))).await?;
        stored.await?
    }

    async fn send(&self, job: Job) -> Result<(), StoreError> {
        if self.0.jobs.send(job).await.is_err() { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Tells whether the disk was full when it was opened, so that nothing is written.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.full.load(Ordering::SeqCst)
    }

    /// Opens it for writing after all where the disk was full when it was opened, and tells whether it can be
    /// written now.
    ///
    /// # Errors
    /// When there is room and it cannot be opened for another reason.
    pub async fn make_writable(&self) -> Result<bool, StoreError> {
        if !self.is_full() {
            return Ok(true);
        }
        let inner = Arc::clone(&self.0);
        self.on_writer(move |writer| {
            if !inner.full.load(Ordering::SeqCst) {
                return Ok(true);
            }
            if files::is_full(&inner.options.path) {
                return Ok(false);
            }
            if let Some(lost) = inner.lost.get() {
                return Err(lost.clone());
            }
            let opened = open::again(&inner.options, &inner.epoch, &inner.mark);
            if let Err(error) = &opened
                && !error.may_pass()
            {
                inner.lost.set(error.clone()).ok();
            }
            writer.go_on(opened?)?;
            // Before anything is moved into the database, which they take for unchanging.
            inner.readers.renew();
            inner.full.store(false, Ordering::SeqCst);
            Ok(true)
        })
        .await
    }

    /// Returns why nothing will be written until the next start, although there is room again; none while that may
    /// still come.
    #[must_use]
    pub fn lost(&self) -> Option<StoreError> {
        self.0.lost.get().cloned()
    }

    fn check_room(&self) -> Result<(), StoreError> {
        let effect = vocab::outcome::Effect::NotStarted;
        if self.is_full() { Err(StoreError::Full { effect }) } else { Ok(()) }
    }

    /// Runs work of the store's own on the writer, which may write.
    pub(crate) async fn task<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.check_room()?;
        self.on_writer(work).await
    }

    async fn on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, done) = oneshot::channel();
        self.send(Job::Task(Box::new(move |writer| answer(reply, writer.and_then(work))))).await?;
        done.await?
    }

    pub(crate) async fn read<T, Q>(&self, query: Q) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.0.readers.read(query).await
    }

    /// Returns a session.
    ///
    /// # Errors
    /// `not_found`, or when the disk fails.
    pub async fn session(&self, id: &SessionId) -> Result<SessionRow, StoreError> {
        let id = id.clone();
        self.read(move |conn| list::session(conn, id.as_str())).await
    }

    /// Returns the session for which a client chose this id.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn session_by_alias(&self, alias: &str) -> Result<Option<SessionRow>, StoreError> {
        let alias = alias.to_owned();
        self.read(move |conn| list::by_alias(conn, &alias)).await
    }

    /// Lists sessions, latest activity first.
    ///
    /// # Errors
    /// `conflict` for an `after` that no page returned, or when the disk fails.
    pub async fn sessions(&self, filter: Filter) -> Result<Page, StoreError> {
        self.read(move |conn| list::page(conn, &filter)).await
    }

    /// Finds the sessions that fit a person's short form as well as any does; none where none fits. An id or alias
    /// fits better than a title, and that better than the start or the end of an id (with or without its prefix) or a
    /// piece of a title.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn fitting(&self, text: &str) -> Result<Option<Fitting>, StoreError> {
        let text = text.to_owned();
        self.read(move |conn| list::fitting(conn, &text)).await
    }

    /// Returns a page of a session's messages: the first, or the `next` of another. Messages that are stored
    /// while somebody pages are in none of the pages.
    ///
    /// # Errors
    /// `not_found`, also once the session is gone, or when the disk fails.
    pub async fn messages(
        &self,
        session: &SessionId,
        from: Option<PageMark>,
    ) -> Result<MessagePage, StoreError> {
        let session = session.clone();
        self.read(move |conn| transcript::page(conn, &session, from)).await
    }

    /// Returns a session with everything it holds, from one moment.
    ///
    /// # Errors
    /// `not_found`, or when the disk fails.
    pub async fn transcript(&self, session: &SessionId) -> Result<Transcript, StoreError> {
        let (session, store_id) = (session.clone(), self.id().to_owned());
        self.read(move |conn| transcript::whole(conn, &store_id, &session)).await
    }

    /// Returns a run.
    ///
    /// # Errors
    /// `not_found`, or when the disk fails.
    pub async fn run(&self, id: &RunId) -> Result<StoredRun, StoreError> {
        let id = id.clone();
        self.read(move |conn| {
            conn.prepare_cached(&format!("{RUN_SELECT} AND r.id = ?1"))?
                .query_and_then([id.as_str()], stored_run)?
                .next()
                .unwrap_or_else(|| Err(StoreError::not_found("run", id.as_str())))
        })
        .await
    }

    /// Returns the runs that have not ended, in the order they began.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn live_runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        self.read(|conn| {
            conn.prepare_cached(&format!("{RUN_SELECT} AND r.ended_at IS NULL ORDER BY r.key"))?
                .query_and_then([], stored_run)?
                .collect()
        })
        .await
    }

    /// Returns up to `limit` facts behind a cursor; none stands for the oldest kept.
    ///
    /// # Errors
    /// `cursor_expired` when facts behind it are gone, or it is another store's.
    pub async fn facts_after(
        &self,
        cursor: Option<&Cursor>,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let (cursor, store_id) = (cursor.cloned(), self.id().to_owned());
        self.read(move |conn| facts_after(conn, &store_id, cursor, limit)).await
    }

    /// Returns the cursor behind the last fact.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn cursor(&self) -> Result<Cursor, StoreError> {
        let store_id = self.id().to_owned();
        self.read(move |conn| Ok(Cursor { store_id, seq: last_seq(conn)? })).await
    }

    /// Counts what there is.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        self.read(|conn| {
            let number = |sql: &str| -> Result<u64, StoreError> {
                Ok(count(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?))
            };
            Ok(Counts {
                sessions: number("SELECT count(*) FROM sessions WHERE deleted = 0")?,
                runs_live: number("SELECT count(*) FROM runs WHERE ended_at IS NULL")?,
                last_seq: last_seq(conn)?,
            })
        })
        .await
    }

    /// Returns the answer that was remembered for an idempotency key.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn idempotent(&self, scope: &str, token: &str) -> Result<Option<Value>, StoreError> {
        let (scope, token) = (scope.to_owned(), token.to_owned());
        self.read(move |conn| {
            let found: Option<String> = conn
                .prepare_cached("SELECT answer FROM idempotency WHERE scope = ?1 AND token = ?2")?
                .query_row(params![scope, token], |row| row.get(0))
                .optional()?;
            found.map(|text| sql::json("answer", &text)).transpose()
        })
        .await
    }

    /// Stores what waits, marks the end as clean and closes the files. Later calls get `store_closed`.
    ///
    /// # Errors
    /// When the disk fails; what was acknowledged is stored all the same.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.0.room.close();
        // On the writer's thread, as waiting for the last reads would hold up the caller's runtime.
        let inner = Arc::clone(&self.0);
        self.on_writer(move |_| {
            inner.readers.close();
            Ok(())
        })
        .await?;
        let (reply, closed) = oneshot::channel();
        self.send(Job::Close(reply)).await?;
        closed.await?
    }
}

fn facts_after(
    conn: &Connection,
    store_id: &str,
    cursor: Option<Cursor>,
    limit: usize,
) -> Result<Vec<Event>, StoreError> {
    let floor = sql::meta_count(conn, "facts_floor")?;
    let after = match cursor {
        None => floor,
        Some(cursor) => {
            let ours = cursor.store_id == store_id;
            if !ours || cursor.seq < floor || cursor.seq > last_seq(conn)? {
                let oldest = Cursor { store_id: store_id.to_owned(), seq: floor };
                return Err(StoreError::CursorExpired { oldest });
            }
            cursor.seq
        }
    };
    conn.prepare_cached(&format!(
        "SELECT {FACT_COLUMNS} FROM facts WHERE seq > ?1 ORDER BY seq LIMIT ?2"
    ))?
    .query_and_then([int(after), int(limit.min(STORE_FACTS_PAGE_MAX))], |row| event(store_id, row))?
    .collect()
}
