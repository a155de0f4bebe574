//! A job's host: an internal role, started by whoever starts jobs, and chosen before anything else.
//!
//! Its standard output is the starter's readiness pipe: the line `begins` before the program is started, then `ready`,
//! or a failure as JSON. Its standard input is the job's lock, which the starter took, so that the job has a host from then on without a gap. It opens
//! nothing but the job's own files, and links into nothing that needs a runtime, a log or the
//! configuration.

use std::{ffi::OsString, path::Path, process::ExitCode};

use pty::{hello, host, job::JobFiles};
use rustix::fs::{Mode, OFlags};
use sandbox::replace;
use stdx::lock::Lock;
use vocab::{ids::JobId, outcome::Failure};

use crate::{env, exit, print};

/// The first word of this role.
pub(crate) const WORD: &str = "host";
/// Makes it the leader of a session of its own.
pub(crate) const DETACH: &str = "--detach";
/// Moves it into the control group that is named behind it.
pub(crate) const CGROUP: &str = "--cgroup";

/// Says that the program is about to be started: whoever says nothing afterwards may have started it.
pub(crate) const BEGINS: &str = "begins\n";
/// Says that it runs, and that the socket listens.
pub(crate) const READY: &str = "ready\n";

/// Runs the host that the words after the first one ask for.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    be_called(words);
    match serve(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            print::out(&format!("{}\n", String::from_utf8_lossy(&hello::to_json(&failure))));
            ExitCode::from(exit::code_of(&failure.code))
        }
    }
}

/// Has lists of processes show this one by the name of the program: it was started by a path below `/proc`, whose
/// last part says nothing. What the kernel shows of the command cannot be changed but by becoming it again.
fn be_called(words: &[OsString]) {
    let is_named =
        std::env::args_os().next().is_some_and(|own| !Path::new(&own).starts_with("/proc"));
    if !is_named && let Ok(own) = replace::open_program(Path::new("/proc/self/exe")) {
        let all: Vec<OsString> = [WORD.into()].into_iter().chain(words.iter().cloned()).collect();
        // Returns only where that failed, and a job is worth more than what its host is called.
        let _error = replace::replace(&own, &all, &[]);
    }
    env::be_called();
}

fn serve(words: &[OsString]) -> Result<(), Failure> {
    stdx::memory::live_long();
    sandbox::signals::survive_the_file_limit();
    let usage =
        || Failure::not_started("usage", format!("stead {WORD} ID [{DETACH} [{CGROUP} DIR]]"));
    let (id, flags) = words.split_first().ok_or_else(usage)?;
    if id == host::CAN_RESUME && flags.is_empty() {
        print::out(&host::can_resume());
        return Ok(());
    }
    let id: JobId = id.to_str().and_then(|id| id.parse().ok()).ok_or_else(usage)?;
    let paths = env::paths()?;
    let files = JobFiles::new(&paths.home, &paths.runtime, &id);
    let (detaches, group) = match flags {
        [] => (false, None),
        [flag] if flag == DETACH => (true, None),
        [flag, group, dir] if flag == DETACH && group == CGROUP => (true, Some(Path::new(dir))),
        // Detached and without a starter already: the build before was this process.
        [flag, given @ ..] if flag == host::RESUME => {
            host::resume(&files, given)?;
            return Ok(());
        }
        _ => return Err(usage()),
    };
    if let Some(group) = group {
        // Before anything is started, so that all of it is born there. Where that fails, the job is
        // worth more than its place.
        enter(group).ok();
    }
    if detaches {
        // Who leads a session already is as detached as can be.
        rustix::process::setsid().ok();
    }
    // A host lives long, and must not keep anybody from unmounting where it was started.
    rustix::process::chdir("/").ok();
    let begins = || {
        print::out(BEGINS);
    };
    host::run_telling(&files, handed_lock(&files), begins, || {
        print::out(READY);
        close_streams();
    })?;
    Ok(())
}

/// Moves this process into a control group.
fn enter(group: &Path) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let procs = rustix::fs::open(group.join("cgroup.procs"), flags, Mode::empty())?;
    rustix::io::write(procs, b"0").map(drop)
}

/// Takes over the job's lock; none where whoever started this process has handed on something else.
fn handed_lock(files: &JobFiles) -> Option<Lock> {
    let given = rustix::fs::fstat(rustix::stdio::stdin()).ok()?;
    let lock = rustix::fs::lstat(files.host_lock()).ok()?;
    if (given.st_dev, given.st_ino) != (lock.st_dev, lock.st_ino) {
        return None;
    }
    rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).ok().map(Lock::inherited)
}

/// Lets go of what the starter gave, so that its pipe ends and its terminal may go.
fn close_streams() {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    // Without it the pipe ends with the host: nobody waits for its end, only for its first line.
    if let Ok(null) = null {
        rustix::stdio::dup2_stdin(&null).ok();
        rustix::stdio::dup2_stdout(&null).ok();
        rustix::stdio::dup2_stderr(&null).ok();
    }
}
