//! The signals that matter to a program on a terminal.

use std::io;

use tokio::signal::unix::{self, SignalKind};

/// What a signal said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The process shall end.
    End,
    /// The terminal has another size.
    Size,
}

/// The signals.
pub(super) struct Signals {
    terminate: unix::Signal,
    hangup: unix::Signal,
    interrupt: unix::Signal,
    size: unix::Signal,
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
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::End,
            _ = self.hangup.recv() => Told::End,
            _ = self.interrupt.recv() => Told::End,
            _ = self.size.recv() => Told::Size,
        }
    }

    /// Waits for those that no key makes. Whoever has the terminal meanwhile hears the others itself.
    pub(super) async fn terminate_or_hangup(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
