//! Jobs: programs in terminals of their own, each with a host that outlives this daemon. Here they are
//! started, found again, listed, told what to do, and their ends written down.
//!
//! A job's files are the truth; what is held here is a picture of them that a restart draws anew. The
//! daemon follows each host over its socket and by the end of its process, and asks nobody twice.
//!
//! Not here: terminals, and how a host becomes a process, which is the composer's business.

mod adopt;
mod begin;
mod book;
mod ending;
mod fault;
mod kin;
mod link;
mod name;
mod orders;
mod teller;
mod tree;
mod watch;

use std::{
    future::Future,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::BoxFuture;
use pty::job::{FilesError, JobFiles};
use stdx::{clock::Clock, proc_id::ProcId};
use store::Store;
use tokio::sync::{Mutex as Lane, OnceCell, Semaphore};
use vocab::{
    fact::JobFact,
    ids::JobId,
    limits::JOBS_FINISHED_AT_ONCE,
    outcome::{Effect, Failure},
};

pub use begin::Dispatch;
pub use kin::{Mark, Whose};
pub use name::Fitting;
pub use orders::{Claim, Report};
pub use tree::{Removal, TreeWish};
pub use worktree::{Saved, Trees};

use self::{book::Book, teller::Teller};
use crate::{
    hub::Hub,
    roster::{Row, Wanted},
};

/// Makes processes of hosts.
pub trait Launcher: Send + Sync {
    /// Starts the host of a job whose files are there, and returns it once its program runs.
    ///
    /// # Errors
    /// When it did not begin, where the effect says so: nothing of it is left then. Else its program may have run;
    /// what still does is ended.
    fn launch(&self, files: JobFiles) -> BoxFuture<'static, Result<ProcId, Failure>>;

    /// Ends what is left of a job that has ended, or whose host died. Blocks.
    fn end_leftovers(&self, job: &JobId);
}

/// What jobs are made of.
pub struct Parts {
    /// The state root.
    pub home: PathBuf,
    /// Where hosts listen.
    pub runtime: PathBuf,
    /// The daemon's socket, which programs are told.
    pub socket: PathBuf,
    /// The version that jobs are started by.
    pub version: String,
    /// What time it is.
    pub clock: Clock,
    /// Where facts are stored.
    pub store: Store,
    /// Who tells them.
    pub hub: Hub,
    /// Who makes processes.
    pub launcher: Arc<dyn Launcher>,
    /// Where jobs have worktrees of their own.
    pub trees: Trees,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("home", &self.home).finish_non_exhaustive()
    }
}

/// All jobs of a state root.
pub struct Jobs {
    parts: Parts,
    book: Mutex<Book>,
    teller: Teller,
    /// Whoever looks for a free name or branch waits for its turn here, until the book has the one before.
    planting: Lane<()>,
    /// Filled once the jobs of earlier daemons were looked at.
    adopted: OnceCell<()>,
    /// Whoever ends what a dead host has left waits for a turn here.
    finishing: Semaphore,
    is_closed: AtomicBool,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").field("home", &self.parts.home).finish_non_exhaustive()
    }
}

impl Jobs {
    /// Builds them over their files; nothing is read yet.
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        let (book, planting, adopted) = (Mutex::default(), Lane::default(), OnceCell::new());
        let finishing = Semaphore::new(JOBS_FINISHED_AT_ONCE);
        let is_closed = AtomicBool::new(false);
        let teller = Teller::new(parts.store.clone(), parts.hub.clone());
        Arc::new(Self { parts, book, teller, planting, adopted, finishing, is_closed })
    }

    /// Returns the rows that are wanted, oldest first.
    pub async fn rows(self: &Arc<Self>, wanted: &Wanted) -> Vec<Row> {
        self.adopt().await;
        self.book().rows(wanted)
    }

    /// Returns one row.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn row(self: &Arc<Self>, id: &JobId) -> Result<Row, Failure> {
        self.adopt().await;
        self.book().row(id).ok_or_else(|| missing(id))
    }

    /// Returns how many there are, and how many of them have a program that runs.
    pub async fn counts(self: &Arc<Self>) -> (usize, usize) {
        self.adopt().await;
        let book = self.book();
        (book.len(), book.live().len())
    }

    /// Refuses new jobs from now on.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    /// Stores what could not be stored before, as far as that can be by now.
    pub(crate) async fn tell_the_rest(&self) {
        self.teller.tell_the_rest().await;
    }

    /// Ends all jobs that run, and waits until they have.
    pub async fn end_all(self: &Arc<Self>) {
        self.close();
        self.adopt().await;
        // Whoever is about to start one has put it into the book by then.
        drop(self.planting.lock().await);
        let live = self.book().live();
        let ends = live.into_iter().map(|id| async move {
            if let Err(failure) = self.end_in_turn(&id).await {
                tracing::warn!(job = %id, code = failure.code, "a job did not end");
            }
        });
        futures_util::future::join_all(ends).await;
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // Every method leaves it consistent.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self, id: &JobId) -> JobFiles {
        JobFiles::new(&self.parts.home, &self.parts.runtime, id)
    }

    fn now(&self) -> i64 {
        self.parts.clock.now().as_millis()
    }

    /// Stores a fact and tells it, now or as soon as that can be.
    async fn tell(&self, fact: JobFact) {
        self.teller.tell(fact).await;
    }

    /// Writes the note of a job as the book has it by then, one writer at a time, so that the newest is the
    /// last.
    ///
    /// # Errors
    /// When it cannot be written.
    async fn save(&self, id: &JobId, care: Care) -> Result<(), FilesError> {
        let Some(writing) = self.book().get(id).map(|entry| Arc::clone(&entry.writing)) else {
            return Ok(());
        };
        let _turn = writing.lock().await;
        let Some(note) = self.book().get(id).map(|entry| entry.note.clone()) else { return Ok(()) };
        self.check_directory(id)?;
        let files = self.files(id);
        let write = move || match care {
            Care::PowerLoss => files.write_note(&note),
            Care::Crash => files.replace_note(&note),
        };
        let broken = |_| Err(FilesError::Io(std::io::Error::other("it broke off")));
        tokio::task::spawn_blocking(write).await.unwrap_or_else(broken)
    }

    /// Demands that a job's directory is ours.
    fn check_directory(&self, id: &JobId) -> Result<(), FilesError> {
        let book = self.book();
        let refused = book.get(id).filter(|entry| entry.is_refused());
        let why = refused.and_then(|entry| Some(entry.fault.as_ref()?.failure.message.clone()));
        why.map_or(Ok(()), |why| Err(FilesError::Refused(why)))
    }

    /// Saves a note where a full disk keeps nobody from going on: it is in the book, and a restart finds
    /// it out again from what the host has written.
    async fn save_if_possible(&self, id: &JobId, care: Care) {
        if let Err(error) = self.save(id, care).await {
            tracing::warn!(job = %id, %error, "a job's state was not written");
        }
    }

    /// Runs work that goes on also when whoever has asked does not wait for it.
    async fn apart<T: Send + 'static>(
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        tokio::spawn(work).await.unwrap_or_else(|_| {
            Err(Failure::new("internal", Effect::Indeterminate, "the work on the job broke off"))
        })
    }
}

/// What a note has to survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Care {
    /// The death of any process: for what changes often and is found out again.
    Crash,
    /// The loss of power too.
    PowerLoss,
}

fn missing(id: &JobId) -> Failure {
    Failure::not_started("job_not_found", format!("there is no job {id}"))
        .with_hint("stead ls --all shows what there is")
}

#[cfg(test)]
mod tests;
