//! A process that goes on as two, of which the second does one piece of work and ends.
//!
//! Not here: that work.

#![expect(unsafe_code, reason = "the safe wrappers start programs, and never fork")]

use std::io;

use rustix::process::Pid;

/// Forks; the other process does the work and ends, whatever comes of it. The C library's heap can be used
/// there. Locks that other threads hold stay locked in it for ever, so that the work must take none.
pub(super) fn fork(work: impl FnOnce() -> io::Result<()>) -> io::Result<Pid> {
    // SAFETY: what runs in the child is `work`, which takes no lock but the heap's, and then its end; none
    // of the caller's values is dropped there.
    let forked = unsafe { libc::fork() };
    if forked == 0 {
        let end = End;
        work().ok();
        drop(end);
    }
    Pid::from_raw(forked).filter(|_| 0 < forked).ok_or_else(io::Error::last_os_error)
}

/// Ends the process when it is dropped, also by a panic: the caller's code is not for the child.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: ends this process without running anything of ours.
        unsafe { libc::_exit(0) };
    }
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: the process was forked a moment ago and uses none of them, nor does a value that is dropped.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
