//! The pseudo-terminal: its master's end, and the program's end for as long as it runs.
//!
//! The program's end is kept open here too: a master whose other end nobody holds reports a hang-up for
//! ever, also when a program only closed its terminal for a while.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    buffer::spare_capacity,
    fs::{Mode, OFlags},
    io::Errno,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{
        InputModes, OptionalActions, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
    },
};
use screen::Size;

/// What reading the output gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Some bytes.
    Bytes,
    /// Nothing now.
    Nothing,
    /// Nothing ever again: nobody holds the other end.
    End,
}

#[derive(Debug)]
pub(super) struct Pty {
    master: OwnedFd,
    /// None once the program has ended.
    slave: Option<OwnedFd>,
}

impl Pty {
    pub(super) fn open(size: Size) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, flags, Mode::empty())?;
        // So that the terminal's own line editing takes back whole characters.
        let mut modes = tcgetattr(&slave)?;
        modes.input_modes.insert(InputModes::IUTF8);
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let pty = Self { master, slave: Some(slave) };
        pty.resize(size)?;
        Ok(pty)
    }

    /// Takes over a terminal that the build before has opened.
    pub(super) fn inherited(master: OwnedFd, slave: OwnedFd) -> Self {
        Self { master, slave: Some(slave) }
    }

    /// Returns the size that the program was told last.
    pub(super) fn size(&self) -> Option<Size> {
        let size = tcgetwinsize(&self.master).ok()?;
        Some(Size::clamped(size.ws_col, size.ws_row))
    }

    /// Lends the program's end; none once it has been let go of.
    pub(super) fn program_end(&self) -> Option<&OwnedFd> {
        self.slave.as_ref()
    }

    /// Lets go of the program's end, so that the end of its output can be seen.
    pub(super) fn hang_up(&mut self) {
        self.slave = None;
    }

    pub(super) fn resize(&self, size: Size) -> io::Result<()> {
        let (ws_col, ws_row) = (size.columns(), size.lines());
        let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.master, size)?)
    }

    /// Reads behind what was read before, as far as there is room.
    pub(super) fn read(&self, bytes: &mut Vec<u8>) -> Output {
        match rustix::io::read(&self.master, spare_capacity(bytes)) {
            Ok(0) => Output::End,
            Ok(_) => Output::Bytes,
            Err(Errno::AGAIN | Errno::INTR) => Output::Nothing,
            // Linux says so when the last holder of the other end is gone.
            Err(_) => Output::End,
        }
    }

    /// Types as much as the terminal takes now, and returns how much that was.
    pub(super) fn write(&self, bytes: &[u8]) -> usize {
        // What cannot be typed because the program is gone is of no use to anybody.
        match rustix::io::write(&self.master, bytes) {
            Ok(n_bytes) => n_bytes,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => bytes.len(),
        }
    }
}

impl AsFd for Pty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }
}
