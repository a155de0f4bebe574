//! The program's end: asked for, seen, written down, told.

use std::{io, time::Duration};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandbox::report::ExitStatus;
use vocab::limits::{HOST_DRAIN_MS_MAX, HOST_FAREWELL_MS_MAX, HOST_GRACE_MS, HOST_RECORD_RETRY_MS};

use super::{Host, client::Client};
use crate::{
    frame::Kind,
    hello::{self, Reason},
    job::{ExitRecord, FilesError},
};

/// How long the parts of an end may take.
#[derive(Debug)]
pub(super) struct Spans {
    /// From asking the program to killing it.
    pub(super) grace: Duration,
    /// For the last of its output.
    pub(super) drain: Duration,
    /// For clients to read how it ended.
    pub(super) farewell: Duration,
    /// Between two tries to write that down.
    pub(super) retry: Duration,
}

impl Spans {
    pub(super) const USUAL: Self = Self {
        grace: Duration::from_millis(HOST_GRACE_MS),
        drain: Duration::from_millis(HOST_DRAIN_MS_MAX),
        farewell: Duration::from_millis(HOST_FAREWELL_MS_MAX),
        retry: Duration::from_millis(HOST_RECORD_RETRY_MS),
    };
}

/// How far the program's end is.
#[derive(Debug, Default)]
pub(super) struct End {
    /// Somebody asked for it.
    is_stopped: bool,
    /// When whoever still lives is killed.
    kill_at: Option<Duration>,
    seen: Option<ExitRecord>,
    /// Until when the rest of its output is waited for, then until when writing waits.
    wait_until: Duration,
    is_drained: bool,
    /// When it is tried again to write it down.
    retry_at: Option<Duration>,
}

impl End {
    pub(super) fn is_running(&self) -> bool {
        self.seen.is_none()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    pub(super) fn is_drained(&self) -> bool {
        self.is_drained
    }

    pub(super) fn drained(&mut self) {
        self.is_drained = true;
    }

    pub(super) fn due(&self) -> Option<Duration> {
        if self.is_running() { self.kill_at } else { Some(self.wait_until) }
    }
}

impl Host {
    /// Asks the program and all it has started to end.
    pub(super) fn terminate(&mut self) {
        if self.program.end.is_running() && !self.program.end.is_stopped {
            self.program.end.is_stopped = true;
            self.program.end.kill_at = Some(self.clock.monotonic() + Spans::USUAL.grace);
            if let Some(scope) = &self.program.scope {
                scope.ask_to_end();
            }
        }
    }

    pub(super) fn kill_when_due(&mut self) {
        let now = self.clock.monotonic();
        if self.program.end.kill_at.is_some_and(|at| at <= now) {
            self.program.end.kill_at = None;
            if let Some(scope) = self.program.scope.take() {
                scope.end(Duration::ZERO);
            }
        }
    }

    /// Looks how the program ended.
    pub(super) fn see_end(&mut self) {
        let Some(status) = self.program.child.try_wait() else { return };
        let (code, signal) = match status {
            ExitStatus::Exited(code) => (Some(code), None),
            ExitStatus::Signaled { name, .. } => (None, Some(name.to_owned())),
            // Only calls with a time limit end so.
            ExitStatus::TimedOut | ExitStatus::Cancelled | ExitStatus::OutOfMemory => (None, None),
        };
        let stopped = self.program.end.is_stopped;
        // Whoever is killed has let go of nothing: what it has started is nobody's now.
        let takes_along = stopped || signal.as_deref() == Some("SIGKILL");
        let at = self.clock.now().as_millis();
        let exit = ExitRecord { code, signal, at, stopped, failure: None };
        self.program.watch.ended(&exit);
        self.program.end.seen = Some(exit);
        let drain = Spans::USUAL.drain;
        match self.program.scope.take() {
            Some(scope) if takes_along => drop(scope.end(drain)),
            Some(scope) => scope.release(),
            None => {}
        }
        self.program.end.kill_at = None;
        self.program.end.wait_until = self.clock.monotonic() + drain;
        self.pty.hang_up();
        self.input.clear();
    }

    /// Writes down how it ended, once its output is read. Returns the record when that is done.
    pub(super) fn try_to_end(&mut self) -> Option<ExitRecord> {
        let now = self.clock.monotonic();
        let exit = self.program.end.seen.clone()?;
        if !self.program.end.is_drained && now < self.program.end.wait_until {
            return None;
        }
        if self.program.end.is_drained && self.is_waiting_to_retry(now) {
            return None;
        }
        self.program.end.is_drained = true;
        self.write_paper();
        // A recording that cannot be written holds nothing up.
        self.paper.recorder.finish(&self.mirror, &exit);
        match self.files.write_exit(&exit) {
            Ok(()) => Some(exit),
            // Somebody removed the job with its directory: nobody is left who would read it.
            Err(FilesError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Some(exit),
            Err(_) => {
                let next = now + Spans::USUAL.retry;
                self.program.end.retry_at = Some(next);
                self.program.end.wait_until = next;
                self.tell_states();
                None
            }
        }
    }

    fn is_waiting_to_retry(&self, now: Duration) -> bool {
        self.program.end.retry_at.is_some_and(|at| now < at)
    }

    /// Tells everyone how it ended and waits a moment for them to read it.
    pub(super) fn say_farewell(&mut self, exit: &ExitRecord) -> io::Result<()> {
        let record = hello::to_json(exit);
        for idx in 0..self.crowd.clients.len() {
            if self.crowd.clients[idx].role.is_none() || !self.crowd.clients[idx].is_open() {
                continue;
            }
            if self.crowd.clients[idx].queue.is_behind() {
                self.resync(idx, screen::Depth::Screen);
            }
            let state = self.state_of(&self.crowd.clients[idx]);
            let client = &mut self.crowd.clients[idx];
            if client.wants_states() {
                client.tell(state);
            }
            client.say(Kind::Exit, &record);
            client.let_go(Reason::Exit, None);
        }
        let until = self.clock.monotonic() + Spans::USUAL.farewell;
        loop {
            self.crowd.clients.iter_mut().for_each(Client::flush);
            self.crowd.clients.retain(|client| !client.queue.is_empty());
            let left = until.saturating_sub(self.clock.monotonic());
            if self.crowd.clients.is_empty() || left.is_zero() {
                return Ok(());
            }
            let waiting = self.crowd.clients.iter();
            let mut fds: Vec<PollFd<'_>> =
                waiting.map(|client| PollFd::new(&client.stream, PollFlags::OUT)).collect();
            let timeout = Timespec::try_from(left).unwrap_or_default();
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}
