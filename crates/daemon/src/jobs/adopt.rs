//! Finding jobs again: those that an earlier daemon has left, with or without a program that runs.
//!
//! Their files say which there are. Whether one lives is decided by its host's lock, which the kernel takes
//! from the dead alone: a host that nobody has noted and that has no socket yet holds it all the same. All
//! are listed at once; what takes time, as ending what a dead host has left, is done afterwards, and the
//! rows say so.

use std::{ffi::OsString, sync::Arc, time::Duration};

use pty::{
    hello::{Control, Reply},
    job::{BrokenStart, FilesError, JobFiles, JobNote, jobs_dir},
};
use stdx::{proc_id::ProcId, state_file};
use tokio::sync::OwnedMutexGuard;
use vocab::{
    ids::JobId,
    limits::{HOST_LINK_RETRY_MS, HOST_LINK_RETRY_MS_MAX, JOBS_MAX},
};

use super::{
    Jobs,
    book::{Ending, Entry},
    fault::{self, Fault, Unusable},
    link::is_listened_at,
    watch,
};

/// What is to be done about a job that was found.
#[derive(Debug)]
enum Next {
    /// Nothing: its end was noted.
    Nothing,
    /// Its host lives.
    Follow(ProcId),
    /// It has a host, and nobody knows which process that is.
    Seek,
    /// Its end is to be noted, and what it left ended.
    Finish(Ending),
}

impl Jobs {
    /// Looks at the jobs that are there, the first time it is called; later calls wait for that.
    pub async fn adopt(self: &Arc<Self>) {
        self.adopted
            .get_or_init(|| async {
                let jobs = Arc::clone(self);
                let reading = tokio::task::spawn_blocking(move || jobs.read_all());
                let found = reading.await.unwrap_or_default();
                let n_found = found.len();
                for (entry, next) in found {
                    self.take_over(entry, next);
                }
                if 0 < n_found {
                    let live = self.book().live().len();
                    tracing::info!(jobs = n_found, live, "jobs were found");
                }
                // Beside: nobody waits for it.
                let jobs = Arc::clone(self);
                tokio::task::spawn_blocking(move || {
                    let ended @ 1.. = jobs.parts.trees.end_leftovers() else { return };
                    tracing::warn!(ended, "the last daemon died while git worked");
                });
            })
            .await;
    }

    /// Lists a job, and does what is to be done about it beside.
    fn take_over(self: &Arc<Self>, mut entry: Entry, next: Next) {
        let (jobs, id) = (Arc::clone(self), entry.record.id.clone());
        if let Next::Finish(Ending::Untold) = next {
            entry.dies();
        }
        // Who wants to change it waits until it was looked for once.
        let turn = Arc::clone(&entry.lane).try_lock_owned().ok();
        self.book().put(id.clone(), entry);
        match next {
            Next::Nothing => {}
            Next::Follow(host) => drop(tokio::spawn(async move { jobs.follow(id, host).await })),
            Next::Seek => drop(tokio::spawn(async move { jobs.seek(id, turn).await })),
            Next::Finish(Ending::Untold) => {
                tokio::spawn(async move { jobs.clear_up(&id).await });
            }
            Next::Finish(end) => {
                // At once: what is known must not be told otherwise meanwhile.
                let state = self.book().end(&id, end, self.now());
                tokio::spawn(async move { jobs.note_end(&id, state).await });
            }
        }
    }

    async fn follow(self: Arc<Self>, id: JobId, host: ProcId) {
        self.note_host(&id, &host).await;
        watch::watch(self, id, host).await;
    }

    /// Looks for the host of a job until it is known, or known to be dead.
    async fn seek(self: Arc<Self>, id: JobId, turn: Option<OwnedMutexGuard<()>>) {
        let mut turn = turn;
        let mut wait = Duration::from_millis(HOST_LINK_RETRY_MS);
        loop {
            if let Some(host) = self.ask_who(&id).await {
                drop(turn);
                return self.follow(id, host).await;
            }
            let (files, is_refused) = (self.files(&id), self.check_directory(&id).is_err());
            let looking = move || match is_refused {
                true => (is_listened_at(files.socket()), None),
                false => (files.is_hosted(), files.host_pid().and_then(ProcId::of)),
            };
            match tokio::task::spawn_blocking(looking).await {
                Ok((true, Some(host))) => {
                    drop(turn);
                    return self.follow(id, host).await;
                }
                Ok((true, None)) => {}
                Ok((false, _)) | Err(_) => break,
            }
            turn = None;
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(Duration::from_millis(HOST_LINK_RETRY_MS_MAX));
        }
        if self.ending(&id).await == Ending::Untold {
            self.book().dies(&id);
        }
        drop(turn);
        self.clear_up(&id).await;
    }

    /// Looks for the host of a job anew, beside.
    pub(super) fn seek_again(self: &Arc<Self>, id: &JobId) {
        self.book().lives_on(id);
        tokio::spawn(Arc::clone(self).seek(id.clone(), None));
    }

    /// Finishes a job whose host is dead, a few at a time.
    async fn clear_up(self: &Arc<Self>, id: &JobId) {
        // It is never closed.
        let _turn = self.finishing.acquire().await;
        self.finish(id).await;
    }

    async fn ask_who(&self, id: &JobId) -> Option<ProcId> {
        let link = self.link(id).await.ok()?;
        let Reply::Status(status) = link.ask(&Control::Status).await.ok()? else { return None };
        ProcId::of(status.host_pid)
    }

    fn read_all(&self) -> Vec<(Entry, Next)> {
        let dir = jobs_dir(&self.parts.home);
        match state_file::tighten(&dir) {
            Ok(false) => {}
            Ok(true) => tracing::warn!(?dir, "others could get into the jobs, and cannot any more"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                tracing::error!(%error, "the jobs are refused");
                return Vec::new();
            }
        }
        let names = state_file::names(&dir, None, JOBS_MAX).unwrap_or_else(|error| {
            tracing::error!(%error, "the jobs cannot be read");
            Vec::new()
        });
        pty::job::sweep(&dir, &names);
        let id = |name: OsString| name.to_str().and_then(|name| name.parse::<JobId>().ok());
        names.into_iter().filter_map(id).filter_map(|id| self.read_one(&id)).collect()
    }

    /// Reads one job. What cannot be read stays as it is, and the job is listed all the same; none where
    /// nothing ever began.
    fn read_one(&self, id: &JobId) -> Option<(Entry, Next)> {
        let (files, now) = (self.files(id), self.now());
        match files.tighten() {
            Ok(paths) => {
                for path in paths {
                    tracing::warn!(job = %id, ?path, "others could get at it, and cannot any more");
                }
            }
            Err(error) => return Some(refused(&files, &error, now)),
        }
        let note = read_note(&files);
        // The host is forgotten before a job is started again, and noted once its program runs.
        let noted = note.as_ref().filter(|note| note.ended_at.is_none());
        let is_begun = noted.is_some_and(|note| note.host.is_some());
        let broken = files.settle_broken_start(is_begun).unwrap_or_else(|error| {
            tracing::warn!(job = %id, %error, "how a job had ended was not put back");
            BrokenStart::None
        });
        let (record, fault) = match files.read() {
            Ok(record) => (record, None),
            Err(FilesError::Missing(_)) if note.is_none() && !files.is_hosted() => {
                tracing::warn!(job = %id, "a job's directory holds no job");
                return None;
            }
            Err(error) => {
                let fault = said(id, Unusable::Record, &error);
                (fault::stand_in(&files, note.as_ref(), now), Some(fault))
            }
        };
        let mut note = note.unwrap_or_else(|| JobNote::begun(record.created_at));
        if broken == BrokenStart::Begun {
            // Also where that was not noted, for want of room: it has no end, and what it left is ended.
            note.ended_at = None;
        }
        let mut entry = Entry::new(record, note, None);
        entry.fault = fault;
        let end = match files.read_exit() {
            Ok(Some(exit)) => Some(Ending::Told(exit)),
            Ok(None) => None,
            Err(error) => Some(Ending::Unreadable(said(id, Unusable::Exit, &error))),
        };
        let next = next(&files, &entry, end.as_ref());
        if let (Next::Nothing, Some(end)) = (&next, end) {
            // The record is truer than what was noted of it.
            let noted = entry.note.clone();
            entry.end(end, now);
            (entry.note.ended_at, entry.note.updated_at) = (noted.ended_at, noted.updated_at);
        }
        Some((entry, next))
    }
}

/// Decides what is to be done about a job, given what its host has written of its end.
fn next(files: &JobFiles, entry: &Entry, end: Option<&Ending>) -> Next {
    if !entry.is_live() {
        return Next::Nothing;
    }
    if let Some(host) = entry.host().filter(ProcId::is_alive) {
        return Next::Follow(host);
    }
    if files.is_hosted() {
        return files.host_pid().and_then(ProcId::of).map_or(Next::Seek, Next::Follow);
    }
    match end {
        Some(end) => Next::Finish(end.clone()),
        None if files.had_host() => Next::Finish(Ending::Untold),
        // Without a lock there is nothing but its socket to ask.
        None => Next::Seek,
    }
}

/// Reads what was noted of a job. A note that cannot be read is kept beside, and found out again.
fn read_note(files: &JobFiles) -> Option<JobNote> {
    let job = files.id();
    files.read_note().unwrap_or_else(|error| {
        tracing::warn!(%job, %error, "a job's state cannot be read, and is found out again");
        if let Err(error) = files.set_note_aside() {
            tracing::warn!(%job, %error, "it cannot be kept beside");
        }
        None
    })
}

fn said(id: &JobId, what: Unusable, error: &FilesError) -> Fault {
    let fault = Fault::new(id, what, error);
    tracing::warn!(job = %id, why = fault.failure.message, "a job is not wholly known");
    fault
}

/// Returns what is listed of a directory that is none of ours. Whether its program runs is told by the socket
/// alone, which is ours.
fn refused(files: &JobFiles, error: &FilesError, now: i64) -> (Entry, Next) {
    let id = files.id();
    let fault = said(id, Unusable::Directory, error);
    // When what stands there was made, whatever it is: the same at each start.
    let made = state_file::written_at(files.dir()).ok().flatten();
    let at = made.map_or(now, |at| at.as_millis());
    let mut note = JobNote::begun(at);
    let runs = is_listened_at(files.socket());
    if !runs {
        note.told = pty::job::Told::by_process(vocab::job::JobState::Failed);
        note.ended_at = Some(at);
    }
    let mut entry = Entry::new(fault::blank(id, at), note, None);
    entry.fault = Some(fault);
    (entry, if runs { Next::Seek } else { Next::Nothing })
}
