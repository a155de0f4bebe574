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
    fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags},
    io::Errno,
};

/// Whether `openat2` is there. Old kernels and some container filters hide it.
static OPENAT2: AtomicBool = AtomicBool::new(true);

/// Opens one name in a directory without following it. `mounts` allows that it is a mount point.
pub(crate) fn step(
    dir: impl AsFd,
    name: &OsStr,
    flags: OFlags,
    mounts: bool,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if OPENAT2.load(Ordering::Relaxed) {
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        if !mounts {
            resolve |= ResolveFlags::NO_XDEV;
        }
        match rustix::fs::openat2(&dir, name, flags, Mode::empty(), resolve) {
            // A filter answers EPERM for every call; a file that denies access answers EACCES, or
            // EPERM again below, where it is reported.
            Err(Errno::NOSYS) => OPENAT2.store(false, Ordering::Relaxed),
            Err(Errno::PERM) => {}
            other => return other,
        }
    }
    let opened = rustix::fs::openat(&dir, name, flags, Mode::empty())?;
    if !mounts && mount_of(dir.as_fd())? != mount_of(opened.as_fd())? {
        return Err(Errno::XDEV);
    }
    Ok(opened)
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
