//! A kernel lock on a stable file. It ends with the process that holds it, however that ends.

#![expect(clippy::disallowed_methods, reason = "reads /proc, which holds no user's file")]

use std::{
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    },
    path::Path,
    sync::{Mutex, PoisonError},
};

use crate::state_file;

/// Whoever looks at a lock has it for that moment, and must not be taken for its holder: whoever looks and whoever
/// takes one wait here for each other, for as long as a system call takes.
static TURN: Mutex<()> = Mutex::new(());

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
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Tells whether somebody holds the lock, this process included. It is shared for a moment to find that
    /// out, in which nobody of this process tries to take it. A file that is missing is held by nobody.
    ///
    /// # Errors
    /// When the file cannot be opened, or is no file.
    pub fn is_held(path: &Path) -> io::Result<bool> {
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let file = match fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        match file.try_lock_shared() {
            // Let go of by name: a child that is being born meanwhile has the file open for a moment longer.
            Ok(()) => file.unlock().map(|()| false),
            Err(std::fs::TryLockError::WouldBlock) => Ok(true),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns another process of ours that holds the lock, also where it was handed on to it: the kernel lists
    /// who took a lock, and beside each open file whether that holds one.
    #[must_use]
    pub fn holder(path: &Path) -> Option<u32> {
        let wanted = fs::symlink_metadata(path).ok()?;
        let name = path.file_name()?;
        let is_it = |link: &Path| {
            // By its name first: asking a strange file system what a file is may take for ever.
            fs::read_link(link).is_ok_and(|target| target.file_name() == Some(name))
                && fs::metadata(link)
                    .is_ok_and(|met| (met.dev(), met.ino()) == (wanted.dev(), wanted.ino()))
        };
        let pids = fs::read_dir("/proc").ok()?.flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != std::process::id()).find(|pid| {
            let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
            let mut found = open.flatten().filter(|entry| is_it(&entry.path()));
            // Whoever reads the file, to save it or to search in it, has it open as well.
            found.any(|entry| {
                let info = Path::new("/proc").join(pid.to_string()).join("fdinfo");
                fs::read_to_string(info.join(entry.file_name())).is_ok_and(|info| holds(&info))
            })
        })
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

/// Tells whether what the kernel says of an open file names a lock that it holds.
fn holds(info: &str) -> bool {
    // "lock:	1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"; one that is looked at is held to READ.
    let locks = info.lines().filter_map(|line| line.strip_prefix("lock:"));
    locks
        .map(|lock| lock.split_ascii_whitespace())
        .any(|mut lock| (lock.nth(1), lock.nth(1)) == (Some("FLOCK"), Some("WRITE")))
}

impl From<Lock> for OwnedFd {
    /// Hands the lock on: it lasts as long as somebody has the file open.
    fn from(lock: Lock) -> Self {
        lock.0.into()
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

    #[test]
    fn who_holds_a_lock_is_told_also_when_it_was_handed_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!Lock::is_held(&path).unwrap() && !path.exists());
        let lock = Lock::try_acquire(&path).unwrap().unwrap();
        assert!(Lock::is_held(&path).unwrap());
        assert_eq!(Lock::holder(&path), None, "this process is not another one");
        // Nor is one that has the file open and nothing more, whichever is asked first.
        let reads = || {
            let open = std::process::Stdio::from(File::open(&path).unwrap());
            std::process::Command::new("sleep").arg("1000").stdin(open).spawn().unwrap()
        };
        let mut readers = vec![reads()];
        assert_eq!(Lock::holder(&path), None);
        let handed = std::process::Stdio::from(OwnedFd::from(lock));
        let mut child =
            std::process::Command::new("sleep").arg("1000").stdin(handed).spawn().unwrap();
        readers.push(reads());
        assert!(Lock::is_held(&path).unwrap());
        assert_eq!(Lock::holder(&path), Some(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!Lock::is_held(&path).unwrap());
        assert_eq!(Lock::holder(&path), None);
        for mut reader in readers {
            reader.kill().unwrap();
            reader.wait().unwrap();
        }
    }
}
