//! A child that stays: a server that is talked to through its standard streams.
//!
//! Not here: reading and writing those streams; the starter keeps the other ends.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use stdx::proc_id::ProcId;

use super::{RunError, Scope, call};
use crate::{
    Lifetime, Plan, registry,
    report::ExitStatus,
    spawn::{self, Born, Ties},
    tree,
};

/// The standard streams of a child that stays. The child gets copies.
#[derive(Debug)]
pub struct Stdio {
    /// What it reads.
    pub stdin: OwnedFd,
    /// Where it writes.
    pub stdout: OwnedFd,
    /// Where it complains.
    pub stderr: OwnedFd,
}

/// A running child that stays. Dropping this value leaves it to its scope; one without a scope runs on,
/// and is reaped when it has ended.
#[derive(Debug)]
pub struct Child {
    id: ProcId,
    inner: Arc<Inner>,
}

impl Drop for Child {
    fn drop(&mut self) {
        // The scope holds the other one.
        if Arc::strong_count(&self.inner) == 1
            && let Some(pid) = self.inner.waitable_pid()
        {
            registry::abandon(pid);
        }
    }
}

#[derive(Debug)]
pub(super) struct Inner {
    pid: u32,
    handle: OwnedFd,
    ended: Mutex<Option<ExitStatus>>,
}

/// Starts a plan that stays, on a terminal.
pub(super) fn launch_on_terminal(
    scope: &Scope,
    plan: &Plan,
    terminal: &OwnedFd,
) -> Result<Child, RunError> {
    let streams = [terminal; 3];
    let born = call::bear(Some(scope), plan, registry::next_call(), streams, Ties::Terminal)?;
    enter(Some(scope), born)
}

/// Starts a plan that stays; without a scope it answers to nobody.
pub(super) fn launch(scope: Option<&Scope>, plan: &Plan, stdio: &Stdio) -> Result<Child, RunError> {
    let owner = scope.filter(|_| plan.lifetime != Lifetime::Detached);
    // The starting thread may end long before a server does, so the thread is no tie.
    let ties = if owner.is_some() { Ties::Group } else { Ties::None };
    if owner.is_none() {
        registry::detach();
    }
    let streams = [&stdio.stdin, &stdio.stdout, &stdio.stderr];
    let born = call::bear(owner, plan, registry::next_call(), streams, ties)?;
    enter(owner, born)
}

/// Makes a child of this process, whoever it was when it gave birth to it, its scope's.
pub(super) fn adopt(scope: &Scope, pid: u32) -> io::Result<Child> {
    let handle = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    let pidfd = registry::enter(|| pidfd_open(handle, PidfdFlags::empty()).map(|fd| (pid, fd)))?;
    scope.gives_birth();
    enter(Some(scope), Born { pid, pidfd }).map_err(|error| io::Error::other(error.to_string()))
}

/// Makes a child that was born its scope's.
fn enter(owner: Option<&Scope>, born: Born) -> Result<Child, RunError> {
    let id = ProcId::of(born.pid).unwrap_or(ProcId { pid: born.pid, token: String::new() });
    let inner = Arc::new(Inner { pid: born.pid, handle: born.pidfd, ended: Mutex::new(None) });
    if let Some(scope) = owner {
        let mut state = scope.state();
        state.roots.retain(|pid| *pid != inner.pid);
        state.children.push(Arc::clone(&inner));
        drop(state);
        if scope.ended.load(std::sync::atomic::Ordering::SeqCst) {
            inner.kill_and_wait();
            return Err(RunError::ScopeEnded);
        }
    }
    Ok(Child { id, inner })
}

impl Child {
    /// Returns which process it is; the token is empty if it was gone at once.
    #[must_use]
    pub fn id(&self) -> &ProcId {
        &self.id
    }

    /// Returns how it ended, none while it runs. Reaps it.
    #[must_use]
    pub fn try_wait(&self) -> Option<ExitStatus> {
        self.inner.try_wait()
    }

    /// Waits until it has ended. Blocks.
    #[must_use]
    pub fn wait(&self) -> ExitStatus {
        loop {
            if let Some(status) = self.inner.try_wait() {
                return status;
            }
            // Interrupted or readable: the next look tells.
            poll(&mut [PollFd::new(&self.inner.handle, PollFlags::IN)], None).ok();
        }
    }

    /// Sends a signal to the child alone; false if it is gone.
    pub fn signal(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.inner.handle, signal) != Err(Errno::SRCH)
    }
}

impl AsFd for Child {
    /// Lends the handle, which is readable once the child has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.handle.as_fd()
    }
}

impl Inner {
    /// Returns the pid as long as nobody waited for it, so that it cannot have been reused.
    pub(super) fn waitable_pid(&self) -> Option<u32> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.is_none().then_some(self.pid)
    }

    pub(super) fn try_wait(&self) -> Option<ExitStatus> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.is_none() && tree::is_dead(&self.handle) {
            let waited = spawn::wait_for(i32::try_from(self.pid).unwrap_or(0)).ok();
            registry::leave(self.pid);
            let code = waited.and_then(|waited| waited.code).map(ExitStatus::Exited);
            let signal = waited.and_then(|waited| waited.signal).unwrap_or(0);
            *ended = Some(code.unwrap_or_else(|| ExitStatus::signaled(signal)));
        }
        *ended
    }

    fn kill_and_wait(&self) {
        // Gone already is as good.
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
        poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], None).ok();
        self.try_wait();
    }
}
