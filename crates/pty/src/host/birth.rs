//! From a job's record to its running program.

use std::{
    ffi::{OsStr, OsString},
    os::{fd::AsRawFd as _, unix::ffi::OsStringExt as _},
    path::Path,
};

use rustix::fs::{FileType, Mode, OFlags};
use sandbox::{Environment, Host as Machine, Plan, Policy, Scope, scope::Child};
use stdx::{
    clock::Timestamp,
    writer_lock::{Refused, WriterLock},
};
use vocab::{ids::JOB_TOKEN, outcome::Failure};

use super::terminal::Pty;
use crate::job::{JobFiles, JobRecord};

/// The terminal that programs believe to be in.
const TERM: &str = "xterm-256color";

/// Starts the program on its terminal.
///
/// # Errors
/// When it cannot be started; nothing was.
pub(super) fn start(
    files: &JobFiles,
    record: &JobRecord,
    pty: &Pty,
) -> Result<(Child, Scope), Failure> {
    let Some((program, args)) = record.command.split_first() else {
        return Err(Failure::not_started("command_missing", "the job names no command"));
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let cwd = rustix::fs::open(&record.cwd, flags, Mode::empty()).map_err(|errno| {
        let why = format!("{} cannot be entered: {errno}", record.cwd.display());
        Failure::not_started("cwd_missing", why)
    })?;
    let policy = Policy::new(named(program, &record.cwd), cwd, environment(files, record)?);
    let plan = Plan::realize(policy.args(args), &Machine::probe())?;
    let Some(end) = pty.program_end() else {
        return Err(Failure::not_started("terminal_gone", "the terminal is closed already"));
    };
    let scope = Scope::open_job(files.id().as_str());
    let child = scope.launch_on_terminal(&plan, end)?;
    Ok((child, scope))
}

/// Takes the right to write the session file that the program will write; none where none is known.
///
/// # Errors
/// When another program that lives writes it.
pub(super) fn hold_session(
    record: &JobRecord,
    at: Timestamp,
) -> Result<Option<WriterLock>, Failure> {
    let Some(file) = &record.session_file else { return Ok(None) };
    // By the name that it really has: two links to one file are one session.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::open(file, flags, Mode::empty()).ok();
    let kind = opened.as_ref().and_then(|opened| rustix::fs::fstat(opened).ok());
    if kind.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile) {
        let why = format!("{} is no regular file", file.display());
        return Err(Failure::not_started("session_file_unusable", why));
    }
    let real = opened.and_then(|opened| {
        let link = format!("/proc/self/fd/{}", opened.as_raw_fd());
        rustix::fs::readlink(link, Vec::new()).ok()
    });
    let mut path = match real {
        Some(real) => OsString::from_vec(real.into_bytes()),
        // It is written later.
        None => file.clone().into_os_string(),
    };
    path.push(".lock");
    WriterLock::acquire(Path::new(&path), at).map(Some).map_err(|refused| match &refused {
        Refused::Held { .. } => {
            let why = format!("another program writes {}: {refused}", file.display());
            Failure::not_started("locked", why).with_hint("end it first, or name another file")
        }
        Refused::Io { .. } => {
            Failure::not_started("session_file_unusable", format!("the lock of it: {refused}"))
        }
    })
}

/// Returns a program's name as a plan takes it: one that was written as a path begins where the job does.
fn named(program: &str, cwd: &Path) -> OsString {
    if program.contains('/') { cwd.join(program).into() } else { program.into() }
}

fn environment(files: &JobFiles, record: &JobRecord) -> Result<Environment, Failure> {
    let pairs = |is_named: bool| -> Vec<(OsString, OsString)> {
        let wanted = |name: &String| record.env_names.contains(name) == is_named;
        let env = record.env.iter().filter(|(name, _)| wanted(name));
        env.map(|(name, value)| (name.into(), value.into())).collect()
    };
    // What nobody has named passes the job policy, whoever wrote the record.
    let mut built = Environment::for_jobs(&pairs(false), &pairs(true));
    let (dir, socket) = (files.dir().as_os_str(), files.socket().as_os_str());
    // A terminal that a person has named is what they want the program to believe.
    if !record.env_names.iter().any(|name| name == "TERM") {
        set(&mut built, "TERM", TERM.as_ref())?;
    }
    let mut own = vec![
        (JOB_TOKEN, record.token.as_ref()),
        ("STEAD_JOB_DIR", dir),
        ("STEAD_JOB_SOCK", socket),
    ];
    own.extend(record.daemon_socket.as_ref().map(|path| ("STEAD_DAEMON_SOCK", path.as_os_str())));
    for (name, value) in own {
        set(&mut built, name, value)?;
    }
    Ok(built)
}

fn set(environment: &mut Environment, name: &str, value: &OsStr) -> Result<(), Failure> {
    let set = environment.set(name, value);
    set.map_err(|error| Failure::not_started(error.code(), error.to_string()))
}
