//! Reading `/proc`: who lives, who is whose child, what a process carries in its environment.
//!
//! Every answer may be out of date when it arrives. Callers pair a pid with its start time and act
//! through a handle that they compare again after opening it.

#![expect(clippy::disallowed_methods, reason = "reads /proc and /sys, which hold no user's file")]

use std::{fs, io::Read, path::Path};

use rustix::{
    fs::fstat,
    io::Errno,
    process::{Signal, getpid},
};
use stdx::proc_id::Stat;
use vocab::{
    ids::{JOB_MARKER, RUN_MARKER},
    limits,
};

use crate::environ::CALL_MARKER;

/// A process as `/proc/<pid>/stat` told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// Clock ticks since boot; with the pid it names one process for ever.
    pub(crate) started: u64,
    /// Dead and waiting to be waited for. A dead leader of living threads is not that.
    pub(crate) zombie: bool,
}

impl Process {
    /// Tells whether this very process still lives.
    pub(crate) fn is_alive(&self) -> bool {
        is_alive(self.pid, self.started)
    }
}

/// Reads what the kernel tells in a file; none where it does not. Names of mounts and groups in it may
/// hold any bytes, and those that are no text are not ours.
pub(crate) fn text(file: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&fs::read(file).ok()?).into_owned())
}

/// Tells whether the process that had `pid` since `started` still lives.
pub(crate) fn is_alive(pid: u32, started: u64) -> bool {
    process(pid).is_some_and(|now| now.started == started && !now.zombie)
}

/// Reads one process; none if it is gone.
pub(crate) fn process(pid: u32) -> Option<Process> {
    let Stat { parent, group, started, zombie } = Stat::of(pid)?;
    Some(Process { pid, parent, group, started, zombie })
}

/// Returns how much memory a process holds; nothing if it is gone.
pub(crate) fn resident_bytes(pid: u32) -> u64 {
    let counts = text(Path::new(&format!("/proc/{pid}/statm"))).unwrap_or_default();
    let pages: u64 = counts.split(' ').nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    pages.saturating_mul(u64::try_from(rustix::param::page_size()).unwrap_or(0))
}

/// Reads every process there is.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(process)
        .collect()
}

/// Returns the children listed for our first thread, where the kernel puts the orphans we inherit.
/// None when the kernel keeps no such list.
pub(crate) fn adopted_children() -> Option<Vec<u32>> {
    let me = getpid().as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/self/task/{me}/children")).ok()?;
    Some(list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// Tells whether a process ignores a signal; false where the kernel does not tell.
pub(crate) fn ignores(pid: u32, signal: Signal) -> bool {
    let status = text(Path::new(&format!("/proc/{pid}/status"))).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal.as_raw() - 1)) != 0
}

/// What a process's environment says about where it belongs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) run: Option<String>,
    pub(crate) call: Option<u64>,
    pub(crate) job: Option<String>,
}

/// Reads the marks of a process; none when its environment may not be read or it is gone.
pub(crate) fn marks(pid: u32) -> Option<Marks> {
    marks_in(fs::File::open(format!("/proc/{pid}/environ")).ok()?)
}

fn marks_in(environ: impl Read) -> Option<Marks> {
    let mut bytes = Vec::new();
    environ.take(limits::CHILD_ENVIRON_READ_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let mut marks = Marks::default();
    for line in bytes.split(|byte| *byte == 0) {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        match line.split_once('=') {
            Some((RUN_MARKER, run)) => marks.run = Some(run.to_owned()),
            Some((JOB_MARKER, job)) => marks.job = Some(job.to_owned()),
            Some((CALL_MARKER, call)) => marks.call = call.parse().ok(),
            _ => {}
        }
    }
    Some(marks)
}

/// The number of a pipe; no other pipe of the machine has it.
pub(crate) type PipeId = u64;

/// Identifies a pipe that is open.
pub(crate) fn pipe_id(fd: impl std::os::fd::AsFd) -> Result<PipeId, Errno> {
    fstat(fd).map(|meta| meta.st_ino)
}

/// Tells whether a process has a pipe as one of its standard streams.
pub(crate) fn holds(pid: u32, pipe: PipeId) -> bool {
    // The name says what is open. Following it would ask the file system behind, which may be dead.
    let wanted = format!("pipe:[{pipe}]");
    (0..3).any(|stream| {
        fs::read_link(format!("/proc/{pid}/fd/{stream}"))
            .is_ok_and(|name| name.as_os_str() == wanted.as_str())
    })
}

/// Returns a command line fit for a report: spaces between arguments, shortened.
pub(crate) fn command(pid: u32) -> String {
    let mut bytes = Vec::new();
    let limit = u64::try_from(limits::CHILD_COMMAND_SHOWN_BYTES_MAX).unwrap_or(u64::MAX);
    if let Ok(file) = fs::File::open(format!("/proc/{pid}/cmdline")) {
        // A process that ends meanwhile shows what was read of it so far.
        file.take(limit).read_to_end(&mut bytes).ok();
    }
    if bytes.is_empty() {
        bytes = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    }
    let text = String::from_utf8_lossy(&bytes).replace(['\0', '\n'], " ");
    text.trim_end().to_owned()
}

/// Returns the clock ticks since boot, the unit of start times.
pub(crate) fn ticks_now() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: f64 = uptime.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    // One second is given away, since uptime and start times are rounded differently.
    let whole =
        std::time::Duration::try_from_secs_f64((seconds - 1.0).max(0.0)).unwrap_or_default();
    whole.as_secs().saturating_mul(rustix::param::clock_ticks_per_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_read_whole() {
        let me = process(std::process::id()).unwrap();
        assert!(!me.zombie);
        assert!(me.started > 0);
        assert!(all().iter().any(|process| process.pid == me.pid && process.started == me.started));
        assert!(!command(me.pid).is_empty());
    }
    #[test]
    fn an_environment_is_read_only_so_far() {
        let mark = format!("\0{RUN_MARKER}=r");
        let most = usize::try_from(limits::CHILD_ENVIRON_READ_BYTES_MAX).unwrap();
        for (before, found) in [(most - mark.len(), Some("r")), (most, None)] {
            let environ = [&vec![b'x'; before][..], mark.as_bytes()].concat();
            assert_eq!(marks_in(&environ[..]).unwrap().run.as_deref(), found, "{before}");
        }
        // One without end, as no kernel has it, is left all the same.
        assert_eq!(marks_in(std::io::repeat(b'x')), Some(Marks::default()));
    }
}
