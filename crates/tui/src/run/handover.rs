//! The terminal in other hands: the shell's while this process is stopped, a job's while that is shown.
//!
//! Two readers of one terminal would share its keys between them, so nobody reads them here meanwhile. Not here: what
//! the terminal is given back as, and what a stopped or killed program leaves to its guard.

use std::{
    io::{self, Read as _},
    os::fd::OwnedFd,
    process::Child,
    time::Duration,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::{task::JoinHandle, time::Instant};
use vocab::{
    limits::{VIEW_ERROR_BYTES_MAX, VIEW_SHOWN_END_MS_MAX},
    outcome::Failure,
};

use super::{
    Left, Loop, read_keys,
    signals::{self, Beside, Signals},
};
use crate::msg::Msg;

impl Loop<'_> {
    /// Gives the terminal back, stops until somebody lets this process go on, and takes it again.
    pub(super) fn stop(&mut self) -> Result<(), Failure> {
        self.keys = None;
        self.screen.leave();
        signals::stop();
        self.take_back()
    }

    /// Gives the terminal to a job until it is let go of. What is told meanwhile is taken, and not drawn.
    pub(super) async fn attach(&mut self, job: &str) -> Result<Left, Failure> {
        self.keys = None;
        self.screen.leave();
        let result = match (self.setup.attach)(job).and_then(Shown::new) {
            Err(error) => Err(format!("the job cannot be shown: {error}")),
            Ok(mut shown) => {
                let result = loop {
                    tokio::select! {
                        ended = shown.turn(&mut self.signals) => {
                            if let Some(result) = ended {
                                break result;
                            }
                        }
                        Some(msg) = self.told.recv() => self.take(msg),
                        Some(ended) = self.tasks.join_next() => self.reap(&ended),
                    }
                };
                if shown.ending != Ending::Untold {
                    return Ok(Left::Told);
                }
                result
            }
        };
        self.take_back()?;
        self.take(Msg::Returned(result));
        Ok(Left::Quit)
    }

    fn take_back(&mut self) -> Result<(), Failure> {
        self.screen.enter()?;
        self.keys = Some(read_keys()?);
        self.take(Msg::Resize(self.screen.size()?));
        Ok(())
    }
}

/// A program that has the terminal and shows a job there.
pub(super) struct Shown {
    /// It means this process also when its number means another one.
    handle: OwnedFd,
    waiting: JoinHandle<Result<(), String>>,
    /// It was told to stop. It may be held up for as long as its terminal is.
    stopping: Option<JoinHandle<()>>,
    ending: Ending,
}

/// Whether it has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It ends by itself.
    Untold,
    /// It was asked to, and is killed at that time: its guard gives the terminal back then.
    Asked(Instant),
    /// It was killed.
    Killed,
}

/// What happened to it, or to this process.
enum Came {
    Ended(Result<(), String>),
    Stopped,
    Told(Beside),
    Overdue,
}

impl Shown {
    pub(super) fn new(mut child: Child) -> io::Result<Self> {
        let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).or_else(|errno| {
            child.kill()?;
            child.wait()?;
            Err(io::Error::from(errno))
        })?;
        let waiting = tokio::task::spawn_blocking(move || ended(child));
        Ok(Self { handle, waiting, stopping: None, ending: Ending::Untold })
    }

    /// Waits for the next thing that happens and does what follows from it. Returns how it ended once it has.
    pub(super) async fn turn(&mut self, signals: &mut Signals) -> Option<Result<(), String>> {
        match self.came(signals).await {
            Came::Ended(result) => return Some(result),
            Came::Stopped => {
                self.stopping = None;
                if self.ending == Ending::Untold {
                    signals::stop();
                }
                self.say(Signal::CONT);
            }
            Came::Told(Beside::Stop) => {
                self.say(Signal::TSTP);
                if self.stopping.is_none() {
                    self.stopping = signals::stopped(&self.handle);
                }
            }
            Came::Told(Beside::End) => {
                self.say(Signal::TERM);
                if self.ending == Ending::Untold {
                    let patience = Duration::from_millis(VIEW_SHOWN_END_MS_MAX);
                    self.ending = Ending::Asked(Instant::now() + patience);
                }
            }
            Came::Overdue => {
                self.say(Signal::KILL);
                self.ending = Ending::Killed;
            }
        }
        None
    }

    async fn came(&mut self, signals: &mut Signals) -> Came {
        tokio::select! {
            result = &mut self.waiting => {
                Came::Ended(result.unwrap_or_else(|_| Err("waiting for it failed".to_owned())))
            }
            told = signals.beside() => Came::Told(told),
            () = done(&mut self.stopping) => Came::Stopped,
            () = overdue(self.ending) => Came::Overdue,
        }
    }

    /// A program that has ended meanwhile is seen by whoever waits for it.
    fn say(&self, signal: Signal) {
        pidfd_send_signal(&self.handle, signal).ok();
    }
}

/// Waits for a task, for ever where there is none.
async fn done(task: &mut Option<JoinHandle<()>>) {
    match task {
        Some(task) => task.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

/// Waits until something that was asked to end has had its time.
async fn overdue(ending: Ending) {
    match ending {
        Ending::Asked(killed_at) => tokio::time::sleep_until(killed_at).await,
        Ending::Untold | Ending::Killed => std::future::pending().await,
    }
}

/// Waits for what shows a job; tells what it said where it failed.
pub(super) fn ended(mut child: Child) -> Result<(), String> {
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        // What it says is a line or two; bytes that are no text say nothing.
        stderr.take(VIEW_ERROR_BYTES_MAX).read_to_string(&mut said).ok();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let first = said.lines().next().unwrap_or_default();
    let first = first.strip_prefix("stead: ").unwrap_or(first);
    match status.success() {
        true => Ok(()),
        false if first.is_empty() => Err(format!("the job could not be shown: {status}")),
        false => Err(first.to_owned()),
    }
}

#[cfg(test)]
mod tests;
