//! Ends: asked for, seen, written down, and forgotten.

use std::{sync::Arc, time::Duration};

use pty::hello::{Control, Reply};
use rustix::process::{Pid, Signal, kill_process};
use stdx::proc_id::ProcId;
use tokio::{sync::Mutex as Lane, time::timeout};
use vocab::{
    fact::JobFact,
    ids::JobId,
    job::JobState,
    limits::{HOST_KILL_MS_MAX, HOST_STOP_MS_MAX},
    outcome::{Effect, Failure},
};
use worktree::Saved;

use super::{
    Care, Jobs, Removal,
    book::{Ending, Entry},
    fault::{Fault, Unusable},
    link::is_listened_at,
    missing,
};
use crate::{caller::Caller, roster::Row};

/// The code for an end that was seen and cannot be written down.
const UNWRITTEN: &str = "end_unwritten";

impl Jobs {
    /// Ends a job's program with all that it has started, and waits until it has. One that has ended stays
    /// as it is; what it has left running is ended.
    ///
    /// # Errors
    /// When there is no such job, or it cannot be ended.
    pub async fn stop(self: &Arc<Self>, caller: &Caller, id: &JobId) -> Result<Row, Failure> {
        let lane = self.lane(caller, id).await?;
        let (jobs, id) = (Arc::clone(self), id.clone());
        Self::apart(async move {
            let _turn = lane.lock().await;
            if !jobs.runs_unlooked_at(&id) {
                jobs.check_directory(&id)?;
            }
            let is_live = jobs.is_live(&id);
            jobs.end(&id).await?;
            if !(is_live && jobs.was_stopped(&id)) {
                jobs.end_what_is_left(&id).await;
            }
            jobs.book().row(&id).ok_or_else(|| missing(&id))
        })
        .await
    }

    /// Removes a job with its worktree and its files, after its program has ended. Returns what was saved
    /// of the worktree. It goes on also when whoever has asked does not wait for it.
    ///
    /// # Errors
    /// When there is no such job, it cannot be ended, its work cannot be saved, or something cannot be
    /// removed. The job stays then.
    pub async fn remove(
        self: &Arc<Self>,
        caller: &Caller,
        id: &JobId,
        how: Removal,
    ) -> Result<Vec<Saved>, Failure> {
        let (jobs, caller, id) = (Arc::clone(self), caller.clone(), id.clone());
        Self::apart(async move { jobs.clear(&caller, &id, how).await }).await
    }

    async fn clear(
        self: &Arc<Self>,
        caller: &Caller,
        id: &JobId,
        how: Removal,
    ) -> Result<Vec<Saved>, Failure> {
        if how == Removal::Discarding {
            // Work that is nowhere else is a person's to give up.
            caller.person()?;
        }
        let lane = self.lane(caller, id).await?;
        let _turn = lane.lock().await;
        if self.runs_unlooked_at(id) {
            let why = format!(
                "job {id} runs, and its directory is refused: nothing would be left to find it by"
            );
            return Err(Failure::not_started("job_refused", why)
                .with_hint(format!("stead stop {id} ends it first")));
        }
        let is_live = self.is_live(id);
        match self.end(id).await {
            // How it ended would go with the rest.
            Err(failure) if failure.code == UNWRITTEN => {}
            ended => ended?,
        }
        if !(is_live && self.was_stopped(id)) || self.has_tree(id) {
            self.end_what_is_left(id).await;
        }
        let saved = self.clear_tree(id, how).await?;
        let files = self.located(id).await;
        let removing = tokio::task::spawn_blocking(move || files.remove());
        let removed = removing.await.unwrap_or_else(|_| Err(std::io::Error::other("it failed")));
        if let Err(error) = removed {
            let why = format!("the files of job {id} cannot be removed: {error}");
            return Err(Failure::new("job_files_unusable", Effect::Indeterminate, why));
        }
        self.book().remove(id);
        self.tell(JobFact::JobRemoved { job: id.clone() }).await;
        Ok(saved)
    }

    /// Tells whether a job runs whose directory is none of ours: its socket alone says so.
    fn runs_unlooked_at(&self, id: &JobId) -> bool {
        self.check_directory(id).is_err() && is_listened_at(self.files(id).socket())
    }

    /// Returns the lane of a job, in which whoever changes it waits for its turn.
    pub(super) async fn lane(
        self: &Arc<Self>,
        caller: &Caller,
        id: &JobId,
    ) -> Result<Arc<Lane<()>>, Failure> {
        self.allow(caller, id).await?;
        self.book().get(id).map(|entry| Arc::clone(&entry.lane)).ok_or_else(|| missing(id))
    }

    /// Ends a job as [`Jobs::stop`] does, for the daemon itself.
    pub(super) async fn end_in_turn(self: &Arc<Self>, id: &JobId) -> Result<(), Failure> {
        let lane = self.book().get(id).map(|entry| Arc::clone(&entry.lane));
        let lane = lane.ok_or_else(|| missing(id))?;
        let _turn = lane.lock().await;
        self.end(id).await
    }

    async fn end(self: &Arc<Self>, id: &JobId) -> Result<(), Failure> {
        let entry = self.settled(id).await?;
        if !entry.is_live() {
            return Ok(());
        }
        let mut ended = entry.ended();
        // The wish is noted before it is told, so that an end without a record is known as one.
        self.book().edit(id, |note| note.stop_requested = true);
        self.save_if_possible(id, Care::PowerLoss).await;
        // One whose program has ended is waited for as long as a slow disk may take.
        let is_over_already = self.has_ended_unwritten(id).await;
        let asked = match self.link(id).await {
            Ok(link) => link.ask(&Control::Terminate).await.map(drop),
            Err(failure) => Err(failure),
        };
        if let (Err(_), Some(host)) = (asked, entry.host()) {
            // The signal says the same.
            signal(&host, Signal::TERM);
        }
        let usual = match is_over_already {
            true => Duration::from_millis(HOST_KILL_MS_MAX),
            false => Duration::from_millis(HOST_STOP_MS_MAX),
        };
        if timeout(usual, ended.wait_for(|ended| *ended)).await.is_ok() || self.is_over(id).await? {
            return Ok(());
        }
        if self.has_ended_unwritten(id).await {
            return Err(self.unwritten(id).await);
        }
        tracing::warn!(job = %id, "a host did not end its program in time, and is killed");
        if let Some(host) = entry.host() {
            signal(&host, Signal::KILL);
        }
        let last = Duration::from_millis(HOST_KILL_MS_MAX);
        if timeout(last, ended.wait_for(|ended| *ended)).await.is_ok() || self.is_over(id).await? {
            return Ok(());
        }
        let why = format!("job {id} was asked to end and killed, and has not ended");
        Err(Failure::new("job_not_ended", Effect::Indeterminate, why))
    }

    /// Says that how a job ended cannot be written: for what stands in the way, or else for want of room.
    async fn unwritten(&self, id: &JobId) -> Failure {
        let (why, hint) = match self.ending(id).await {
            Ending::Unreadable(fault) => (fault.failure.message, "move away what stands there"),
            Ending::Told(_) | Ending::Untold => ("is the disk full?".to_owned(), "make room"),
        };
        let why = format!("the program of job {id} has ended, and how cannot be written: {why}");
        let hint = format!("its host goes on trying; {hint}, and it is written");
        Failure::new(UNWRITTEN, Effect::Completed, why).with_hint(hint)
    }

    fn is_live(&self, id: &JobId) -> bool {
        self.book().get(id).is_some_and(Entry::is_live)
    }

    /// Tells whether a job's host has ended its program with all that it had started.
    fn was_stopped(&self, id: &JobId) -> bool {
        let book = self.book();
        book.get(id).and_then(|entry| entry.exit.as_ref()).is_some_and(|exit| exit.stopped)
    }

    /// Ends what an ended job has left running: its program has let go of it, and whoever stops or removes the
    /// job means all of it.
    async fn end_what_is_left(self: &Arc<Self>, id: &JobId) {
        let (jobs, job) = (Arc::clone(self), id.clone());
        let ending = move || jobs.parts.launcher.end_leftovers(&job);
        tokio::task::spawn_blocking(ending).await.ok();
    }

    /// Returns a job whose program runs, or whose end is written down. What a dead host has left is being ended
    /// already, in a time of its own, and was no wish of whoever asks now.
    async fn settled(&self, id: &JobId) -> Result<Entry, Failure> {
        loop {
            let (entry, mut ended) = {
                let book = self.book();
                let entry = book.get(id).cloned().ok_or_else(|| missing(id))?;
                // In the same turn, so that no change in between is missed.
                let ended = entry.ended();
                (entry, ended)
            };
            if !entry.is_live() {
                // It may be about to be written down.
                ended.wait_for(|ended| *ended).await.ok();
                return Ok(entry);
            }
            if !entry.is_dying() || ended.changed().await.is_err() {
                return Ok(entry);
            }
        }
    }

    /// Tells whether a job has ended, once what a dead host has left is ended as well.
    async fn is_over(&self, id: &JobId) -> Result<bool, Failure> {
        Ok(!self.settled(id).await?.is_live())
    }

    /// Tells whether a host says that its program has ended, which it has not written down.
    async fn has_ended_unwritten(&self, id: &JobId) -> bool {
        let Ok(link) = self.link(id).await else { return false };
        let told = link.ask(&Control::Status).await;
        matches!(told, Ok(Reply::Status(status)) if !status.alive)
    }

    /// Writes down how a job ended, from what its host has left. One that has a host has not ended: that is
    /// looked for again.
    pub(super) async fn finish(self: &Arc<Self>, id: &JobId) {
        let end = self.ending(id).await;
        if end == Ending::Untold && self.is_hosted(id).await {
            tracing::warn!(job = %id, "what was taken for a host has ended, and the job has not");
            return self.seek_again(id);
        }
        if end == Ending::Untold && self.book().get(id).is_none() {
            // It was removed meanwhile, and what there was to end was ended by then.
            return;
        }
        if end == Ending::Untold {
            self.book().dies(id);
            let (jobs, job, files) = (Arc::clone(self), id.clone(), self.located(id).await);
            let clearing = tokio::task::spawn_blocking(move || {
                jobs.parts.launcher.end_leftovers(&job);
                // The end of an earlier life is none of this one.
                if let Err(error) = files.drop_exit_before() {
                    tracing::warn!(%job, %error, "how a job had ended before was not removed");
                }
                // What it showed last was recorded up to a moment before, and its text was not written.
                if let Some(text) = pty::record::recover(&files) {
                    stdx::state_file::replace(&files.screen(), text.as_bytes()).ok();
                }
                stdx::state_file::remove(files.socket()).ok();
            });
            clearing.await.ok();
        }
        let state = self.book().end(id, end, self.now());
        self.note_end(id, state).await;
    }

    /// Writes down and tells the end of a job, if it is news, and wakes up who waits for it.
    pub(super) async fn note_end(self: &Arc<Self>, id: &JobId, state: Option<JobState>) {
        let Some(state) = state else { return };
        self.save_if_possible(id, Care::PowerLoss).await;
        self.tell(JobFact::JobEnded { job: id.clone(), state }).await;
        self.book().wake(id);
    }

    async fn is_hosted(&self, id: &JobId) -> bool {
        let files = self.files(id);
        tokio::task::spawn_blocking(move || files.is_hosted()).await.unwrap_or(false)
    }

    pub(super) async fn has_exit(&self, id: &JobId) -> bool {
        matches!(self.ending(id).await, Ending::Told(_))
    }

    /// Looks what the host has written of a job's end, where the directory is ours.
    pub(super) async fn ending(&self, id: &JobId) -> Ending {
        let refused = self.book().get(id).filter(|entry| entry.is_refused()).cloned();
        if let Some(fault) = refused.and_then(|entry| entry.fault) {
            return Ending::Unreadable(fault);
        }
        let files = self.files(id);
        match tokio::task::spawn_blocking(move || files.read_exit()).await {
            Ok(Ok(Some(exit))) => Ending::Told(exit),
            Ok(Err(error)) => {
                tracing::warn!(job = %id, %error, "an exit record cannot be read");
                Ending::Unreadable(Fault::new(id, Unusable::Exit, &error))
            }
            Ok(Ok(None)) | Err(_) => Ending::Untold,
        }
    }

    /// Forgets a job that did not begin.
    pub(super) async fn forget(&self, id: &JobId) {
        let files = self.files(id);
        let removed = tokio::task::spawn_blocking(move || files.remove()).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(job = %id, %error, "the files of a job that did not begin are left");
        }
        self.book().remove(id);
    }
}

/// Sends a signal to a host that lives.
fn signal(host: &ProcId, signal: Signal) {
    let pid = i32::try_from(host.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| host.is_alive() && host.pid != std::process::id()) {
        // One that went in between is what was wanted.
        kill_process(pid, signal).ok();
    }
}
