//! A person's terminal: read, written and asked for its size without ever waiting for it, and given back as
//! it was found.
//!
//! Not here: what is shown on it, and which keys mean something.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::{
    event::PollFlags,
    io::Errno,
    termios::{
        OptionalActions, QueueSelector, Termios, isatty, tcflush, tcgetattr, tcgetwinsize,
        tcsetattr,
    },
};
use stdx::clock::Clock;
use vocab::{
    limits::{ATTACH_FENCE_MS_MAX, ATTACH_RESTORE_MS_MAX},
    outcome::Failure,
};

use super::fence::Fence;
use crate::{
    guard::Guard,
    hello::Scrollback,
    tty::{self, Gone},
};

/// Below everything that is shown, so that what comes next overwrites none of it. Origin mode comes back with
/// the saved cursor where a terminal knows no soft reset, as tmux does; here nothing is lost by going home.
const BELOW: &[u8] = b"\x1b[?6l\x1b[9999;1H\r\n";

/// Two ends of a terminal.
///
/// They are opened anew: that reading and writing never wait is then said of these ends alone, and not of
/// the shell's as well.
#[derive(Debug)]
pub struct Terminal {
    input: OwnedFd,
    output: OwnedFd,
}

/// What reading gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// So many bytes.
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// Nothing ever again.
    End,
}

impl Terminal {
    /// Takes the terminal that a program was given as its input and output.
    ///
    /// # Errors
    /// When one of them is none, or cannot be opened.
    pub fn open(input: impl AsFd, output: impl AsFd) -> Result<Self, Failure> {
        for (end, name) in [(input.as_fd(), "input"), (output.as_fd(), "output")] {
            if !isatty(end) {
                let why = format!("standard {name} is not a terminal");
                return Err(Failure::not_started("not_a_terminal", why));
            }
        }
        let open = |end: BorrowedFd<'_>| tty::open_again(end).map_err(unusable);
        Ok(Self { input: open(input.as_fd())?, output: open(output.as_fd())? })
    }

    pub(super) fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// Starts the terminal's guard. To be called before anything is read that a second process should not
    /// hold as well.
    ///
    /// # Errors
    /// When the system refuses a process.
    pub fn guard(&self) -> Result<Guard, Failure> {
        Guard::start(self.input(), self.output()).map_err(|why| {
            let text = format!("the terminal's guard cannot be started: {why}");
            Failure::not_started("attach_failed", text)
        })
    }

    pub(super) fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Returns columns and lines; zeros where the terminal does not know.
    pub(super) fn size(&self) -> (u32, u32) {
        let size = tcgetwinsize(&self.output).ok();
        size.map_or((0, 0), |size| (size.ws_col.into(), size.ws_row.into()))
    }

    /// Returns a cell's width and height in pixels, where the terminal tells.
    pub(super) fn cell(&self) -> Option<(u16, u16)> {
        let size = tcgetwinsize(&self.output).ok()?;
        let width = size.ws_xpixel.checked_div(size.ws_col)?;
        let height = size.ws_ypixel.checked_div(size.ws_row)?;
        (0 < width && 0 < height).then_some((width, height))
    }

    pub(super) fn read(&self, buffer: &mut [u8]) -> Read {
        match rustix::io::read(&self.input, buffer) {
            Ok(0) => Read::End,
            Ok(n_bytes) => Read::Bytes(n_bytes),
            Err(Errno::AGAIN | Errno::INTR) => Read::Nothing,
            Err(_) => Read::End,
        }
    }

    /// Writes what the terminal takes now, and returns how much that was.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<usize, Gone> {
        tty::write(&self.output, bytes)
    }

    /// Makes the terminal the job's until what is returned is dropped.
    ///
    /// What the terminal shows goes into its scrollback first, unless that is to be replaced too.
    pub(super) fn enter<'a>(
        &'a self,
        guard: &'a Guard,
        scrollback: Scrollback,
    ) -> Result<Entered<'a>, Failure> {
        let found = tcgetattr(&self.input).map_err(unusable)?;
        let mut raw = found.clone();
        raw.make_raw();
        let mut farewell = screen::resets(screen::Levels::UNKNOWN);
        farewell.extend_from_slice(BELOW);
        guard.arm(&found, &raw, &farewell).map_err(|why| {
            Failure::not_started("guard_failed", format!("the terminal's guard: {why}"))
        })?;
        // From here on the terminal is given back, also when this fails halfway.
        let entered = Entered { terminal: self, guard, found, raw };
        entered.set_raw()?;
        let mut greeting = screen::KEEP_TITLE.to_vec();
        if scrollback != Scrollback::Replace {
            // One line end fewer than there are lines: all above the cursor scrolls away, and no more.
            let n_lines = usize::try_from(self.size().1).unwrap_or_default();
            greeting.extend(std::iter::repeat_n(b'\n', n_lines.saturating_sub(1)));
        }
        // A terminal that is stuck from the first moment on has nothing to lose.
        self.write(&greeting).ok();
        Ok(entered)
    }
}

/// A terminal that shows a job. Dropping it gives the terminal back.
pub(super) struct Entered<'a> {
    terminal: &'a Terminal,
    guard: &'a Guard,
    found: Termios,
    raw: Termios,
}

impl Entered<'_> {
    /// Takes the terminal again, which a shell has had meanwhile.
    pub(super) fn again(&self) -> Result<(), Failure> {
        self.set_raw()?;
        self.terminal.write(&screen::retitle()).ok();
        Ok(())
    }

    fn set_raw(&self) -> Result<(), Failure> {
        tcsetattr(&self.terminal.input, OptionalActions::Now, &self.raw).map_err(unusable)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let clock = Clock::system();
        let mut farewell = screen::resets(screen::Levels::UNKNOWN);
        farewell.extend_from_slice(BELOW);
        farewell.extend_from_slice(Fence::QUESTION);
        let within = ATTACH_RESTORE_MS_MAX;
        if tty::write_within(&self.terminal.output, &farewell, &clock, within).is_ok() {
            swallow(self.terminal, &clock);
        }
        // Nothing can be done where these fail: then the terminal is gone.
        tcflush(&self.terminal.input, QueueSelector::IFlush).ok();
        tcsetattr(&self.terminal.input, OptionalActions::Now, &self.found).ok();
        self.guard.disarm();
    }
}

/// Throws away what comes until the terminal has answered the last question: all it still had to say was
/// said before.
fn swallow(terminal: &Terminal, clock: &Clock) {
    let mut fence = Fence::default();
    let end = clock.monotonic() + Duration::from_millis(ATTACH_FENCE_MS_MAX);
    let mut buffer = [0; 1_024];
    while tty::wait(&terminal.input, PollFlags::IN, end.saturating_sub(clock.monotonic())) {
        match terminal.read(&mut buffer) {
            Read::Bytes(n_bytes) if fence.is_reached(buffer.get(..n_bytes).unwrap_or_default()) => {
                return;
            }
            Read::Bytes(_) | Read::Nothing => {}
            Read::End => return,
        }
    }
}

fn unusable(errno: Errno) -> Failure {
    Failure::not_started("terminal_unusable", format!("the terminal cannot be used: {errno}"))
}
