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
        takers(path).contains(&pid)
    }

    /// Tells whether whoever took the lock lives, as far as the kernel lists it. Where nobody does, a child that is
    /// being born when its parent is killed has it open, until it is the program that it is to be.
    #[must_use]
    pub fn is_taker_alive(path: &Path) -> bool {
        let lives = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
            !matches!(state, None | Some('Z' | 'X'))
        };
        takers(path).iter().any(lives)
    }
}

/// Returns the processes that the kernel lists as those who took the lock.
fn takers(path: &Path) -> Vec<u32> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Vec::new() };
    let inode = format!(":{}", meta.ino());
    let held = fs::read_to_string("/proc/locks").unwrap_or_default();
    // "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"; one that waits has "->" after its number.
    let taker = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = fields.get(1) == Some(&"FLOCK")
            && fields.get(5).is_some_and(|file| file.ends_with(&inode));
        fields.get(4).filter(|_| is_it)?.parse().ok()
    };
    held.lines().filter_map(taker).collect()
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
mod tests;
