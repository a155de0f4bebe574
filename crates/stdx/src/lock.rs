//! A kernel lock on a stable file. It ends with the process that holds it, however that ends.

use std::{fs::File, io, path::Path, sync::mpsc, time::Duration};

use crate::state_file;

/// A held lock; dropping it releases it.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Lock {
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

    /// Takes the lock, waiting so long for whoever holds it to end.
    ///
    /// # Errors
    /// When the file cannot be opened or is not ours alone.
    pub fn acquire_within(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
        let file = state_file::open_or_create(path)?;
        let (sender, taken) = mpsc::sync_channel(1);
        // The kernel has no lock with a deadline. A thread that is given up on drops what it gets.
        std::thread::spawn(move || sender.send(file.lock().map(|()| file)));
        match taken.recv_timeout(limit) {
            Ok(taken) => taken.map(|file| Some(Self(file))),
            Err(_) => Ok(None),
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

    #[test]
    fn a_wait_for_a_lock_ends_with_its_holder_or_at_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = Lock::try_acquire(&path).unwrap();
        let short = Duration::from_millis(10);
        assert!(Lock::acquire_within(&path, short).unwrap().is_none());
        let holder = std::thread::spawn(move || drop(first));
        assert!(Lock::acquire_within(&path, Duration::from_secs(60)).unwrap().is_some());
        holder.join().unwrap();
    }
}
