//! A terminal of a test's own: a program runs on it as on a person's, and its words are waited for.

#![expect(unsafe_code, reason = "a child makes the terminal its own between fork and exec")]

use std::{
    fs::File,
    io::Write as _,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{Child, Command},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    io::Errno,
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

/// How long a word is waited for before the test says what it saw instead.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// A program on a terminal.
pub(crate) struct Terminal {
    child: Child,
    master: File,
    /// Kept, so that the terminal outlives the program and its modes can be asked for.
    _slave: OwnedFd,
    /// The terminal's modes before the program began.
    pub(crate) found: String,
    /// All that was shown, line ends as the terminal makes them.
    pub(crate) seen: String,
    looked: usize,
}

impl Terminal {
    /// Starts a program on a terminal of 80 columns.
    pub(crate) fn run(mut command: Command) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let open = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, open, Mode::empty()).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let end = || slave.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        let own = || {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        };
        // SAFETY: the closure makes two system calls and touches no memory of the parent's.
        unsafe { command.pre_exec(own) };
        let found = format!("{:?}", tcgetattr(&master).unwrap());
        let child = command.spawn().unwrap();
        Self { child, master: master.into(), _slave: slave, found, seen: String::new(), looked: 0 }
    }

    /// Waits until a text is shown that was not waited for before.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        while !self.seen[self.looked..].contains(text) {
            assert!(self.read(), "{text:?} never came:\n{}", self.seen);
        }
        let at = self.seen[self.looked..].find(text).unwrap_or(0);
        self.looked += at + text.len();
    }

    /// Types.
    pub(crate) fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the program's end and returns its exit code.
    #[track_caller]
    pub(crate) fn end(&mut self) -> i32 {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        // What is still on its way was written before the end.
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        while self.read_within(&now) {}
        code
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Returns the program's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, cols: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    /// Returns the terminal's modes.
    pub(crate) fn modes(&self) -> String {
        format!("{:?}", tcgetattr(&self.master).unwrap())
    }

    /// Tells whether the terminal shows what is typed.
    pub(crate) fn echoes(&self) -> bool {
        tcgetattr(&self.master).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    fn read(&mut self) -> bool {
        self.read_within(&PATIENCE)
    }

    fn read_within(&mut self, patience: &Timespec) -> bool {
        let mut polled = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut polled, Some(patience)).unwrap() == 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(&self.master, &mut bytes) {
            Ok(n) => self.seen.push_str(&String::from_utf8_lossy(&bytes[..n])),
            Err(Errno::INTR) => {}
            Err(error) => panic!("{error}:\n{}", self.seen),
        }
        true
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves no program behind; one that passed has waited for its end.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
