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
use stdx::proc_id::ProcId;
use tokio::io::{Interest, unix::AsyncFd};
use vocab::{
    ids::JobId,
    limits::{CHILD_GRACE_MS, HOST_READY_MS_MAX},
    outcome::{Effect, Failure},
};

mod place;

use place::Place;

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
            let child = started.unwrap_or_else(|_| Err(not_begun("starting it failed")))?;
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
    let said = first_line(reader, Duration::from_millis(HOST_READY_MS_MAX));
    if said.as_deref() == Ok("ready") {
        return Ok(child);
    }
    child.signal(Signal::KILL);
    let _ended = child.wait();
    let is_direct = program.as_encoded_bytes().starts_with(b"/proc/");
    match said {
        Ok(line) => Err(serde_json::from_str(&line).unwrap_or_else(|_| not_begun(line.trim()))),
        Err(Silence::Ended) if !is_direct => {
            Err(Failure::not_started(NOT_PLACED, "the manager did not start it"))
        }
        Err(Silence::Ended) => Err(not_begun("it ended before it was ready")),
        Err(Silence::Late) => {
            // Its program may have begun, and may not listen to the end of its terminal.
            scope::reap_leftover_jobs(&[id.to_string()], Duration::from_millis(CHILD_GRACE_MS));
            let why = format!("the host of job {id} was not ready in time, and was ended");
            Err(Failure::new("host_failed", Effect::Indeterminate, why))
        }
    }
}

/// Why a host said nothing.
#[derive(Debug, PartialEq, Eq)]
enum Silence {
    Ended,
    Late,
}

fn first_line(pipe: OwnedFd, limit: Duration) -> Result<String, Silence> {
    let (sender, said) = mpsc::sync_channel(1);
    // A thread of its own: it ends with the pipe, which ends with the host's first line.
    std::thread::spawn(move || {
        let line = BufReader::new(std::fs::File::from(pipe)).lines().next();
        sender.send(line).ok();
    });
    match said.recv_timeout(limit) {
        Ok(Some(Ok(line))) => Ok(line),
        Ok(Some(Err(_)) | None) | Err(mpsc::RecvTimeoutError::Disconnected) => Err(Silence::Ended),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(Silence::Late),
    }
}

fn open(path: &str, flags: OFlags) -> Result<OwnedFd, Failure> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| not_begun(&format!("{path}: {errno}")))
}

fn not_begun(why: &str) -> Failure {
    Failure::not_started("host_failed", format!("the job's host did not begin: {why}"))
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
mod tests {
    use super::*;

    #[test]
    fn a_host_that_says_nothing_is_ended() {
        assert_eq!(HOST_READY_MS_MAX, 10_000);
        let limit = Duration::from_millis(50);
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        assert_eq!(first_line(reader, limit), Err(Silence::Late));
        drop(writer);
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        drop(writer);
        assert_eq!(first_line(reader, limit * 100), Err(Silence::Ended));
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        rustix::io::write(&writer, b"ready\nmore").unwrap();
        assert_eq!(first_line(reader, limit * 100).as_deref(), Ok("ready"));
    }

    #[test]
    fn a_program_that_is_no_host_is_told_apart_from_one_that_failed() {
        let dir = tempfile::tempdir().unwrap();
        let id: JobId = "0123abcd".parse().unwrap();
        let files = JobFiles::new(dir.path(), dir.path(), &id);
        stdx::state_file::ensure_dir(files.dir()).unwrap();
        let path = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        let own = open("/proc/self/exe", OFlags::PATH).unwrap();
        let check = |command: &[&str], code: &str| {
            let command: Vec<OsString> = command.iter().map(OsString::from).collect();
            assert_eq!(begin(&path, &command, &own, &files).unwrap_err().code, code, "{command:?}");
        };
        // The manager's program ended without starting anything.
        check(&["sh", "-c", "exit 1"], NOT_PLACED);
        check(
            &["sh", "-c", r#"echo '{"code":"cwd_missing","effect":"not_started","message":"m"}'"#],
            "cwd_missing",
        );
        check(&["sh", "-c", "echo nonsense"], "host_failed");
        check(&["no-such-program"], "program_missing");
    }
}
