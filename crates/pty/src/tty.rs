//! One end of a terminal, used without ever waiting longer than was said.
//!
//! Not here: modes, and what is written.

use std::{
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    io::Errno,
    termios::tcgetsid,
};
use stdx::clock::Clock;

/// The terminal has gone away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// Opens one end of a terminal again. That reading and writing never wait is then said of this end alone.
pub(crate) fn open_again(end: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", end.as_raw_fd());
    rustix::fs::open(path, flags, Mode::empty()).or_else(|errno| {
        // Who became another user may not open that user's terminal by its name, but is still on it.
        tcgetsid(end).or(Err(errno))?;
        rustix::fs::open("/dev/tty", flags, Mode::empty())
    })
}

/// Writes what is taken now, and returns how much that was.
pub(crate) fn write(output: impl AsFd, bytes: &[u8]) -> Result<usize, Gone> {
    match rustix::io::write(output, bytes) {
        Ok(n_bytes) => Ok(n_bytes),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(_) => Err(Gone),
    }
}

/// Writes all of it, waiting no longer than that for a terminal that is stuck. It neither allocates nor locks.
pub(crate) fn write_within(
    output: impl AsFd,
    mut bytes: &[u8],
    clock: &Clock,
    ms_max: u64,
) -> Result<(), Gone> {
    let end = clock.monotonic() + Duration::from_millis(ms_max);
    loop {
        bytes = bytes.get(write(&output, bytes)?..).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        if !wait(&output, PollFlags::OUT, end.saturating_sub(clock.monotonic())) {
            return Err(Gone);
        }
    }
}

/// Waits for something to happen; false when the time was over first.
pub(crate) fn wait(fd: impl AsFd, flags: PollFlags, timeout: Duration) -> bool {
    let timeout = Timespec::try_from(timeout).unwrap_or_default();
    let mut fds = [PollFd::new(&fd, flags)];
    match poll(&mut fds, Some(&timeout)) {
        Ok(n_ready) => n_ready != 0,
        // The caller asks again, for what is left of the time.
        Err(errno) => errno == Errno::INTR,
    }
}
