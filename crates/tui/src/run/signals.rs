//! The signals that matter to a program on a terminal, and stopping as one of them asks for.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::process::{Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};
use tokio::{
    signal::unix::{self, SignalKind},
    task::JoinHandle,
};

/// What a signal said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The process shall end.
    End,
    /// The terminal has another size.
    Size,
    /// The process shall stop until it is told to go on.
    Stop,
    /// It was stopped without having been asked, and somebody else may have had the terminal.
    Again,
}

/// What happened while another program has the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// The process shall end.
    End,
    /// Both shall stop until they are told to go on.
    Stop,
}

/// The signals.
pub(super) struct Signals {
    terminate: unix::Signal,
    hangup: unix::Signal,
    interrupt: unix::Signal,
    size: unix::Signal,
    stop: unix::Signal,
    again: unix::Signal,
}

impl Signals {
    /// Begins to hear them.
    ///
    /// # Errors
    /// When they cannot be heard.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: unix::signal(SignalKind::terminate())?,
            hangup: unix::signal(SignalKind::hangup())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            size: unix::signal(SignalKind::window_change())?,
            stop: unix::signal(kind(Signal::TSTP))?,
            again: unix::signal(kind(Signal::CONT))?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::End,
            _ = self.hangup.recv() => Told::End,
            _ = self.interrupt.recv() => Told::End,
            _ = self.size.recv() => Told::Size,
            _ = self.stop.recv() => Told::Stop,
            _ = self.again.recv() => Told::Again,
        }
    }

    /// Waits for those that no key makes. Whoever has the terminal meanwhile hears the others itself.
    pub(super) async fn beside(&mut self) -> Beside {
        tokio::select! {
            _ = self.terminate.recv() => Beside::End,
            _ = self.hangup.recv() => Beside::End,
            _ = self.stop.recv() => Beside::Stop,
        }
    }
}

fn kind(signal: Signal) -> SignalKind {
    SignalKind::from_raw(signal.as_raw())
}

/// Stops this process until somebody lets it go on. The terminal was given back before.
pub(super) fn stop() {
    // It cannot fail for a process itself, and going on at once would do no harm.
    kill_process(getpid(), Signal::STOP).ok();
}

/// Waits beside for the moment when a child was stopped or has ended. None where the system refuses a handle.
pub(super) fn stopped(child: &OwnedFd) -> Option<JoinHandle<()>> {
    let child = child.try_clone().ok()?;
    Some(tokio::task::spawn_blocking(move || {
        let or_ended = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // Whoever waits for its end may have been first.
        waitid(WaitId::PidFd(child.as_fd()), or_ended).ok();
    }))
}
