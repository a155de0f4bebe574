//! What can be done with a job besides starting and ending it.

use std::{path::PathBuf, sync::Arc, time::Duration};

pub use arbiter::fact::Claim;
use pty::hello::{self, Control, Reply, Said, Token};
use vocab::{
    fact::JobFact,
    ids::JobId,
    limits::{HOST_LINK_RETRY_MS, HOST_SCREEN_FILE_BYTES_MAX},
    outcome::{Effect, Failure},
};

use super::{Care, Jobs, book::Entry, missing, name, watch};
use crate::{caller::Caller, roster::Row};

/// What was said from inside a job.
#[derive(Clone, PartialEq, Eq)]
pub struct Report {
    /// How it is.
    pub said: Claim,
    /// What it says or waits for.
    pub message: Option<String>,
    /// The report's number among those of its source.
    pub seq: Option<u64>,
    /// Who reports.
    pub source: Option<String>,
    /// The job's token.
    pub token: String,
}

impl std::fmt::Debug for Report {
    /// Does not show the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Report").field("said", &self.said).finish_non_exhaustive()
    }
}

impl Jobs {
    /// Finds the jobs that fit a person's text as well as any does; none where none fits.
    pub async fn fitting(self: &Arc<Self>, text: &str) -> Option<name::Fitting> {
        self.adopt().await;
        let names = self.book().names();
        name::fitting(text, &names)
    }

    /// Types a text into a job's terminal.
    ///
    /// # Errors
    /// When there is no such job, or it does not take it.
    pub async fn send(
        self: &Arc<Self>,
        caller: &Caller,
        id: &JobId,
        text: String,
    ) -> Result<(), Failure> {
        self.allow(caller, id).await?;
        self.order(id, &Control::Send { text }).await.map(drop)
    }

    /// Passes on what was said from inside a job.
    ///
    /// # Errors
    /// When there is no such job, it has ended, or the token is another one's.
    pub async fn report(self: &Arc<Self>, id: &JobId, report: Report) -> Result<(), Failure> {
        let Report { said, message, seq, source, token } = report;
        let state = match said {
            Claim::Working => Said::Working,
            Claim::Blocked => Said::Blocked,
            Claim::Idle => Said::Idle,
        };
        let token = Token(token);
        let control = Control::Report { state, message, seq, source, token };
        self.order(id, &control).await.map(drop)
    }

    /// Returns why a job is in the state it is in, as JSON.
    ///
    /// # Errors
    /// When there is no such job, or its host does not answer.
    pub async fn explain(self: &Arc<Self>, id: &JobId) -> Result<Vec<u8>, Failure> {
        self.adopt().await;
        let row = self.book().row(id).ok_or_else(|| missing(id))?;
        if row.ended_at.is_none() {
            return match self.order(id, &Control::Explain).await? {
                Reply::Explained(why) => Ok(hello::to_json(&why)),
                Reply::Snapshot { .. }
                | Reply::Status(_)
                | Reply::Done { .. }
                | Reply::Failed { .. } => Err(Failure::not_started(
                    "host_silent",
                    "the job's host answered something else",
                )),
            };
        }
        let detail = match &row.condition.status {
            Some(status) => format!("its program has ended: {status}"),
            None => "its program has ended".to_owned(),
        };
        let ended = row.ended_at.map_or(0, |at| at.as_millis());
        let for_ms = u64::try_from(self.now() - ended).unwrap_or(0);
        Ok(row.explained(detail, for_ms))
    }

    /// Lets a job's host go on as another build.
    ///
    /// # Errors
    /// When there is no such job, or the build cannot take over; the host then goes on as it is.
    pub async fn upgrade(
        self: &Arc<Self>,
        caller: &Caller,
        id: &JobId,
        path: PathBuf,
    ) -> Result<(), Failure> {
        self.allow(caller, id).await?;
        self.order(id, &Control::Upgrade { path }).await?;
        self.book().set_host_version(id, None);
        self.learn(id).await;
        Ok(())
    }

    /// Lets go of everyone who looks at a job.
    ///
    /// # Errors
    /// When there is no such job, or its host does not answer.
    pub async fn detach(self: &Arc<Self>, caller: &Caller, id: &JobId) -> Result<(), Failure> {
        self.allow(caller, id).await?;
        self.order(id, &Control::Detach).await.map(drop)
    }

    /// Returns a job's screen as text: as it is, or as it was last.
    ///
    /// # Errors
    /// When there is no such job, or its screen cannot be read.
    pub async fn screen(self: &Arc<Self>, id: &JobId) -> Result<String, Failure> {
        self.adopt().await;
        let is_live = self.book().get(id).ok_or_else(|| missing(id))?.is_live();
        let rows = Control::Snapshot { whole: false };
        if is_live && let Ok(Reply::Snapshot { text }) = self.order(id, &rows).await {
            return Ok(text);
        }
        self.check_directory(id)?;
        let files = self.files(id);
        let reading = tokio::task::spawn_blocking(move || {
            stdx::state_file::read(&files.screen(), HOST_SCREEN_FILE_BYTES_MAX)
        });
        match reading.await {
            Ok(Ok(bytes)) => Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()),
            Ok(Err(error)) => {
                Err(Failure::not_started("job_files_unusable", format!("the screen: {error}")))
            }
            Err(_) => Err(Failure::not_started("internal", "reading the screen failed")),
        }
    }

    /// Calls a job something else. A name that is taken gets a number.
    ///
    /// # Errors
    /// When there is no such job, or nothing is left of the name.
    pub async fn rename(
        self: &Arc<Self>,
        caller: &Caller,
        id: &JobId,
        wanted: &str,
    ) -> Result<Row, Failure> {
        let wanted = name::short(wanted);
        if wanted.is_empty() {
            return Err(Failure::not_started("invalid_field", "the name is empty"));
        }
        name::check(&wanted)?;
        let lane = self.lane(caller, id).await?;
        let _turn = lane.lock().await;
        let _planting = self.planting.lock().await;
        let mut others = self.book().names();
        others.retain(|(other, _)| other != id);
        let name = name::unique(&wanted, &others);
        self.edit(id, |note| note.name = Some(name)).await
    }

    /// Keeps a job in lists, or no longer.
    ///
    /// # Errors
    /// When there is no such job.
    pub async fn pin(
        self: &Arc<Self>,
        caller: &Caller,
        id: &JobId,
        pinned: bool,
    ) -> Result<Row, Failure> {
        let lane = self.lane(caller, id).await?;
        let _turn = lane.lock().await;
        self.edit(id, |note| note.pinned = pinned).await
    }

    /// Demands that the caller may touch a job: an agent may touch what agents have asked for, and nothing
    /// that a person has, agents among it.
    ///
    /// # Errors
    /// When there is no such job, or the caller may not.
    pub(super) async fn allow(
        self: &Arc<Self>,
        caller: &Caller,
        id: &JobId,
    ) -> Result<(), Failure> {
        self.adopt().await;
        let is_agents = self.book().get(id).ok_or_else(|| missing(id))?.record.asked.by_agent;
        if is_agents { caller.program() } else { caller.person() }
    }

    async fn edit(
        &self,
        id: &JobId,
        edit: impl FnOnce(&mut pty::job::JobNote),
    ) -> Result<Row, Failure> {
        let now = self.now();
        let edited = self.book().edit(id, |note| {
            edit(note);
            note.updated_at = now;
        });
        edited.ok_or_else(|| missing(id))?;
        if let Err(error) = self.save(id, Care::PowerLoss).await {
            let why = format!("it is so until the daemon ends, and cannot be written: {error}");
            return Err(Failure::new(error.code(), Effect::Indeterminate, why));
        }
        self.tell(JobFact::JobEdited { job: id.clone() }).await;
        self.book().row(id).ok_or_else(|| missing(id))
    }

    /// Asks a job's host for an operation.
    ///
    /// # Errors
    /// When there is no such job, its program has ended, or its host does not do it.
    pub async fn order(self: &Arc<Self>, id: &JobId, control: &Control) -> Result<Reply, Failure> {
        self.adopt().await;
        let is_live = self.book().get(id).ok_or_else(|| missing(id))?.is_live();
        if !is_live {
            let why = format!("job {id} has ended");
            return Err(Failure::not_started("job_ended", why)
                .with_hint(format!("stead respawn {id} starts it again")));
        }
        let link = match self.link(id).await {
            Ok(link) => link,
            Err(failure) => {
                // Its name may have been removed: it makes it anew when it is asked to.
                let host = self.book().get(id).and_then(Entry::host).ok_or(failure)?;
                watch::ask_for_socket(&host);
                tokio::time::sleep(Duration::from_millis(HOST_LINK_RETRY_MS)).await;
                self.link(id).await?
            }
        };
        link.ask(control).await
    }
}
