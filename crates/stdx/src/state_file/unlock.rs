//! Makes the directories of a tree changeable for us, so that it can be removed.
//!
//! Each is reached from its parent by handle, so no link leads elsewhere. Files are left as they are: to
//! remove one, only its directory must be changeable.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, AsRawFd},
    path::Path,
};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags};

/// Gives us all rights on the directories of a tree that are ours. Others are left out.
pub(super) fn tree(path: &Path) -> io::Result<()> {
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    below(CWD, &name)
}

fn below(parent: impl AsFd, name: &CStr) -> io::Result<()> {
    // A handle that needs no right on the directory itself.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
        Ok(dir) => dir,
        // A link, a file, or gone meanwhile.
        Err(rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP | rustix::io::Errno::NOENT) => {
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let stat = rustix::fs::fstat(&dir)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if !mode.contains(Mode::RWXU) {
        // The kernel changes no mode through such a handle, and does through its name in /proc.
        rustix::fs::chmod(format!("/proc/self/fd/{}", dir.as_raw_fd()), mode | Mode::RWXU)?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = rustix::fs::openat(&dir, c".", flags, Mode::empty())?;
    for entry in Dir::new(entries)? {
        let entry = entry?;
        let name = entry.file_name();
        let may_be_dir = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if may_be_dir && name != c"." && name != c".." {
            below(&dir, name)?;
        }
    }
    Ok(())
}
