//! The signals that matter to a program on a terminal, and stopping as one of them asks for.

use std::{io, os::fd::OwnedFd};

use rustix::process::{
    Signal, WaitId, WaitIdOptions, getpid, kill_process, pidfd_send_signal, waitid,
};

use tokio::signal::unix::{self, SignalKind};

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

/// Stops a child that has the terminal, which gives it back before, and then this process; both go on together.
pub(super) async fn stop_with(child: &OwnedFd) {
    // A child that has ended meanwhile is seen by whoever waits for it.
    pidfd_send_signal(child, Signal::TSTP).ok();
    if let Ok(child) = child.try_clone() {
        let stopped = tokio::task::spawn_blocking(move || {
            use std::os::fd::AsFd as _;
            let or_ended = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            waitid(WaitId::PidFd(child.as_fd()), or_ended)
        });
        stopped.await.ok();
    }
    stop();
    pidfd_send_signal(child, Signal::CONT).ok();
}
