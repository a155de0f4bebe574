//! From a wish to a program that runs.
//!
//! A job's record is written before its host is started, and it is listed from then on: whatever
//! happens next, somebody can find it. One that did not begin leaves nothing.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pty::job::{Asked, FilesError, HostNote, JobNote, JobRecord};
use stdx::proc_id::ProcId;
use tokio::time::timeout;
use vocab::{
    fact::JobFact,
    ids::JobId,
    limits::{HOST_FAREWELL_MS_MAX, JOBS_LIVE_MAX, JOBS_MAX},
    outcome::{Effect, Failure},
};
use worktree::Planned;

use super::{Care, Jobs, TreeWish, book::Entry, missing, name, watch};
use crate::{caller::Caller, roster::Row};

/// How many ids are tried before it is a fault: two of the same number are one in four billion.
const N_TRIES: usize = 8;

/// What is to be started.
#[derive(Clone, Default)]
pub struct Dispatch {
    /// What to call it; made from the command when absent.
    pub name: Option<String>,
    /// Where it starts. Absolute.
    pub cwd: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it sees of the environment.
    pub env: BTreeMap<String, String>,
    /// The names among them that a person gave.
    pub env_names: Vec<String>,
    /// The session file that it writes.
    pub session_file: Option<PathBuf>,
    /// The worktree that it works in; none to work in the directory itself.
    pub worktree: Option<TreeWish>,
    /// What has asked for it; `dispatch` when absent.
    pub origin: Option<String>,
    /// Whether what it shows is kept.
    pub record: bool,
    /// The model that the program was told to use.
    pub model: Option<String>,
    /// How much it was told to think.
    pub thinking: Option<String>,
}

impl std::fmt::Debug for Dispatch {
    /// Shows no value of the environment, and no argument, which may hold one as well.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatch").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Dispatch {
    /// Returns what it is to be called, if that is nobody's name.
    pub(super) fn wanted_name(&self) -> String {
        let asked = self.name.as_deref().map(name::short).filter(|name| !name.is_empty());
        asked.unwrap_or_else(|| name::of_command(&self.command))
    }
}

impl Jobs {
    /// Starts a job and returns its row. It goes on also when whoever has asked does not wait for it.
    ///
    /// # Errors
    /// When it cannot begin; nothing of it is left.
    pub async fn dispatch(
        self: &Arc<Self>,
        caller: &Caller,
        wish: Dispatch,
    ) -> Result<Row, Failure> {
        let (jobs, caller) = (Arc::clone(self), caller.clone());
        Self::apart(async move { jobs.start(&caller, wish).await }).await
    }

    async fn start(self: &Arc<Self>, caller: &Caller, wish: Dispatch) -> Result<Row, Failure> {
        self.adopt().await;
        let planting = self.planting.lock().await;
        self.check(&wish)?;
        let (id, mut wish) = (self.free_id()?, wish);
        let planned = self.plan_tree(&id, &wish).await?;
        if let Some(planned) = &planned {
            wish.cwd.clone_from(&planned.cwd);
        }
        let mut record = self.record(id.clone(), caller, wish)?;
        record.worktree = planned.as_ref().map(|planned| planned.tree.clone());
        let note = JobNote::begun(record.created_at);
        let entry = Entry::new(record.clone(), note.clone(), None);
        let lane = Arc::clone(&entry.lane);
        let _turn = lane.lock().await;
        self.book().put(id.clone(), entry);
        drop(planting);
        if let Err(failure) = self.begin(record, note, planned).await {
            if failure.effect == Effect::NotStarted {
                self.forget(&id).await;
            } else {
                // It may have begun: what it did is somebody's work, and `rm` saves that.
                self.finish(&id).await;
            }
            return Err(failure);
        }
        self.book().row(&id).ok_or_else(|| missing(&id))
    }

    /// Writes a job's files, makes its worktree, and launches its host. What does not begin leaves no
    /// worktree.
    async fn begin(
        self: &Arc<Self>,
        record: JobRecord,
        note: JobNote,
        planned: Option<Planned>,
    ) -> Result<(), Failure> {
        let id = record.id.clone();
        let files = self.files(&id);
        let writing = tokio::task::spawn_blocking(move || {
            files.create(&record)?;
            files.write_note(&note)
        });
        match writing.await {
            Ok(written) => written?,
            Err(_) => {
                let why = "writing the job's record failed";
                return Err(Failure::not_started("internal", why));
            }
        }
        let Some(planned) = planned else { return self.launch(&id).await };
        self.make_tree(&planned).await?;
        let launched = self.launch(&id).await;
        if launched.as_ref().is_err_and(|failure| failure.effect == Effect::NotStarted) {
            self.unmake_tree(&id, planned.tree).await;
        }
        launched
    }

    /// Starts an ended job again, with the same command, place and environment. It goes on also when whoever
    /// has asked does not wait for it.
    ///
    /// # Errors
    /// When it runs, or does not begin; its files are kept, and where nothing began, its end as well.
    pub async fn respawn(self: &Arc<Self>, caller: &Caller, id: &JobId) -> Result<Row, Failure> {
        let lane = self.lane(caller, id).await?;
        let (jobs, id) = (Arc::clone(self), id.clone());
        Self::apart(async move {
            let _turn = lane.lock().await;
            jobs.start_again(&id).await
        })
        .await
    }

    async fn start_again(self: &Arc<Self>, id: &JobId) -> Result<Row, Failure> {
        if self.is_closed() {
            return Err(draining());
        }
        let entry = self.book().get(id).cloned().ok_or_else(|| missing(id))?;
        if entry.is_live() {
            let why = format!("job {id} still runs");
            return Err(Failure::not_started("job_running", why)
                .with_hint(format!("stead stop {id}, then again")));
        }
        entry.check_record()?;
        // The end is written down, and whoever saw it has left: a host that says farewell holds its lock.
        entry.ended().wait_for(|ended| *ended).await.ok();
        if let Some(host) = entry.host() {
            let limit = Duration::from_millis(HOST_FAREWELL_MS_MAX * 2);
            timeout(limit, watch::gone(&host)).await.ok();
        }
        let files = self.files(id);
        // In one turn, as whoever starts a new one: whoever ends all waits for it, and then sees what has begun.
        let planting = self.planting.lock().await;
        if self.is_closed() {
            return Err(draining());
        }
        self.check_number()?;
        let now = self.now();
        self.book().begin_again(id, now).ok_or_else(|| missing(id))?;
        drop(planting);
        let putting = tokio::task::spawn_blocking(move || files.set_exit_aside());
        let put_aside = match putting.await {
            Ok(done) => done.map_err(FilesError::from),
            Err(_) => Err(FilesError::Io(std::io::Error::other("it broke off"))),
        };
        let begun = match put_aside {
            Ok(()) => {
                self.save_if_possible(id, Care::PowerLoss).await;
                self.launch(id).await
            }
            Err(error) => Err(error.into()),
        };
        let Err(failure) = begun else { return self.book().row(id).ok_or_else(|| missing(id)) };
        if failure.effect == Effect::NotStarted {
            self.put_back(id, entry).await;
        } else {
            self.finish(id).await;
        }
        Err(failure)
    }

    /// Puts the end of a job back that did not begin anew: that is still how it ended.
    async fn put_back(&self, id: &JobId, before: Entry) {
        let (files, exit) = (self.files(id), before.exit.clone());
        let writing = tokio::task::spawn_blocking(move || {
            // Its host has done so where there was one.
            if files.put_exit_back()? {
                return Ok(());
            }
            match (files.read_exit(), exit) {
                (Ok(None), Some(exit)) => files.write_exit(&exit),
                // Nobody had seen how it ended, and how it did not begin is no end.
                (Ok(Some(told)), None) if told.failure.is_some() => Ok(files.forget_exit()?),
                _ => Ok(()),
            }
        });
        if let Ok(Err(error)) = writing.await {
            tracing::warn!(job = %id, %error, "how a job had ended was not written again");
        }
        self.book().put_back(id, before);
        self.save_if_possible(id, Care::PowerLoss).await;
    }

    /// Starts the host of a job whose files are there, and follows it.
    async fn launch(self: &Arc<Self>, id: &JobId) -> Result<(), Failure> {
        let host = self.parts.launcher.launch(self.files(id)).await?;
        self.note_host(id, &host).await;
        self.learn(id).await;
        self.tell(JobFact::JobStarted { job: id.clone() }).await;
        tokio::spawn(watch::watch(Arc::clone(self), id.clone(), host));
        Ok(())
    }

    /// Notes which process the host is, so that the next daemon knows it.
    pub(super) async fn note_host(&self, id: &JobId, host: &ProcId) {
        let now = self.now();
        let noted = HostNote { host_pid: host.pid, host_token: host.token.clone() };
        let is_known = self.book().get(id).is_some_and(|e| e.note.host.as_ref() == Some(&noted));
        if is_known {
            return;
        }
        self.book().edit(id, |note| {
            note.host = Some(noted);
            note.updated_at = now;
        });
        self.save_if_possible(id, Care::PowerLoss).await;
    }

    fn check(&self, wish: &Dispatch) -> Result<(), Failure> {
        if self.is_closed() {
            return Err(draining());
        }
        if wish.command.first().is_none_or(String::is_empty) {
            return Err(Failure::not_started("command_missing", "no command is named")
                .with_hint("stead bg -- PROGRAM ARGUMENT…"));
        }
        if !wish.cwd.is_absolute() {
            return Err(Failure::not_started("invalid_field", "cwd must be an absolute path"));
        }
        self.check_number()
    }

    fn check_number(&self) -> Result<(), Failure> {
        let (n_all, n_live) = {
            let book = self.book();
            (book.len(), book.live().len())
        };
        if JOBS_MAX <= n_all {
            let why = format!("there are {n_all} jobs, and at most {JOBS_MAX} are kept");
            return Err(Failure::not_started("too_many_jobs", why)
                .with_hint("remove some that have ended: stead ls --all, stead rm ID"));
        }
        if JOBS_LIVE_MAX <= n_live {
            let why = format!("{n_live} jobs run, and at most {JOBS_LIVE_MAX} may");
            return Err(Failure::not_started("too_many_jobs", why)
                .with_hint("end some: stead ls, stead stop ID"));
        }
        Ok(())
    }

    fn free_id(&self) -> Result<JobId, Failure> {
        let book = self.book();
        let ids = std::iter::repeat_with(JobId::generate).take(N_TRIES);
        ids.into_iter()
            .find(|id| book.get(id).is_none())
            .ok_or_else(|| Failure::not_started("internal", "no free id was found for the job"))
    }

    fn record(&self, id: JobId, caller: &Caller, wish: Dispatch) -> Result<JobRecord, Failure> {
        name::check(&wish.wanted_name())?;
        let name = name::unique(&wish.wanted_name(), &self.book().names());
        let session_file = wish.session_file.or_else(|| session_file(&wish.command, &wish.cwd));
        let is_agent = arbiter::agent::of(&wish.command).is_some();
        Ok(JobRecord {
            id,
            name,
            cwd: wish.cwd,
            command: wish.command,
            env: wish.env,
            env_names: wish.env_names,
            token: token()?,
            session_file,
            worktree: None,
            origin: wish.origin.unwrap_or_else(|| "dispatch".to_owned()),
            record: wish.record,
            agent: caller.is_agent() || is_agent,
            asked: Asked {
                by_agent: caller.is_agent(),
                model: wish.model,
                thinking: wish.thinking,
            },
            created_at: self.now(),
            daemon_socket: Some(self.parts.socket.clone()),
            stead_version: self.parts.version.clone(),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(std::sync::atomic::Ordering::SeqCst)
    }
}

/// Returns the session file that a command names itself: `pi --session FILE`.
fn session_file(command: &[String], cwd: &Path) -> Option<PathBuf> {
    let (program, args) = command.split_first()?;
    if program.rsplit('/').next() != Some("pi") {
        return None;
    }
    let next = args.iter().skip(1).map(Some).chain([None]);
    args.iter().zip(next).find_map(|(word, next)| match word.split_once('=') {
        Some(("--session", file)) => Some(cwd.join(file)),
        None if word == "--session" => next.map(|file| cwd.join(file)),
        _ => None,
    })
}

pub(super) fn draining() -> Failure {
    Failure::not_started("draining", "the daemon is stopping")
}

/// Makes what a program proves itself with: 128 random bits.
fn token() -> Result<String, Failure> {
    let mut random = [0_u8; 16];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).map_err(
        |errno| Failure::not_started("internal", format!("no random number can be had: {errno}")),
    )?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_file_of_a_known_program_is_read_from_its_arguments() {
        let check = |command: &[&str], expected: Option<&str>| {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            let found = session_file(&command, Path::new("/w"));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{command:?}");
        };
        check(&["pi", "--session", "s.jsonl", "go on"], Some("/w/s.jsonl"));
        check(&["/usr/bin/pi", "--session=/s/a.jsonl"], Some("/s/a.jsonl"));
        check(&["pi", "--session"], None);
        check(&["pi", "say --session"], None);
        check(&["grep", "--session", "x"], None);
        check(&[], None);
    }
}
