//! A kernel lock on a stable file. It ends with the process that holds it, however that ends.

#![expect(clippy::disallowed_methods, reason = "reads /proc, which holds no user's file")]

use std::{
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::MetadataExt as _,
    },
    path::Path,
};

use crate::state_file;

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes the lock, waiting for whoever holds it.
    ///
    /// # Errors
    /// When the file cannot be opened or is not ours alone.
    pub fn acquire(path: &Path) -> io::Result<Self> {
        let file = state_file::open_or_create(path)?;
        file.lock()?;
        Ok(Self(file))
    }

    /// Takes the lock if nobody holds it.
    ///
    /// # Errors
    /// When the file cannot be opened or is not ours alone.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = state_file::open_or_create(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes over a lock that the program which this process was before has held: it lies on the open
    /// file, whoever has that.
    #[must_use]
    pub fn inherited(file: OwnedFd) -> Self {
        Self(file.into())
    }

    /// Tells whether a process holds the lock, as far as the kernel lists it; nothing is taken for it.
    ///
    /// The device is not compared: some file systems show another one there than to who looks.
    #[must_use]
    pub fn is_held_by(path: &Path, pid: u32) -> bool {
        let Ok(meta) = fs::symlink_metadata(path) else { return false };
        let (pid, inode) = (pid.to_string(), format!(":{}", meta.ino()));
        let held = fs::read_to_string("/proc/locks").unwrap_or_default();
        // "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"; one that waits has "->" after its number.
        held.lines().any(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            fields.get(1) == Some(&"FLOCK")
                && fields.get(4) == Some(&pid.as_str())
                && fields.get(5).is_some_and(|file| file.ends_with(&inode))
        })
    }
}

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_released_on_drop() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = Lock::try_acquire(&path).unwrap();
        assert!(first.is_some());
        assert!(Lock::try_acquire(&path).unwrap().is_none());
        drop(first);
        assert!(Lock::try_acquire(&path).unwrap().is_some());
    }
}
