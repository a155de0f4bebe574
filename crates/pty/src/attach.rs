//! The terminal that looks at a job: a client that shows what the program draws, types what a person types,
//! and gives the terminal back as it was, however it ends.
//!
//! It waits for terminal, host and signals in one place and for none of them alone. A guard beside it gives
//! the terminal back when the client is killed. Not here: which job a person means, and what is said after
//! the end.

mod chord;
mod crop;
mod fence;
mod keys;
mod known;
mod link;
mod sequence;
mod session;
mod terminal;

use std::{os::fd::OwnedFd, path::Path};

use rustix::process::{Signal, getpid, kill_process};
use sandbox::signals;
use vocab::outcome::Failure;

pub use self::{
    chord::{BadChord, Chord},
    known::Known,
    terminal::Terminal,
};
use self::{
    link::Link,
    session::{End, Session},
};
use crate::{
    guard::Guard,
    hello::{Role, Scrollback},
    job::ExitRecord,
};

/// How a job is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `attach`, or `view` for whoever only looks.
    pub role: Role,
    /// Sends the writer before away.
    pub steal: bool,
    /// What is to be seen of what has scrolled away.
    pub scrollback: Scrollback,
    /// The keys that let go. Without any, only others can end it.
    pub detach: Vec<Chord>,
    /// What is known of the terminal.
    pub terminal: Known,
}

/// How it ended. The terminal was given back before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The job goes on without this terminal.
    Detached(By),
    /// The program has ended.
    Ended(Box<ExitRecord>),
    /// The host fell silent without having told the program's end.
    HostGone,
    /// The terminal went away.
    TerminalGone,
    /// A signal asked the client to end.
    Interrupted,
}

impl Outcome {
    fn ended(exit: ExitRecord) -> Self {
        Self::Ended(Box::new(exit))
    }
}

/// Who let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The person at this terminal.
    Key,
    /// Somebody who asked the host to.
    Request,
    /// Another terminal that took this one's place.
    Takeover,
}

/// Shows the job whose host listens at `socket` until that ends. `guard` is the terminal's. Signals of the
/// calling thread are held off from here on.
///
/// # Errors
/// When there is no host, it refuses this client, or the terminal cannot be used.
pub fn run(
    socket: &Path,
    terminal: &Terminal,
    guard: &Guard,
    options: &Options,
) -> Result<Outcome, Failure> {
    let watched = [
        Signal::WINCH,
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::TERM,
        Signal::TSTP,
        Signal::CONT,
    ];
    let signals = signals::watch(&watched).map_err(|why| {
        Failure::not_started("attach_failed", format!("signals cannot be watched: {why}"))
    })?;
    let mut options = options.clone();
    let mut session = Session::begin(Link::connect(socket)?, terminal, &signals, &options);
    let mut entered = terminal.enter(guard, options.scrollback)?;
    loop {
        let end = session.show()?;
        // Whoever comes back has seen the rest.
        options.scrollback = Scrollback::None;
        match end {
            End::Out(outcome) => {
                session.finish();
                return Ok(outcome);
            }
            End::Again => {
                drop(session);
                entered.again()?;
            }
            End::Stop => {
                session.finish();
                drop(entered);
                if let Some(outcome) = stop(&signals) {
                    return Ok(outcome);
                }
                entered = terminal.enter(guard, options.scrollback)?;
            }
        }
        session = Session::begin(Link::connect(socket)?, terminal, &signals, &options);
    }
}

/// Stops this process until somebody lets it go on. Returns what came of that, if that is the end.
fn stop(signals: &OwnedFd) -> Option<Outcome> {
    // It cannot fail for a process itself, and going on at once would do no harm.
    kill_process(getpid(), Signal::STOP).ok();
    while let Ok(Some(number)) = signals::taken(signals) {
        match Signal::from_named_raw(number) {
            // The one that let it go on; and the size is asked for anew in any case.
            Some(Signal::CONT | Signal::TSTP | Signal::WINCH) => {}
            Some(Signal::HUP) => return Some(Outcome::TerminalGone),
            _ => return Some(Outcome::Interrupted),
        }
    }
    None
}

#[cfg(test)]
pub(crate) mod tests;
