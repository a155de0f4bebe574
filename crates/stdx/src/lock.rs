//! A kernel lock on a stable file. It ends with the process that holds it, however that ends.

use std::{fs::File, io, path::Path};

use crate::state_file;

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

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
