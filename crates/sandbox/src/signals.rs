//! Signals as something to wait for, beside everything else a single thread waits for.

#![expect(unsafe_code, reason = "the safe wrappers know no signal descriptors")]

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{FromRawFd, OwnedFd},
    ptr,
};

use rustix::process::Signal;

/// Blocks signals for the calling thread and returns a descriptor that is readable once one has come.
/// What is read from it tells which, see [`taken`]. Children start with every signal unblocked.
///
/// # Errors
/// When no descriptor is left.
pub fn watch(signals: &[Signal]) -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: fills the set it is given.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in signals {
        // SAFETY: `set` was filled above; numbers that are none are refused by the call.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal.as_raw()) };
    }
    // SAFETY: `set` was filled above, and nothing is written.
    let blocked = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut()) };
    if blocked != 0 {
        return Err(io::Error::from_raw_os_error(blocked));
    }
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: `set` was filled above.
    let fd = unsafe { libc::signalfd(-1, set.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a new descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a write beyond the limit on file sizes fail instead of ending this process. Children start with every
/// signal at its default.
pub fn survive_the_file_limit() {
    // SAFETY: plain integers; nothing of ours runs in a handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Returns the number of the next signal that has come, none if none has.
///
/// # Errors
/// When the descriptor cannot be read.
pub fn taken(watched: &OwnedFd) -> io::Result<Option<i32>> {
    // The kernel tells a signal in 128 bytes, of which the first four are its number.
    let mut told = [0; 128];
    match rustix::io::read(watched, &mut told) {
        Ok(_) => {
            let [a, b, c, d, ..] = told;
            Ok(i32::try_from(u32::from_ne_bytes([a, b, c, d])).ok())
        }
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
