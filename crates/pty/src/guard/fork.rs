//! A process that goes on as two, of which the second does one piece of work and ends.
//!
//! The second one keeps as little as it can of what the first one is: no signal reaches it, no handler of the
//! first one's is left in it, and its environment is empty. Not here: that work.

#![expect(unsafe_code, reason = "the safe wrappers start programs, and never fork")]

use std::{io, mem::MaybeUninit, ptr::null_mut};

use rustix::{
    io::Errno,
    process::{Pid, Resource, chdir, getrlimit, setsid},
};

/// Descriptors that are closed one by one where the kernel does not close them all at once.
const DESCRIPTORS_MAX: u64 = 1 << 16;

unsafe extern "C" {
    /// The environment, as the C library keeps it.
    static environ: *const *mut libc::c_char;
}

/// Forks; the other process does the work and ends, whatever comes of it.
///
/// Other threads may hold any lock at this moment, and it would stay locked in the child for ever. So the
/// child makes system calls and nothing else, and the work must do the same: it neither allocates nor locks.
pub(super) fn fork(work: impl FnOnce() -> Result<(), Errno>) -> io::Result<Pid> {
    // Held off before the child exists: it shall hear none, not even at first, and in the client's handlers
    // still less.
    let before = hold_off_all_signals()?;
    // SAFETY: the child runs `become_nobody` and `work`, which only make system calls, and then its end;
    // none of the caller's values is dropped there, and nothing of the caller's runs.
    let forked = unsafe { libc::fork() };
    let failure = io::Error::last_os_error();
    if forked == 0 {
        let end = End;
        become_nobody();
        work().ok();
        drop(end);
    }
    // SAFETY: `before` was filled by the same call.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut()) };
    Pid::from_raw(forked).filter(|_| 0 < forked).ok_or(failure)
}

/// Ends the process when it is dropped, also by a panic: the caller's code is not for the child.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: ends this process without running anything of ours.
        unsafe { libc::_exit(0) };
    }
}

/// Holds off every signal of this thread and returns which ones were before.
fn hold_off_all_signals() -> io::Result<libc::sigset_t> {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: fills the set it is given.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: `all` was filled above, and `before` has room for a set.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) } {
        // SAFETY: the call has succeeded, and so filled it.
        0 => Ok(unsafe { before.assume_init() }),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Takes off what the child has of its parent and does not need.
fn become_nobody() {
    for number in 1..=64 {
        // SAFETY: sets what the system does by itself; numbers that cannot be set are refused.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    erase_environment();
    // In a session of its own no key of the terminal reaches it, nor what is meant for its parent's group. It
    // was forked a moment ago and leads none, so this cannot fail.
    setsid().ok();
    chdir(c"/").ok();
    rustix::thread::set_name(c"stead-guard").ok();
}

/// Overwrites every value of the environment, so that nobody finds one in this process.
fn erase_environment() {
    // SAFETY: one thread is left, and nobody else changes it.
    let mut at = unsafe { environ };
    loop {
        // SAFETY: there is no list, or the place lies in it, since the list ends with null.
        let Some(text) = (unsafe { at.as_ref() }).filter(|text| !text.is_null()) else { return };
        // SAFETY: each text ends with a zero.
        let n_bytes = unsafe { libc::strlen(*text) };
        // SAFETY: so long it is, and it can be written: programs change their environment in place.
        unsafe { libc::explicit_bzero((*text).cast(), n_bytes) };
        at = at.wrapping_add(1);
    }
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: u32) {
    // SAFETY: the process was forked a moment ago and uses none of them, nor does a value that is dropped.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if done < 0 {
        // An old kernel, or a filter around it that knows only older calls.
        let last = getrlimit(Resource::Nofile).current.unwrap_or(DESCRIPTORS_MAX);
        for fd in u64::from(first)..last.min(DESCRIPTORS_MAX) {
            // SAFETY: as above; numbers that are no descriptors are refused.
            unsafe { libc::close(libc::c_int::try_from(fd).unwrap_or(-1)) };
        }
    }
}
