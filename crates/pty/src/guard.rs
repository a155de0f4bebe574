//! The guard of a terminal: a process beside the client that gives the terminal back when the client cannot.
//!
//! It holds the end of a pipe of which the client holds the other one. The client says what the terminal was
//! like before it takes it, and that all is well once it has given it back. A pipe that ends in between
//! means that the client was killed.
//!
//! It is the client's own fork and no program started anew: that would take longer than all the rest of
//! attaching. Whoever has secrets starts it before it has them. Not here: how a process forks, and what a
//! client does to its terminal.

mod fork;

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    io::{Errno, fcntl_dupfd_cloexec},
    pipe::{PipeFlags, pipe_with},
    process::{Pid, WaitOptions, waitpid},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stderr, stdin, stdout},
    termios::{
        ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector,
        SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
    },
};
use stdx::clock::Clock;
use vocab::limits::{ATTACH_RESTORE_MS_MAX, GUARD_FAREWELL_BYTES_MAX};

use crate::tty;

/// Before what the terminal was like.
const ARM: u8 = b'A';
/// All is well.
const DISARM: u8 = b'D';

/// Below these numbers descriptors are the standard streams'.
const FIRST_OWN: i32 = 3;

/// Of a terminal's modes, those that clients change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Modes {
    flags: [u32; 4],
    codes: [u8; 3],
}

/// The codes among them.
const CODES: [SpecialCodeIndex; 3] =
    [SpecialCodeIndex::VMIN, SpecialCodeIndex::VTIME, SpecialCodeIndex::VEOL];

const MODES_BYTES: usize = 4 * 4 + 3;

// A pipe takes so much as one piece, of which a client that is killed has said all or nothing.
const _: () = assert!(1 + 2 * MODES_BYTES + 2 + GUARD_FAREWELL_BYTES_MAX <= rustix::pipe::PIPE_BUF);

impl Modes {
    fn of(termios: &Termios) -> Self {
        let flags = [
            termios.input_modes.bits(),
            termios.output_modes.bits(),
            termios.control_modes.bits(),
            termios.local_modes.bits(),
        ];
        Self { flags, codes: CODES.map(|index| termios.special_codes[index]) }
    }

    fn put(self, termios: &mut Termios) {
        let [input, output, control, local] = self.flags;
        termios.input_modes = InputModes::from_bits_retain(input);
        termios.output_modes = OutputModes::from_bits_retain(output);
        termios.control_modes = ControlModes::from_bits_retain(control);
        termios.local_modes = LocalModes::from_bits_retain(local);
        for (index, code) in CODES.into_iter().zip(self.codes) {
            termios.special_codes[index] = code;
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        for flags in self.flags {
            out.extend_from_slice(&flags.to_ne_bytes());
        }
        out.extend_from_slice(&self.codes);
    }

    fn read(bytes: [u8; MODES_BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, codes @ ..] = bytes;
        let flags = [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]];
        Self { flags: flags.map(u32::from_ne_bytes), codes }
    }
}

/// What a client leaves behind when it is killed.
struct Left {
    found: Modes,
    taken: Modes,
    farewell: [u8; GUARD_FAREWELL_BYTES_MAX],
    n_farewell: usize,
}

impl Left {
    /// Sets the terminal back, unless somebody else has set it meanwhile: a shell that saw its client die
    /// edits its line in modes of its own.
    fn restore(&self, terminal: impl AsFd) -> Result<(), Errno> {
        let mut now = tcgetattr(&terminal)?;
        if self.taken != self.found && Modes::of(&now) == self.taken {
            // What the terminal has answered to the client is no typing for whoever reads next.
            tcflush(&terminal, QueueSelector::IFlush).ok();
            self.found.put(&mut now);
            tcsetattr(&terminal, OptionalActions::Now, &now)?;
        }
        Ok(())
    }
}

/// A client's hold on its guard. Dropping it ends the guard and waits for that.
#[derive(Debug)]
pub struct Guard {
    process: Pid,
    pipe: Option<OwnedFd>,
    /// Ends once the guard is nobody's: what kills its client's whole group does not reach it any more.
    begun: OwnedFd,
}

impl Guard {
    /// Starts the guard of a terminal, of which two ends are told. It guards nothing yet.
    ///
    /// What this process holds in its memory now, its guard holds until it ends; its environment it does not.
    ///
    /// # Errors
    /// When the system refuses a process or a descriptor.
    pub fn start(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        // Above the standard streams, so that none of them is replaced before it was put in its place.
        let above = |fd: BorrowedFd<'_>| fcntl_dupfd_cloexec(fd, FIRST_OWN);
        let (reader, writer) = (above(reader.as_fd())?, above(writer.as_fd())?);
        // Opened anew where that can be: a terminal that is stuck does not hold the guard up then.
        let output = match tty::open_again(output) {
            Ok(output) => above(output.as_fd())?,
            Err(_) => above(output)?,
        };
        let input = above(input)?;
        let (begun, beginning) = pipe_with(PipeFlags::CLOEXEC)?;
        let process = fork::fork(|| {
            // It keeps nothing of its client's but these, or the host would not see that one go.
            dup2_stdin(&reader)?;
            dup2_stdout(&output)?;
            dup2_stderr(&input)?;
            fork::close_from(FIRST_OWN.cast_unsigned());
            serve(stdin(), stderr(), stdout())
        })?;
        // The guard closes its own one with all that it does not keep.
        drop(beginning);
        Ok(Self { process, pipe: Some(writer), begun })
    }

    /// Says what the terminal was like, which modes it is about to be given, and what has to be written to it
    /// when it is given back. What was said before is forgotten.
    /// Waits until the guard is one, which it mostly is by then.
    ///
    /// # Errors
    /// When the guard is gone, or has more to write than it keeps.
    pub fn arm(&self, found: &Termios, taken: &Termios, farewell: &[u8]) -> io::Result<()> {
        let n_bytes = u16::try_from(farewell.len()).unwrap_or(u16::MAX);
        if GUARD_FAREWELL_BYTES_MAX < usize::from(n_bytes) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut message = vec![ARM];
        Modes::of(found).write(&mut message);
        Modes::of(taken).write(&mut message);
        message.extend_from_slice(&n_bytes.to_ne_bytes());
        message.extend_from_slice(farewell);
        fill(&self.begun, &mut [0]);
        self.say(&message)
    }

    /// Says that the terminal was given back.
    pub fn disarm(&self) {
        // One that is gone restores nothing either.
        self.say(&[DISARM]).ok();
    }

    fn say(&self, message: &[u8]) -> io::Result<()> {
        let pipe = self.pipe.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
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

/// Serves as the guard of a terminal until the client's pipe ends. It neither allocates nor locks.
fn serve(pipe: impl AsFd, input: impl AsFd, output: impl AsFd) -> Result<(), Errno> {
    if let Some(left) = left_at_the_end(pipe) {
        // First the modes: a shell that takes over sets its own ones, from then on for good.
        left.restore(input).ok();
        let farewell = left.farewell.get(..left.n_farewell).unwrap_or_default();
        tty::write_within(output, farewell, &Clock::system(), ATTACH_RESTORE_MS_MAX).ok();
    }
    Ok(())
}

/// Returns what the client left behind, none if it left nothing.
fn left_at_the_end(pipe: impl AsFd) -> Option<Left> {
    let mut armed = None;
    loop {
        match read(&pipe) {
            Some([ARM]) => {
                let (found, taken) = (Modes::read(read(&pipe)?), Modes::read(read(&pipe)?));
                let n_farewell = usize::from(u16::from_ne_bytes(read(&pipe)?));
                let mut farewell = [0; GUARD_FAREWELL_BYTES_MAX];
                fill(&pipe, farewell.get_mut(..n_farewell)?)?;
                armed = Some(Left { found, taken, farewell, n_farewell });
            }
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
    fill(pipe, &mut bytes)?;
    Some(bytes)
}

/// Fills the bytes; none at the end.
fn fill(pipe: impl AsFd, bytes: &mut [u8]) -> Option<()> {
    let mut n_read = 0;
    while n_read < bytes.len() {
        match rustix::io::read(&pipe, bytes.get_mut(n_read..)?) {
            Ok(0) => return None,
            Ok(n_bytes) => n_read += n_bytes,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
