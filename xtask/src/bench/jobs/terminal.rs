//! The outer terminal: what a person would sit at. It shows nothing and answers nothing; it counts, and
//! looks for what it was told to wait for.

#![expect(unsafe_code, reason = "a child gets its terminal between fork and exec")]

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, bail};
use memchr::memmem::Finder;
use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::cue::is_readable;

/// Columns and lines of every terminal here.
pub(super) const SIZE: (u16, u16) = (200, 50);

/// Read at once: more than the kernel keeps for a terminal.
const READ_BYTES: usize = 64 << 10;

/// A terminal at which nobody sits yet.
pub(super) struct Free {
    master: File,
    slave: OwnedFd,
}

/// A terminal with a program on it.
pub(super) struct Outer {
    master: Option<File>,
    child: Child,
    buffer: Vec<u8>,
}

impl Free {
    pub(super) fn open() -> anyhow::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, flags, Mode::empty())?;
        let (ws_col, ws_row) = SIZE;
        tcsetwinsize(&master, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?;
        Ok(Self { master: master.into(), slave })
    }

    /// Starts a program on it, as the leader of a session whose terminal it is.
    pub(super) fn start(self, command: &mut Command) -> anyhow::Result<Outer> {
        let end = || -> anyhow::Result<Stdio> { Ok(self.slave.try_clone()?.into()) };
        command.stdin(end()?).stdout(end()?).stderr(end()?);
        // SAFETY: between fork and exec only these two system calls are made; neither allocates or locks.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
            });
        }
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        Ok(Outer { master: Some(self.master), child, buffer: vec![0; READ_BYTES] })
    }
}

impl Outer {
    /// Types something.
    pub(super) fn type_in(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let master = self.master.as_mut().context("the terminal was hung up")?;
        Ok(master.write_all(bytes)?)
    }

    /// Reads until a text has come, and no further than what came with it; returns how many bytes it were.
    pub(super) fn wait_for(&mut self, text: &str) -> anyhow::Result<u64> {
        let finder = Finder::new(text);
        let mut n_seen = 0;
        let mut kept: Vec<u8> = Vec::new();
        loop {
            let piece = self.read()?;
            n_seen += u64::try_from(piece.len())?;
            // What was waited for may come in two pieces.
            let n_before = kept.len();
            let head = piece.get(..piece.len().min(text.len())).unwrap_or_default();
            kept.extend_from_slice(head);
            if finder.find(&kept).is_some() || finder.find(piece).is_some() {
                return Ok(n_seen);
            }
            kept.truncate(n_before);
            kept.extend_from_slice(
                piece.get(piece.len().saturating_sub(text.len())..).unwrap_or_default(),
            );
            let surplus = kept.len().saturating_sub(text.len());
            kept.drain(..surplus);
        }
    }

    /// Reads until a text has come, and returns all that did.
    pub(super) fn all_until(&mut self, text: &str) -> anyhow::Result<Vec<u8>> {
        let mut all = Vec::new();
        while memchr::memmem::find(&all, text.as_bytes()).is_none() {
            let piece = self.read()?;
            all.extend_from_slice(piece);
        }
        Ok(all)
    }

    /// Waits for anything to be shown.
    pub(super) fn first(&mut self) -> anyhow::Result<()> {
        self.read().map(drop)
    }

    fn read(&mut self) -> anyhow::Result<&[u8]> {
        let master = self.master.as_mut().context("the terminal was hung up")?;
        if !is_readable(&*master)? {
            bail!("the terminal did not show what was waited for");
        }
        match master.read(&mut self.buffer) {
            Ok(n_bytes) if 0 < n_bytes => Ok(self.buffer.get(..n_bytes).unwrap_or_default()),
            _ => bail!("the program on the terminal ended early"),
        }
    }

    /// Waits for the program to end by itself.
    pub(super) fn ended(mut self) -> anyhow::Result<()> {
        let status = self.child.wait()?;
        anyhow::ensure!(status.success(), "the program on the terminal: {status}");
        Ok(())
    }

    /// Takes the terminal away, and waits for the end of who sat there.
    pub(super) fn hang_up(mut self) -> anyhow::Result<()> {
        self.master = None;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        self.master = None;
        // Whoever does not mind the end of its terminal is not waited for.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
