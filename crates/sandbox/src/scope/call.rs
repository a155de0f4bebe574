//! One call: a child from its birth to the report about it.

use std::{os::fd::OwnedFd, sync::atomic::Ordering, time::Duration};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{Pid, test_kill_process_group},
};
use vocab::limits;

use super::{RunError, Scope};
use crate::{
    Cancel, Lifetime, Plan,
    environ::CALL_MARKER,
    output::{self, Ended, Reader},
    probe, proc_fs,
    proc_fs::{PipeId, Process},
    registry,
    report::{ExitReport, ExitStatus, OutputEnd, Survivor},
    spawn::{self, Birth, Born, Step, Stillborn, Ties, Waited},
    tree::{self, Claim, Mark},
};

/// Runs a plan to its end.
pub(super) fn run(
    scope: &Scope,
    plan: &Plan,
    sink: &mut dyn FnMut(&[u8]),
    cancel: &Cancel,
) -> Result<ExitReport, RunError> {
    if cancel.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    let began = scope.clock.monotonic();
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).map_err(no_descriptor)?;
    // Only our end: a child must find an ordinary pipe that blocks when it is full.
    rustix::io::ioctl_fionbio(&reading, true).map_err(no_descriptor)?;
    let output = proc_fs::pipe_id(&reading).map_err(no_descriptor)?;
    let null = dev_null()?;
    let number = registry::next_call();
    let streams = [&null, &writing, &writing];
    let born = bear(Some(scope), plan, number, streams, Ties::Thread)?;
    drop((writing, null));
    let mut call = Call { scope, plan, number, born, output };
    let mut reader = Reader::new(reading, plan.output_bytes_max, sink);
    let ended = call.follow(&mut reader, cancel);
    let (status, output_end, cpu) = call.finish(ended, &mut reader);
    let left = call.look_back(output_end);
    let discarded = reader.discarded;
    if let (false, Some(pipe)) = (left.is_empty(), reader.into_pipe()) {
        // Without a thread the pipe closes, and the writers learn that nobody reads.
        scope.drain(pipe).ok();
    }
    let survivors = left.iter().take(limits::CHILD_SURVIVORS_LISTED_MAX).map(survivor).collect();
    let duration = scope.clock.monotonic().saturating_sub(began);
    Ok(ExitReport { status, survivors, output_end, discarded, duration, cpu })
}

/// Gives birth to a plan's child, marked and entered in the book.
pub(super) fn bear(
    scope: Option<&Scope>,
    plan: &Plan,
    number: u64,
    streams: [&OwnedFd; 3],
    ties: Ties,
) -> Result<Born, RunError> {
    let mut environment = plan.environment.clone();
    if let Some(scope) = scope {
        environment = match scope.mark {
            Mark::Run => environment.with_run(&scope.run),
            Mark::Job => environment.with_job(&scope.run),
        };
        if scope.mark == Mark::Run {
            // The name is ours and passes; the value is a number.
            environment.set(CALL_MARKER, number.to_string()).ok();
        }
    }
    let envp = environment.to_exec();
    let birth = Birth {
        program: &plan.program,
        argv: &plan.argv,
        envp: &envp,
        cwd: std::os::fd::AsFd::as_fd(&plan.cwd),
        stdio: streams.map(std::os::fd::AsFd::as_fd),
        ties,
    };
    let entered = registry::enter(|| {
        if scope.is_some_and(|scope| !scope.gives_birth()) {
            return Err(RunError::ScopeEnded);
        }
        let born = spawn::give_birth(&birth)?;
        Ok((born.pid, born))
    });
    let born = entered?;
    if let Some(scope) = scope {
        scope.state().roots.push(born.pid);
    }
    Ok(born)
}

/// A child in progress.
struct Call<'a> {
    scope: &'a Scope,
    plan: &'a Plan,
    number: u64,
    born: Born,
    /// The pipe that it and its descendants write into.
    output: PipeId,
}

impl Call<'_> {
    fn follow(&mut self, reader: &mut Reader<'_>, cancel: &Cancel) -> Ended {
        // The scope may have ended between the last look and the birth; then nobody else kills it.
        if self.scope.ended.load(Ordering::SeqCst) {
            return Ended::Cancelled;
        }
        output::follow(reader, &self.born.pidfd, cancel, self.plan.timeout, &self.scope.clock)
    }

    /// Stops the child if it must be stopped, waits for it, and says how it ended.
    fn finish(
        &mut self,
        ended: Ended,
        reader: &mut Reader<'_>,
    ) -> (ExitStatus, OutputEnd, Duration) {
        let (stopped, output_end) = match ended {
            Ended::Gone(output_end) => (None, output_end),
            Ended::TimedOut => (Some(ExitStatus::TimedOut), OutputEnd::Stopped),
            Ended::Cancelled => (Some(ExitStatus::Cancelled), OutputEnd::Stopped),
        };
        if stopped.is_some() {
            let claim = self.claim(true);
            tree::end(&mut || claim.living(), self.plan.grace, &self.scope.clock, reader);
        }
        reader.read_rest();
        self.scope.state().roots.retain(|pid| *pid != self.born.pid);
        let waited = self.wait();
        let status = stopped.unwrap_or_else(|| self.status(waited));
        (status, output_end, waited.map_or(Duration::ZERO, |waited| waited.cpu))
    }

    /// Waits for the child. One that outlived every kill is left to the kernel, never waited for.
    fn wait(&self) -> Option<Waited> {
        if !output::is_dead(&self.born.pidfd) {
            return None;
        }
        let waited = spawn::wait_for(i32::try_from(self.born.pid).ok()?).ok();
        registry::leave(self.born.pid);
        waited
    }

    fn status(&self, waited: Option<Waited>) -> ExitStatus {
        match waited {
            Some(Waited { code: Some(code), .. }) => ExitStatus::Exited(code),
            Some(Waited { signal: Some(libc::SIGKILL), .. }) if self.scope.memory_ran_out() => {
                ExitStatus::OutOfMemory
            }
            Some(Waited { signal: Some(signal), .. }) => ExitStatus::signaled(signal),
            // The kernel lost a child of ours, or something else waited for it: nobody can tell.
            _ => ExitStatus::signaled(0),
        }
    }

    /// Looks for what the call left behind, and ends it if the plan says so.
    fn look_back(&self, output_end: OutputEnd) -> Vec<Process> {
        let quiet = output_end == OutputEnd::Closed
            && probe::is_subreaper()
            && group_is_empty(self.born.pid)
            && !registry::has_unknown_orphans();
        if quiet {
            return Vec::new();
        }
        let claim = self.claim(!output::is_dead(&self.born.pidfd));
        let mut left = claim.living();
        if self.plan.lifetime == Lifetime::Call && !left.is_empty() {
            let grace = self.plan.grace;
            tree::end(&mut || claim.living(), grace, &self.scope.clock, &mut tree::Idle);
            left = claim.living();
        }
        // One without a trace may be of another call of the run, so that it is named and not ended here.
        let orphans = self.scope.orphans();
        let new = |orphan: &Process| left.iter().all(|process| process.pid != orphan.pid);
        let orphans: Vec<Process> = orphans.into_iter().filter(new).collect();
        left.extend(orphans);
        registry::sweep();
        self.scope.adopt(self.born.pid, &left);
        left
    }

    fn claim(&self, unwaited: bool) -> Claim {
        Claim {
            mark: self.scope.mark,
            run: self.scope.run.clone(),
            call: Some(self.number),
            roots: if unwaited { vec![self.born.pid] } else { Vec::new() },
            groups: vec![self.born.pid],
            known: Vec::new(),
            since: self.scope.since,
            output: Some(self.output),
        }
    }
}

fn survivor(process: &Process) -> Survivor {
    Survivor { pid: process.pid, command: proc_fs::command(process.pid) }
}

/// Tells whether nobody is in the group any more. Its leader must have been waited for.
pub(super) fn group_is_empty(group: u32) -> bool {
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    group.is_some_and(|group| test_kill_process_group(group) == Err(Errno::SRCH))
}

/// Opens the empty input every call reads from.
fn dev_null() -> Result<OwnedFd, RunError> {
    rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(no_descriptor)
}

fn no_descriptor(errno: Errno) -> RunError {
    Stillborn { step: Step::Descriptors, source: errno.into() }.into()
}
