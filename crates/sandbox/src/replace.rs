//! Going on as another program: the same process, its children and some of its descriptors, and nothing
//! else of it.
//!
//! Children notice nothing: to them this is no end of their parent. Not here: what the other program
//! makes of what it is given, and how it is told.

#![expect(
    unsafe_code,
    reason = "the safe wrappers start programs, and take no numbers for descriptors"
)]

use std::{
    collections::BTreeSet,
    ffi::{CString, OsString, c_char},
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
        unix::ffi::OsStringExt as _,
    },
    ptr,
};

use rustix::{
    fs::{Mode, OFlags},
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_getfd, fcntl_setfd},
};

unsafe extern "C" {
    /// The environment that this process was given.
    static environ: *const *const c_char;
}

/// Becomes the program behind an open file, with the arguments after its name, the environment of this
/// process and the kept descriptors under the same numbers. Blocked signals stay blocked, and those that
/// wait go on waiting. Must be called from the thread that started the children: they die with it.
///
/// Returns only if that failed, and then nothing has changed.
pub fn replace(program: &OwnedFd, args: &[OsString], kept: &[BorrowedFd<'_>]) -> io::Error {
    let words = [OsString::from("stead")].into_iter().chain(args.iter().cloned());
    let Ok(argv) = words.map(|word| CString::new(word.into_vec())).collect::<Result<Vec<_>, _>>()
    else {
        return io::ErrorKind::InvalidInput.into();
    };
    let pointers: Vec<*const c_char> =
        argv.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect();
    for fd in kept {
        if let Err(errno) = fcntl_setfd(fd, FdFlags::empty()) {
            seal(kept);
            return errno.into();
        }
    }
    // SAFETY: the pointers are to live memory, ended by null as the kernel wants it; the path is an empty
    // string, which the flag turns into the descriptor itself; nobody changes the environment, since this
    // program never does.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.as_raw_fd(),
            c"".as_ptr(),
            pointers.as_ptr(),
            environ,
            libc::AT_EMPTY_PATH,
        )
    };
    let error = io::Error::last_os_error();
    seal(kept);
    error
}

fn seal(kept: &[BorrowedFd<'_>]) {
    for fd in kept {
        // An open descriptor can always be marked.
        fcntl_setfd(fd, FdFlags::CLOEXEC).ok();
    }
}

/// Takes the descriptors that the program before has kept, told by their numbers, in the same order. Called
/// once at start, before anything else is opened.
///
/// # Errors
/// When a number is none of an open descriptor above the standard ones, or stands twice.
pub fn inherited(numbers: &[i32]) -> io::Result<Vec<OwnedFd>> {
    let different: BTreeSet<i32> = numbers.iter().copied().collect();
    if different.len() != numbers.len() || different.first().is_some_and(|first| *first < 3) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for number in numbers {
        // SAFETY: a number of an open descriptor or of none, which the call tells; nothing is done to it.
        let fd = unsafe { BorrowedFd::borrow_raw(*number) };
        fcntl_getfd(fd)?;
    }
    // SAFETY: each is open, above the standard ones and taken once; nobody in this process can have opened
    // it, as it was there before the process began to run.
    let own = |number: &i32| unsafe { OwnedFd::from_raw_fd(*number) };
    let fds: Vec<OwnedFd> = numbers.iter().map(own).collect();
    seal(&fds.iter().map(|fd| fd.as_fd()).collect::<Vec<_>>());
    Ok(fds)
}

/// Opens a program to become. What it is called may be a link.
///
/// # Errors
/// When it cannot be opened, is no regular file, belongs to somebody else than us or root, or may be changed
/// by everybody.
pub fn open_program(path: &std::path::Path) -> io::Result<OwnedFd> {
    let file =
        rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
    let meta = rustix::fs::fstat(&file)?;
    let is_ours = [0, rustix::process::geteuid().as_raw()].contains(&meta.st_uid);
    let is_regular = rustix::fs::FileType::from_raw_mode(meta.st_mode).is_file();
    if !is_ours || !is_regular || meta.st_mode & 0o002 != 0 {
        let why = "it is no program of this user or of root that only they may change";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    // The standard descriptors are about to be somebody else's.
    Ok(fcntl_dupfd_cloexec(&file, 3)?)
}

#[cfg(test)]
mod tests;
