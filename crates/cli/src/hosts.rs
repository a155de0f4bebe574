//! From a job's files to the process of its host: our own executable in another role, outside of the
//! control group that would take it along when the daemon's service ends.
//!
//! Where a user manager runs, it gives the host a scope of its own. Else the host moves into a group
//! beside the daemon's, where that can be made. Else a session of its own is what there is.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader},
    os::fd::{AsFd as _, AsRawFd, OwnedFd, RawFd},
    sync::{Arc, mpsc},
    time::Duration,
};

use daemon::jobs::Launcher;
use futures_util::future::BoxFuture;
use pty::job::JobFiles;
use rustix::{
    fs::{Mode, OFlags},
    process::Signal,
};
use sandbox::{
    Environment, Host as Machine, Lifetime, Plan, Policy,
    scope::{self, Child, Stdio},
};
use stdx::{clock::Clock, proc_id::ProcId};
use tokio::io::{Interest, unix::AsyncFd};
use vocab::{
    ids::JobId,
    limits::{CHILD_GRACE_MS, HOST_READY_MS_MAX},
    outcome::{Effect, Failure},
};

mod place;

use place::Place;

use crate::role::host::{BEGINS, READY};

/// What a host's environment has of ours: where its files are, and where programs are found. What its
/// program sees is in the job's record.
const NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "STEAD_HOME",
    "STEAD_RUNTIME_DIR",
    "STEAD_CONFIG",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// Starts hosts.
pub(crate) struct Hosts {
    environment: Vec<(OsString, OsString)>,
    place: Place,
    /// Our own executable.
    own: Arc<OwnedFd>,
}

impl Hosts {
    /// Builds the starter from the daemon's own environment.
    ///
    /// # Errors
    /// When our own executable cannot be held on to.
    pub(crate) fn new(all: &[(OsString, OsString)]) -> Result<Self, Failure> {
        let named = all.iter().filter(|(name, _)| NAMES.iter().any(|known| name == known));
        let environment: Vec<_> = named.cloned().collect();
        let place = Place::find(&environment);
        tracing::info!(?place, "where the hosts of jobs live");
        let own = Arc::new(open("/proc/self/exe", OFlags::PATH)?);
        Ok(Self { environment, place, own })
    }
}

impl Launcher for Hosts {
    fn launch(&self, files: JobFiles) -> BoxFuture<'static, Result<ProcId, Failure>> {
        let (environment, place) = (self.environment.clone(), self.place.clone());
        let own = Arc::clone(&self.own);
        let forgets = place.clone();
        Box::pin(async move {
            let id = files.id().clone();
            let starting = move || start(&environment, &place, &own, &files);
            let started = tokio::task::spawn_blocking(starting).await;
            let broken = |_| Err(may_have_begun(&id, "starting it broke off"));
            let child = started.unwrap_or_else(broken)?;
            let host = child.id().clone();
            tokio::spawn(reap(child, forgets, id));
            Ok(host)
        })
    }

    fn end_leftovers(&self, job: &JobId) {
        let grace = Duration::from_millis(CHILD_GRACE_MS);
        let killed = scope::reap_leftover_jobs(&[job.to_string()], grace);
        if !killed.is_empty() {
            tracing::warn!(%job, killed = killed.len(), "what a job has left was ended");
        }
        self.place.forget(job);
    }
}

fn start(
    environment: &[(OsString, OsString)],
    place: &Place,
    own: &OwnedFd,
    files: &JobFiles,
) -> Result<Child, Failure> {
    let id = files.id();
    match begin(environment, &place.command(id), own, files) {
        Err(failure) if failure.code == NOT_PLACED => {
            // The manager may be gone by now, or may refuse; a job is worth more than its place.
            tracing::warn!(job = %id, why = failure.message, "a host has no place of its own");
            begin(environment, &Place::Session.command(id), own, files)
        }
        begun => begun,
    }
}

/// The code of a failure to get a place, as opposed to one of the host.
const NOT_PLACED: &str = "host_not_placed";

fn begin(
    environment: &[(OsString, OsString)],
    command: &[OsString],
    own: &OwnedFd,
    files: &JobFiles,
) -> Result<Child, Failure> {
    // Taken here and handed on: whoever asks meanwhile, after our own death too, sees that the job has a
    // host, although it has no socket yet and nobody has noted it.
    let lock = pty::host::lock(files)?;
    let id = files.id();
    let mut built = Environment::for_jobs(&[], environment);
    // It marks the program's processes; the host itself is none of them.
    built.remove(vocab::ids::JOB_MARKER);
    let root = open("/", OFlags::RDONLY | OFlags::DIRECTORY)?;
    let Some((program, args)) = command.split_first() else { return Err(not_begun("no command")) };
    let policy = Policy::new(program, root, built).args(args).lifetime(Lifetime::Detached);
    let plan = Plan::realize(policy, &Machine::probe())?;
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|errno| not_begun(&errno.to_string()))?;
    // Nobody reads errors; what is there instead is what the manager's program is to become, see [`place::OWN`].
    let stderr = own.try_clone().map_err(|error| not_begun(&error.to_string()))?;
    let streams = Stdio { stdin: lock.into(), stdout: writer, stderr };
    let child = scope::launch_detached(&plan, &streams)?;
    drop(streams);
    let heard = hear(reader, Duration::from_millis(HOST_READY_MS_MAX));
    if heard.said.as_deref() == Ok(READY.trim_end()) {
        return Ok(child);
    }
    child.signal(Signal::KILL);
    let _ended = child.wait();
    // What a host says of itself as JSON is true. Of one that says nothing it is known only before its program
    // was about to begin that none did.
    let told = heard.said.as_ref().ok().and_then(|line| serde_json::from_str(line).ok());
    if let Some(failure) = told {
        return Err(failure);
    }
    let why = match &heard.said {
        Ok(line) => line.trim(),
        Err(Silence::Ended) => "it ended before it was ready",
        Err(Silence::Late) => "it was not ready in time",
    };
    if heard.begins || heard.said == Err(Silence::Late) {
        // Its program may not listen to the end of its terminal.
        scope::reap_leftover_jobs(&[id.to_string()], Duration::from_millis(CHILD_GRACE_MS));
        return Err(may_have_begun(id, why));
    }
    let is_direct = program.as_encoded_bytes().starts_with(b"/proc/");
    if !is_direct && heard.said == Err(Silence::Ended) {
        return Err(Failure::not_started(NOT_PLACED, "the manager did not start it"));
    }
    Err(not_begun(why))
}

/// What a host has said of its start.
#[derive(Debug, PartialEq, Eq)]
struct Heard {
    /// It was about to start its program.
    begins: bool,
    /// How that went.
    said: Result<String, Silence>,
}

/// Why a host said nothing.
#[derive(Debug, PartialEq, Eq)]
enum Silence {
    Ended,
    Late,
}

fn hear(pipe: OwnedFd, limit: Duration) -> Heard {
    let (sender, lines) = mpsc::sync_channel(2);
    // A thread of its own: it ends with the pipe, which ends with what the host says last of its start.
    std::thread::spawn(move || {
        for line in BufReader::new(std::fs::File::from(pipe)).lines().map_while(Result::ok) {
            let is_last = line != BEGINS.trim_end();
            if sender.send(line).is_err() || is_last {
                return;
            }
        }
    });
    let (clock, mut begins) = (Clock::system(), false);
    let until = clock.monotonic() + limit;
    loop {
        let said = match lines.recv_timeout(until.saturating_sub(clock.monotonic())) {
            Ok(line) if line == BEGINS.trim_end() => {
                begins = true;
                continue;
            }
            Ok(line) => Ok(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(Silence::Ended),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(Silence::Late),
        };
        return Heard { begins, said };
    }
}

fn open(path: &str, flags: OFlags) -> Result<OwnedFd, Failure> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| not_begun(&format!("{path}: {errno}")))
}

fn not_begun(why: &str) -> Failure {
    Failure::not_started("host_failed", format!("the job's host did not begin: {why}"))
}

/// Says that a host is gone whose program may have run: what it did is somebody's work.
fn may_have_begun(id: &JobId, why: &str) -> Failure {
    let why = format!(
        "the host of job {id} did not say that its program runs: {why}; the program may have run, and what was left of it was ended"
    );
    Failure::new("host_failed", Effect::Indeterminate, why).with_hint(format!(
        "the job is kept: stead ls --all shows it, and stead rm {id} saves what it wrote"
    ))
}

/// Waits for a host that was started here, so that it does not stay a zombie.
async fn reap(child: Child, place: Place, id: JobId) {
    let child = Arc::new(child);
    #[expect(deprecated, reason = "what it warns of is no owned descriptor, which this one is")]
    let watched = AsyncFd::with_interest(Watched(Arc::clone(&child)), Interest::READABLE);
    if let Ok(watched) = watched {
        watched.readable().await.ok();
    }
    // Where it cannot be watched, whoever starts the next child looks after it.
    let _ended = child.try_wait();
    place.forget(&id);
}

struct Watched(Arc<Child>);

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

#[cfg(test)]
mod tests;
