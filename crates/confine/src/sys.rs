//! The system calls of the walk, one step at a time.
//!
//! A step never follows a link and never leaves the directory it starts from; `openat2` makes the
//! kernel enforce that, and where it is missing a single name opened without following is the same.

use std::{
    ffi::OsStr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, StatxFlags},
    io::Errno,
};

use crate::error::{Reason, Result};

/// Whether `openat2` is there. Old kernels and some container filters hide it.
static OPENAT2: AtomicBool = AtomicBool::new(true);

/// A name that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) fd: OwnedFd,
    /// Whether something is mounted there.
    pub(crate) crossed: bool,
}

/// Opens one name in a directory without following it. `mounts` allows that it is a mount point, of
/// anything but processes.
pub(crate) fn step(dir: impl AsFd, name: &OsStr, flags: OFlags, mounts: bool) -> Result<Opened> {
    let opened = open(dir, name, flags, mounts)?;
    if opened.crossed {
        check_files(&opened.fd)?;
    }
    Ok(opened)
}

/// Refuses what shows processes: below `self` it is this one, with its memory and every root it can see.
pub(crate) fn check_files(fd: impl AsFd) -> Result<()> {
    let found = rustix::fs::fstatfs(fd)?.f_type;
    if found == PROC_SUPER_MAGIC { Err(Reason::Processes) } else { Ok(()) }
}

fn open(dir: impl AsFd, name: &OsStr, flags: OFlags, mounts: bool) -> Result<Opened, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if OPENAT2.load(Ordering::Relaxed) {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let within = resolve | ResolveFlags::NO_XDEV;
        match rustix::fs::openat2(&dir, name, flags, Mode::empty(), within) {
            Err(Errno::NOSYS) => OPENAT2.store(false, Ordering::Relaxed),
            // A container's filter answers so for every call; the plain call below tells.
            Err(Errno::PERM) => {}
            Err(Errno::XDEV) if mounts => {
                let fd = rustix::fs::openat2(&dir, name, flags, Mode::empty(), resolve)?;
                return Ok(Opened { fd, crossed: true });
            }
            other => return other.map(|fd| Opened { fd, crossed: false }),
        }
    }
    let fd = rustix::fs::openat(&dir, name, flags, Mode::empty())?;
    let crossed = mount_of(dir.as_fd())? != mount_of(fd.as_fd())?;
    if crossed && !mounts {
        return Err(Errno::XDEV);
    }
    Ok(Opened { fd, crossed })
}

#[cfg(test)]
pub(crate) fn pretend_openat2_is_missing(missing: bool) {
    OPENAT2.store(!missing, Ordering::Relaxed);
}

/// Identifies the mount a handle lies on. Kernels without mount ids tell devices apart only.
fn mount_of(fd: BorrowedFd<'_>) -> Result<(u64, u32, u32), Errno> {
    let wanted = StatxFlags::from_bits_retain(StatxFlags::BASIC_STATS.bits() | libc::STATX_MNT_ID);
    let found = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, wanted)?;
    let id = if found.stx_mask & libc::STATX_MNT_ID == 0 { 0 } else { found.stx_mnt_id };
    Ok((id, found.stx_dev_major, found.stx_dev_minor))
}

/// Opens a directory handle again so that its entries can be read.
pub(crate) fn readable(dir: impl AsFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, c".", flags, Mode::empty())
}
