//! Finding jobs again: those that an earlier daemon has left, with or without a program that runs.
//!
//! Their files say which there are, and each host's process or socket whether it lives. A host whose
//! process was not noted, since the daemon died in between, still answers at its socket.

use std::{ffi::OsString, sync::Arc};

use pty::{
    hello::{Control, Reply},
    job::{FilesError, JobNote, jobs_dir},
};
use stdx::{proc_id::ProcId, state_file};
use vocab::{ids::JobId, limits::JOBS_MAX};

use super::{Jobs, book::Entry, link::Link, watch};

impl Jobs {
    /// Looks at the jobs that are there, the first time it is called; later calls wait for that.
    pub async fn adopt(self: &Arc<Self>) {
        self.adopted
            .get_or_init(|| async {
                let jobs = Arc::clone(self);
                let reading = tokio::task::spawn_blocking(move || jobs.read_all());
                let found = reading.await.unwrap_or_default();
                let n_found = found.len();
                let live: Vec<JobId> = {
                    let mut book = self.book();
                    for entry in found {
                        book.put(entry.record.id.clone(), entry);
                    }
                    book.live()
                };
                let looks = live.into_iter().map(|id| self.adopt_one(id));
                futures_util::future::join_all(looks).await;
                if 0 < n_found {
                    tracing::info!(
                        jobs = n_found,
                        live = self.book().live().len(),
                        "jobs were found"
                    );
                }
            })
            .await;
    }

    /// Follows the host of a job whose end nobody has noted, or notes it.
    async fn adopt_one(self: &Arc<Self>, id: JobId) {
        let noted = self.book().get(&id).and_then(Entry::host).filter(ProcId::is_alive);
        let host = match noted {
            Some(host) => Some(host),
            None => self.ask_who(&id).await,
        };
        match host {
            Some(host) => {
                self.note_host(&id, &host).await;
                tokio::spawn(watch::watch(Arc::clone(self), id, host));
            }
            None => self.finish(&id).await,
        }
    }

    async fn ask_who(&self, id: &JobId) -> Option<ProcId> {
        let link = Link::open(self.files(id).socket()).await.ok()?;
        let Reply::Status(status) = link.ask(&Control::Status).await.ok()? else { return None };
        ProcId::of(status.host_pid)
    }

    fn read_all(&self) -> Vec<Entry> {
        let dir = jobs_dir(&self.parts.home);
        let names = state_file::names(&dir, None, JOBS_MAX).unwrap_or_else(|error| {
            tracing::error!(%error, "the jobs cannot be read");
            Vec::new()
        });
        let id = |name: OsString| name.to_str().and_then(|name| name.parse::<JobId>().ok());
        names.into_iter().filter_map(id).filter_map(|id| self.read_one(&id)).collect()
    }

    /// Reads one job. What cannot be read is left alone and said, and is nobody's job.
    fn read_one(&self, id: &JobId) -> Option<Entry> {
        let files = self.files(id);
        let read = || -> Result<Entry, FilesError> {
            let record = files.read()?;
            let exit = files.read_exit()?;
            let note = files.read_note().unwrap_or_else(|error| {
                tracing::warn!(job = %id, %error, "a job's state cannot be read, and is found out again");
                None
            });
            let begun = JobNote::begun(record.created_at);
            Ok(Entry::new(record, note.unwrap_or(begun), exit))
        };
        match read() {
            Ok(entry) => Some(entry),
            Err(error) => {
                tracing::warn!(job = %id, %error, "a job cannot be read");
                None
            }
        }
    }
}
