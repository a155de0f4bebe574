//! Finding and ending everything a child has started, also what tried to get away.
//!
//! A process belongs to a claim if one of these says so, and nothing contradicts it:
//! - it was seen to belong before, by pid and start time;
//! - it carries the claim's marker in its environment, which survives `setsid`, a second fork and the
//!   loss of its parent;
//! - it carries no marker (a program may clear its environment) but shares a group of the claim with a
//!   living process that belongs, so that the group's number cannot have gone to somebody else;
//! - it carries no marker but has the call's output as a standard stream, which nobody else was given;
//! - its parent belongs.
//!
//! Ending goes in rounds, because processes appear while others die: ask all politely, wait for as long
//! as grace lasts, then look again and kill until a look finds nobody. Signals go through handles that
//! were compared with the start time after opening, so a reused pid is never hit. A zombie is not alive.
//!
//! Not here: reaping, which is `registry`'s, and the decision when to end.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use stdx::clock::Clock;
use vocab::limits;

use crate::{
    proc_fs::{self, PipeId, Process},
    registry,
    report::Killed,
};

/// Which variable marks them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mark {
    #[default]
    Run,
    Job,
}

/// What marks the processes of a run, or of one call of it, or of a job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claim {
    pub(crate) mark: Mark,
    /// The mark's value.
    pub(crate) run: String,
    /// One call alone; the whole run if absent.
    pub(crate) call: Option<u64>,
    /// Direct children that nobody has waited for, so that their pids cannot be reused.
    pub(crate) roots: Vec<u32>,
    /// Process groups of its calls.
    pub(crate) groups: Vec<u32>,
    /// Processes that were seen to belong, with their start times.
    pub(crate) known: Vec<(u32, u64)>,
    /// Nothing that started earlier belongs, whatever it carries.
    pub(crate) since: u64,
    /// The call's output, which its processes hold as a standard stream.
    pub(crate) output: Option<PipeId>,
}

impl Claim {
    /// Returns the living processes that belong.
    pub(crate) fn living(&self) -> Vec<Process> {
        let me = std::process::id();
        let all = proc_fs::all();
        let candidates: Vec<&Process> =
            all.iter().filter(|found| found.pid != me && found.started >= self.since).collect();
        let (mut members, unmarked) = self.by_traces(&candidates);
        let anchored: BTreeSet<u32> = candidates
            .iter()
            .filter(|found| members.contains(&found.pid))
            .map(|found| found.group)
            .collect();
        // A call looks at once, before its group's number could have gone round.
        let sure = |group| {
            self.groups.contains(&group) && (self.call.is_some() || anchored.contains(&group))
        };
        members.extend(unmarked.iter().filter(|found| sure(found.group)).map(|found| found.pid));
        // A child may be listed before its parent, so one pass does not reach every generation.
        loop {
            let before = members.len();
            for found in &candidates {
                if members.contains(&found.parent) {
                    members.insert(found.pid);
                }
            }
            if members.len() == before {
                break;
            }
        }
        candidates
            .into_iter()
            .filter(|found| members.contains(&found.pid) && !found.zombie)
            .copied()
            .collect()
    }

    /// Returns who belongs by traces of its own, and who has none.
    fn by_traces<'a>(&self, candidates: &[&'a Process]) -> (BTreeSet<u32>, Vec<&'a Process>) {
        let (mut members, mut unmarked) = (BTreeSet::new(), Vec::new());
        for found in candidates {
            let seen = self.known.contains(&(found.pid, found.started));
            if seen || self.roots.contains(&found.pid) {
                members.insert(found.pid);
                continue;
            }
            let marks = proc_fs::marks(found.pid).unwrap_or_default();
            let owner = match self.mark {
                Mark::Run => marks.run,
                Mark::Job => marks.job,
            };
            match owner {
                Some(run) if run != self.run => {}
                Some(_) if self.call.is_some() && marks.call != self.call => {}
                Some(_) => {
                    members.insert(found.pid);
                }
                None if registry::is_direct(found.pid) => {}
                None if self.output.is_some_and(|pipe| proc_fs::holds(found.pid, pipe)) => {
                    members.insert(found.pid);
                }
                None => unmarked.push(*found),
            }
        }
        (members, unmarked)
    }
}

/// Something that must be read while we wait, lest a dying process blocks on a full pipe.
pub(crate) trait Pump {
    /// Lends what to wait for; none once it is closed.
    fn source(&self) -> Option<BorrowedFd<'_>>;
    /// Reads what is there.
    fn pump(&mut self);
}

/// Nothing to read.
#[derive(Debug)]
pub(crate) struct Idle;

impl Pump for Idle {
    fn source(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn pump(&mut self) {}
}

/// Asks all that live politely to end, and does not wait for it. Shells that a person types into ignore the
/// polite signal, and end when their terminal hangs up.
pub(crate) fn ask(living: &[Process]) {
    let mut doomed = Doomed::default();
    doomed.add(living);
    // Looked at before anybody is told, since whoever ends takes others along.
    let shells: Vec<_> = doomed.0.keys().copied().filter(|key| is_interactive(key.0)).collect();
    doomed.ask();
    doomed.signal_those(Signal::HUP, |key| shells.contains(key));
}

/// Tells whether a process is a shell that controls jobs: none of these may stop it, as they may a script that
/// merely wants to be left in peace.
fn is_interactive(pid: u32) -> bool {
    proc_fs::ignores(pid, Signal::TERM)
        && proc_fs::ignores(pid, Signal::TSTP)
        && !proc_fs::ignores(pid, Signal::HUP)
}

/// Processes being ended, by handle.
#[derive(Default)]
struct Doomed(BTreeMap<(u32, u64), Target>);

struct Target {
    handle: OwnedFd,
    command: String,
    /// Gone, or out of our reach.
    settled: bool,
    gone: bool,
}

/// How long killed processes may take to be gone before the next look.
const KILL_ROUND: Duration = Duration::from_millis(limits::CHILD_KILL_ROUND_MS);

/// Ends all that `find` finds, politely first, and tells what it ended.
pub(crate) fn end(
    find: &mut dyn FnMut() -> Vec<Process>,
    grace: Duration,
    clock: &Clock,
    pump: &mut dyn Pump,
) -> Vec<Killed> {
    let mut doomed = Doomed::default();
    if !grace.is_zero() && doomed.add(&find()) {
        doomed.ask();
        doomed.wait(grace, clock, pump);
    }
    for _ in 0..limits::CHILD_KILL_ROUNDS_MAX {
        let found = find();
        doomed.add(&found);
        if !found.iter().any(|process| doomed.is_open(process)) {
            break;
        }
        doomed.signal(Signal::KILL);
        doomed.wait(KILL_ROUND, clock, pump);
    }
    registry::sweep();
    doomed.told()
}

impl Doomed {
    /// Opens handles for processes not met yet; false if there is nobody at all.
    fn add(&mut self, found: &[Process]) -> bool {
        for process in found {
            let key = (process.pid, process.started);
            if self.0.contains_key(&key) {
                continue;
            }
            let command = proc_fs::command(process.pid);
            if let Some(handle) = open(process) {
                self.0.insert(key, Target { handle, command, settled: false, gone: false });
            }
        }
        !self.0.is_empty()
    }

    fn is_open(&self, process: &Process) -> bool {
        self.0.get(&(process.pid, process.started)).is_some_and(|target| !target.settled)
    }

    /// Asks politely.
    fn ask(&mut self) {
        self.signal(Signal::TERM);
        // A stopped process would keep the signal for later.
        self.signal(Signal::CONT);
    }

    fn signal(&mut self, signal: Signal) {
        self.signal_those(signal, |_| true);
    }

    fn signal_those(&mut self, signal: Signal, is_meant: impl Fn(&(u32, u64)) -> bool) {
        let open = self.0.iter_mut().filter(|(key, target)| !target.settled && is_meant(key));
        for (_, target) in open {
            match pidfd_send_signal(&target.handle, signal) {
                Ok(()) => {}
                Err(Errno::SRCH) => (target.settled, target.gone) = (true, true),
                // Another user's process, through a set-user-id program. Nothing we do reaches it.
                Err(_) => target.settled = true,
            }
        }
    }

    /// Waits until all are dead, or until the time is over.
    fn wait(&mut self, limit: Duration, clock: &Clock, pump: &mut dyn Pump) {
        let deadline = clock.monotonic() + limit;
        loop {
            let mut open: Vec<&mut Target> =
                self.0.values_mut().filter(|target| !target.settled).collect();
            let left = deadline.saturating_sub(clock.monotonic());
            if open.is_empty() || left.is_zero() {
                return;
            }
            let mut fds: Vec<PollFd<'_>> =
                open.iter().map(|target| PollFd::new(&target.handle, PollFlags::IN)).collect();
            let source = pump.source();
            fds.extend(source.as_ref().map(|source| PollFd::new(source, PollFlags::IN)));
            // An interrupted wait looks again.
            poll(&mut fds, Some(&timespec(left))).ok();
            let woken: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(fds);
            for (target, dead) in open.iter_mut().zip(&woken) {
                if *dead {
                    (target.settled, target.gone) = (true, true);
                }
            }
            if woken.len() > open.len() && woken.last() == Some(&true) {
                pump.pump();
            }
        }
    }

    fn told(self) -> Vec<Killed> {
        let told = |((pid, _), target): ((u32, u64), Target)| Killed {
            pid,
            command: target.command,
            gone: target.gone,
        };
        self.0.into_iter().map(told).collect()
    }
}

/// Opens a handle on exactly this process.
fn open(process: &Process) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(process.pid).ok()?)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // The number may have gone to another process between the look and the handle.
    let now = proc_fs::process(process.pid)?;
    (now.started == process.started).then_some(handle)
}

/// Tells whether the process behind a handle is dead.
pub(crate) fn is_dead(handle: &OwnedFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Converts a wait for the kernel; a wait beyond its range is as good as endless.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec::try_from(wait).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

#[cfg(test)]
mod tests;
