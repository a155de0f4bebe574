//! The guard: a process beside the client that gives the terminal back when the client cannot.
//!
//! It holds the end of a pipe of which the client holds the other one. The client says what the terminal was
//! like before it takes it, and that all is well once it has given it back. A pipe that ends in between
//! means that the client was killed.
//!
//! It is the client's own fork and no program started anew: that would take longer than all the rest of
//! attaching. Not here: how a process forks.

mod fork;

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Signal, WaitOptions, chdir, setsid, waitpid},
    stdio::{dup2_stdin, dup2_stdout, stdin, stdout},
    termios::{
        ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector,
        SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
    },
};
use stdx::clock::Clock;
use vocab::{limits::ATTACH_RESTORE_MS_MAX, outcome::Failure};

use super::terminal::write_within;

/// Before the modes.
const ARM: u8 = b'A';
/// All is well.
const DISARM: u8 = b'D';

/// Of a terminal's modes, those that raw mode changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Modes {
    flags: [u32; 4],
    codes: [u8; 2],
}

/// One message that arms the guard.
const ARMING_BYTES: usize = 1 + 4 * 4 + 2;

impl Modes {
    pub(super) fn of(termios: &Termios) -> Self {
        let flags = [
            termios.input_modes.bits(),
            termios.output_modes.bits(),
            termios.control_modes.bits(),
            termios.local_modes.bits(),
        ];
        let code = |index| termios.special_codes[index];
        Self { flags, codes: [code(SpecialCodeIndex::VMIN), code(SpecialCodeIndex::VTIME)] }
    }

    fn put(self, termios: &mut Termios) {
        let [input, output, control, local] = self.flags;
        termios.input_modes = InputModes::from_bits_retain(input);
        termios.output_modes = OutputModes::from_bits_retain(output);
        termios.control_modes = ControlModes::from_bits_retain(control);
        termios.local_modes = LocalModes::from_bits_retain(local);
        let [min, time] = self.codes;
        termios.special_codes[SpecialCodeIndex::VMIN] = min;
        termios.special_codes[SpecialCodeIndex::VTIME] = time;
    }

    fn message(self) -> Vec<u8> {
        let mut bytes = vec![ARM];
        for flags in self.flags {
            bytes.extend_from_slice(&flags.to_ne_bytes());
        }
        bytes.extend_from_slice(&self.codes);
        bytes
    }

    fn read(body: [u8; ARMING_BYTES - 1]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, min, time] = body;
        let flags = [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]];
        Self { flags: flags.map(u32::from_ne_bytes), codes: [min, time] }
    }

    /// Sets a terminal back, unless somebody else has set it meanwhile: a shell that saw its client die
    /// edits its line in modes of its own.
    fn restore(self, terminal: impl AsFd) -> Result<(), Errno> {
        let mut now = tcgetattr(&terminal)?;
        let mut left = now.clone();
        self.put(&mut left);
        left.make_raw();
        if Self::of(&now) == Self::of(&left) {
            // What the terminal has answered to the client is no typing for whoever reads next.
            tcflush(&terminal, QueueSelector::IFlush).ok();
            self.put(&mut now);
            tcsetattr(&terminal, OptionalActions::Now, &now)?;
        }
        Ok(())
    }
}

/// The client's hold on its guard. Dropping it ends the guard and waits for that.
#[derive(Debug)]
pub(super) struct Guard {
    process: Pid,
    pipe: Option<OwnedFd>,
}

impl Guard {
    /// Starts the guard of a terminal.
    pub(super) fn start(terminal: BorrowedFd<'_>) -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let process = fork::fork(|| {
            // It keeps nothing of its client's but these two, or the host would not see that one go.
            dup2_stdin(&reader)?;
            dup2_stdout(terminal)?;
            fork::close_from(3)?;
            // In a session of its own no key of the terminal reaches it, nor what is meant for the
            // client's group. It was forked a moment ago and leads none, so this cannot fail.
            setsid()?;
            chdir("/").ok();
            serve(stdin(), stdout())
        })?;
        Ok(Self { process, pipe: Some(writer) })
    }

    pub(super) fn arm(&mut self, modes: &Modes) -> Result<(), Failure> {
        self.say(&modes.message()).map_err(|why| {
            Failure::not_started("guard_failed", format!("the terminal's guard: {why}"))
        })
    }

    pub(super) fn disarm(&mut self) {
        // One that is gone restores nothing either.
        self.say(&[DISARM]).ok();
    }

    fn say(&mut self, message: &[u8]) -> io::Result<()> {
        let pipe = self.pipe.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        // Shorter than what a pipe takes as one piece.
        rustix::io::write(pipe, message)?;
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        // It ends with the pipe, and after its restoring at the latest.
        while matches!(waitpid(Some(self.process), WaitOptions::empty()), Err(Errno::INTR)) {}
    }
}

/// Serves as the guard of a terminal until the client's pipe ends.
///
/// # Errors
/// When signals cannot be held off, or the terminal cannot be restored.
fn serve(pipe: impl AsFd, terminal: impl AsFd) -> io::Result<()> {
    // Whoever ends the client's group means the client, and the guard lives until it is gone.
    let ignored = [Signal::INT, Signal::QUIT, Signal::HUP, Signal::TERM];
    let _held_off = sandbox::signals::watch(&ignored)?;
    if let Some(modes) = armed_at_the_end(&pipe) {
        // First the modes: a shell that takes over sets its own ones, from then on for good.
        modes.restore(&terminal)?;
        let resets = screen::resets(screen::Levels::UNKNOWN);
        write_within(&terminal, &resets, &Clock::system(), ATTACH_RESTORE_MS_MAX).ok();
    }
    Ok(())
}

/// Returns what the client left behind, none if it left nothing.
fn armed_at_the_end(pipe: impl AsFd) -> Option<Modes> {
    let mut armed = None;
    loop {
        match read(&pipe) {
            Some([ARM]) => armed = Some(Modes::read(read(&pipe)?)),
            Some([DISARM]) => armed = None,
            // Nobody else speaks here.
            Some(_) => {}
            None => return armed,
        }
    }
}

/// Reads so many bytes; none at the end.
fn read<const N: usize>(pipe: impl AsFd) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut n_read = 0;
    while n_read < N {
        match rustix::io::read(&pipe, bytes.get_mut(n_read..)?) {
            Ok(0) => return None,
            Ok(n_bytes) => n_read += n_bytes,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
