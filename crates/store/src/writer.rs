//! The one thread that writes. Whatever waits is committed as one transaction; each batch of it stands
//! or falls alone. It is synced to disk when a member asks.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use rusqlite::{Connection, hooks::Wal};
use stdx::clock::Clock;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use vocab::{limits::STORE_WAL_PAGES_MAX, outcome::Effect};

use crate::{
    apply::{self, Scene},
    batch::{Appended, Durability},
    encode::Sealed,
    error::StoreError,
    open::Room,
    sql::{meta, meta_count, set_meta},
};

mod gather;

use gather::gather;

/// A batch with the one who waits for it.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) sealed: Sealed,
    pub(crate) reply: oneshot::Sender<Result<Appended, StoreError>>,
    /// Its room in the queue, given back when it is answered.
    pub(crate) room: OwnedSemaphorePermit,
}

/// Work with the writer's connection that is not a batch; it answers by itself, also when it is refused.
pub(crate) type Task = Box<dyn FnOnce(Result<&mut Writer, StoreError>) + Send>;

/// What the writer is asked.
pub(crate) enum Job {
    Append(Box<Member>),
    Task(Task),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

impl Job {
    /// Tells whoever waits that the store was closed before this began.
    fn refuse(self) {
        match self {
            Self::Append(member) => answer(member.reply, Err(StoreError::Closed)),
            Self::Task(task) => task(Err(StoreError::Closed)),
            Self::Close(reply) => answer(reply, Err(StoreError::Closed)),
        }
    }
}

/// Why a whole group was not committed.
enum Lost {
    /// It was rolled back before the commit.
    RolledBack(StoreError),
    /// The commit itself failed.
    Commit(StoreError),
}

/// The writer's state, owned by its thread.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) conn: Connection,
    pub(crate) clock: Clock,
    pub(crate) store_id: String,
    pub(crate) epoch: u64,
    /// Pages in the log after the last commit.
    log_pages: Arc<AtomicUsize>,
    /// Whether commits are synced just now.
    full: bool,
    /// Whether a failed commit may still come back after a crash.
    unsettled: bool,
    pub(crate) room: Room,
    /// Whether anybody met damage.
    pub(crate) damaged: Arc<AtomicBool>,
}

impl Writer {
    pub(crate) fn new(
        mut conn: Connection,
        clock: Clock,
        identity: (String, u64),
    ) -> Result<Self, StoreError> {
        let log_pages = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&log_pages);
        // The hook takes the place of the engine's own, which would move the log while somebody waits.
        conn.wal_hook(Some(move |_: &mut Wal, pages| {
            seen.store(usize::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (store_id, epoch) = identity;
        let damaged = Arc::default();
        let (full, unsettled, room) = (true, false, Room::Enough);
        Ok(Self { conn, clock, store_id, epoch, log_pages, full, unsettled, room, damaged })
    }

    /// Goes on with another connection, which can write.
    pub(crate) fn go_on(&mut self, conn: Connection) -> Result<(), StoreError> {
        let identity = (self.store_id.clone(), self.epoch);
        let damaged = Arc::clone(&self.damaged);
        *self = Self { damaged, ..Self::new(conn, self.clock.clone(), identity)? };
        Ok(())
    }

    /// Serves until it is closed or nobody is left to ask.
    pub(crate) fn serve(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(first) = jobs.blocking_recv() {
            let mut next = Some(first);
            while let Some(job) = next.take() {
                match job {
                    Job::Append(member) => {
                        let group;
                        (group, next) = gather(*member, &mut jobs);
                        self.guard(|writer| writer.commit(group));
                    }
                    Job::Task(task) => self.guard(|writer| task(Ok(writer))),
                    Job::Close(reply) => {
                        // Nothing is accepted from here on; what waits is told so.
                        jobs.close();
                        let closed = self.close();
                        refuse_waiting(jobs);
                        answer(reply, closed);
                        return;
                    }
                }
            }
            self.tidy_log();
        }
    }

    /// Runs a job. A panic ends the job, whose callers cannot know what became of it, and not the
    /// thread: a run that could store nothing any more would be lost, and nobody would see it.
    fn guard(&mut self, job: impl FnOnce(&mut Self)) {
        if panic::catch_unwind(AssertUnwindSafe(|| job(self))).is_err() {
            tracing::error!("the store's writer broke off in the middle of a job");
            self.roll_back();
            // What it left in the log is made certain before anything else is written.
            self.unsettled = true;
        }
    }

    fn commit(&mut self, group: Vec<Member>) {
        let done = match self.settle() {
            Ok(()) => self.transact(&group),
            Err(error) => Err(Lost::RolledBack(error)),
        };
        match done {
            Ok(results) => {
                for (member, result) in group.into_iter().zip(results) {
                    answer(member.reply, result);
                    drop(member.room);
                }
            }
            Err(Lost::RolledBack(_)) if group.len() > 1 => {
                // One member may have been more than the disk could take; the others get their own try.
                for member in group {
                    self.commit(vec![member]);
                }
            }
            Err(Lost::RolledBack(error)) => refuse_all(group, &error),
            Err(Lost::Commit(error)) => {
                let effect = match self.settle() {
                    Ok(()) => Effect::NotStarted,
                    Err(_) => Effect::Indeterminate,
                };
                refuse_all(group, &error.with_effect(effect));
            }
        }
    }

    fn transact(&mut self, group: &[Member]) -> Result<Vec<Result<Appended, StoreError>>, Lost> {
        let power = group.iter().any(|member| member.sealed.durability == Durability::Power);
        self.sync_commits(power).map_err(Lost::RolledBack)?;
        let applied = self.begin().and_then(|()| {
            group.iter().map(|member| self.apply_one(&member.sealed)).collect::<Result<Vec<_>, _>>()
        });
        match applied {
            Ok(results) => match self.conn.execute_batch("COMMIT") {
                Ok(()) => Ok(results),
                Err(error) => {
                    self.roll_back();
                    Err(self.lost_commit(error.into()))
                }
            },
            Err(error) => {
                self.roll_back();
                self.suspect(&error);
                Err(Lost::RolledBack(error))
            }
        }
    }

    /// A full disk refuses the write of the commit's mark; any other failure may have come after it.
    fn lost_commit(&mut self, error: StoreError) -> Lost {
        if matches!(error, StoreError::Full { .. } | StoreError::Busy) {
            return Lost::RolledBack(error);
        }
        self.suspect(&error);
        self.unsettled = true;
        Lost::Commit(error)
    }

    /// Notes that the disk failed, so that what it holds is made certain before the next commit, or that
    /// the database is damaged.
    fn suspect(&mut self, error: &StoreError) {
        self.unsettled |= matches!(error, StoreError::Io { .. });
        if matches!(error, StoreError::Corrupt { .. }) {
            self.damaged.store(true, Ordering::Relaxed);
        }
    }

    fn begin(&self) -> Result<(), StoreError> {
        Ok(self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([]).map(|_| ())?)
    }

    /// Applies one batch under a savepoint. The outer error means that the group is lost.
    fn apply_one(&self, sealed: &Sealed) -> Result<Result<Appended, StoreError>, StoreError> {
        let conn = &self.conn;
        conn.prepare_cached("SAVEPOINT batch")?.execute([])?;
        let scene = Scene { conn, store_id: &self.store_id, now: self.clock.now().as_millis() };
        let applied = self.check_epoch(sealed).and_then(|()| apply::batch(scene, sealed));
        match applied {
            Ok(events) => {
                conn.prepare_cached("RELEASE batch")?.execute([])?;
                Ok(Ok(Appended { events }))
            }
            // The engine may have rolled back everything by itself when the disk failed.
            Err(error) if error.is_storage() || conn.is_autocommit() => Err(error),
            Err(error) => {
                conn.prepare_cached("ROLLBACK TO batch")?.execute([])?;
                conn.prepare_cached("RELEASE batch")?.execute([])?;
                Ok(Err(error))
            }
        }
    }

    /// Refuses a batch of another start of the daemon, and every batch once a later start owns the file.
    fn check_epoch(&self, sealed: &Sealed) -> Result<(), StoreError> {
        let current = meta_count(&self.conn, "epoch")?;
        let same = sealed.store_id == self.store_id;
        if !same || sealed.epoch != current || current != self.epoch {
            return Err(StoreError::StaleEpoch { held: sealed.epoch, current });
        }
        Ok(())
    }

    /// Runs a change of the store's own in a transaction of its own, synced to disk.
    pub(crate) fn within<T>(
        &mut self,
        change: impl FnOnce(Scene<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.settle()?;
        self.sync_commits(true)?;
        self.begin()?;
        let current = meta_count(&self.conn, "epoch");
        let now = self.clock.now().as_millis();
        let scene = Scene { conn: &self.conn, store_id: &self.store_id, now };
        let changed = match current {
            Ok(current) if current == self.epoch => change(scene),
            Ok(current) => Err(StoreError::StaleEpoch { held: self.epoch, current }),
            Err(error) => Err(error),
        };
        let value = match changed {
            Ok(value) => value,
            Err(error) => {
                self.roll_back();
                self.suspect(&error);
                return Err(error);
            }
        };
        if let Err(error) = self.conn.execute_batch("COMMIT") {
            self.roll_back();
            return match self.lost_commit(error.into()) {
                Lost::RolledBack(error) => Err(error),
                Lost::Commit(error) => {
                    let settled = self.settle().is_ok();
                    let effect = if settled { Effect::NotStarted } else { Effect::Indeterminate };
                    Err(error.with_effect(effect))
                }
            };
        }
        Ok(value)
    }

    fn roll_back(&self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a rollback failed");
        }
    }

    /// Makes the outcome of a failed commit certain before anything else is written.
    ///
    /// A commit whose sync failed stands in the log, though no reader sees it: a crash could bring it
    /// back. What was written before may also never reach the disk, as a kernel forgets pages whose sync
    /// failed. So everything acknowledged is moved into the database and the log begun anew.
    fn settle(&mut self) -> Result<(), StoreError> {
        if !self.unsettled {
            return Ok(());
        }
        self.sync_commits(true)?;
        self.empty_log()?;
        set_meta(&self.conn, "settled_at", &self.clock.now().as_millis().to_string())?;
        self.unsettled = false;
        tracing::warn!("a failed commit of the store was rolled back for good");
        Ok(())
    }

    /// Moves the whole log into the database and cuts it to nothing.
    fn empty_log(&mut self) -> Result<(), StoreError> {
        let moved =
            self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        match moved.map_err(StoreError::from) {
            Ok(0) => Ok(()),
            Ok(_) => Err(StoreError::Busy),
            Err(error) => {
                self.suspect(&error);
                Err(error)
            }
        }
    }

    fn sync_commits(&mut self, full: bool) -> Result<(), StoreError> {
        if self.full != full {
            let word =
                if full { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
            self.conn.execute_batch(word)?;
            self.full = full;
        }
        Ok(())
    }

    /// Moves the log into the database once it is long, after everybody was answered.
    fn tidy_log(&mut self) {
        if self.log_pages.load(Ordering::Relaxed) < STORE_WAL_PAGES_MAX || self.unsettled {
            return;
        }
        self.log_pages.store(0, Ordering::Relaxed);
        let moved = self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = moved.map_err(StoreError::from) {
            tracing::warn!(%error, "the store's log could not be moved into the database");
            self.suspect(&error);
        }
    }

    fn close(mut self) -> Result<(), StoreError> {
        if self.room == Room::Full {
            // As it was found: clean if it was, and else checked by the next start.
            return self.conn.close().map_err(|(_, error)| error.into());
        }
        if self.damaged.load(Ordering::Relaxed) {
            // Not marked as ended cleanly: the next start checks the database.
            tracing::error!("the store met damage; the next start checks it");
            return self.conn.close().map_err(|(_, error)| error.into());
        }
        // A later start owns the file when the epoch moved on; its flag is not ours to set.
        let ours = self.within(|scene| {
            set_meta(scene.conn, "clean", "1")?;
            meta(scene.conn, "clean")
        });
        match ours {
            Ok(_) | Err(StoreError::StaleEpoch { .. }) => {}
            Err(error) => return Err(error),
        }
        self.empty_log()?;
        self.conn.close().map_err(|(_, error)| error.into())
    }
}

fn refuse_waiting(mut jobs: mpsc::Receiver<Job>) {
    while let Ok(job) = jobs.try_recv() {
        job.refuse();
    }
}

fn refuse_all(group: Vec<Member>, error: &StoreError) {
    for member in group {
        answer(member.reply, Err(error.clone()));
    }
}

/// Answers; one who no longer waits is fine, the batch was their last word.
pub(crate) fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    drop(reply.send(value));
}

#[cfg(test)]
mod gather_tests;
#[cfg(test)]
mod tests;
