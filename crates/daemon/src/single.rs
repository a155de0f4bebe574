//! One daemon per state root: a kernel lock decides, a registration says where it is.
//!
//! Liveness is an authenticated handshake, never a pid. The lock ends with its process, so a stale
//! registration never keeps a new daemon from starting.

use std::{io, path::PathBuf, time::Duration};

use stdx::{lock::Lock, secret::Secret, state_file};
use vocab::limits::{DAEMON_LOCK_DYING_MS, STATE_FILE_BYTES_MAX};

use crate::paths::Paths;

/// How long is waited between two looks at a lock that a dead process took.
const LOOK_AGAIN_MS: u64 = 5;
/// Bytes of randomness in a credential.
const CREDENTIAL_BYTES: usize = 32;

/// The right to be the daemon of a state root.
#[derive(Debug)]
pub struct Claim {
    paths: Paths,
    _lock: Lock,
}

impl Claim {
    /// Takes the lock; none when another daemon holds it. One that a daemon which died had is waited for, since a
    /// child that was just being born has it for a moment longer. Blocks the thread for that, for a bounded time.
    ///
    /// # Errors
    /// When the directories or the lock file are not ours alone.
    pub fn take(paths: &Paths) -> io::Result<Option<Self>> {
        paths.prepare()?;
        let path = paths.lock();
        for _ in 0..=DAEMON_LOCK_DYING_MS / LOOK_AGAIN_MS {
            if let Some(lock) = Lock::try_acquire(&path)? {
                return Ok(Some(Self { paths: paths.clone(), _lock: lock }));
            }
            if Lock::is_taker_alive(&path) {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(LOOK_AGAIN_MS));
        }
        Ok(None)
    }

    /// Takes the lock as soon as nobody else holds it. Blocks the thread; whoever started us bounds it.
    ///
    /// # Errors
    /// When the directories or the lock file are not ours alone.
    pub fn wait(paths: &Paths) -> io::Result<Self> {
        paths.prepare()?;
        Ok(Self { paths: paths.clone(), _lock: Lock::acquire(&paths.lock())? })
    }

    /// Publishes where the daemon is; readers see the whole registration or none. On a full disk it stands
    /// beside the socket.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn publish(&self, registration: &[u8]) -> io::Result<()> {
        let (usual, beside) = (self.paths.registration(), beside_socket(&self.paths));
        match state_file::publish(&usual, registration) {
            Err(error) if state_file::is_full(&error) => {
                // One of a daemon that died would be found first.
                state_file::remove(&usual)?;
                state_file::publish(&beside, registration)
            }
            published => {
                state_file::remove(&beside)?;
                published
            }
        }
    }

    /// Takes the registration back. Only the holder of the lock does, so it is its own.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn withdraw(&self) -> io::Result<()> {
        let usual = state_file::remove(&self.paths.registration());
        state_file::remove(&beside_socket(&self.paths))?;
        usual.map(drop)
    }
}

/// Reads the registration; none where no daemon has published any.
///
/// # Errors
/// When it cannot be read, or is not ours alone.
pub fn registration(paths: &Paths) -> io::Result<Option<Vec<u8>>> {
    match state_file::read(&paths.registration(), STATE_FILE_BYTES_MAX)? {
        Some(bytes) => Ok(Some(bytes)),
        None => state_file::read(&beside_socket(paths), STATE_FILE_BYTES_MAX),
    }
}

/// Says where the registration stands when the state directory has no room for it.
fn beside_socket(paths: &Paths) -> PathBuf {
    let mut name = paths.socket().into_os_string();
    name.push(".json");
    PathBuf::from(name)
}

/// Tells whether the process `pid` is the daemon of this state root: whether it holds the lock.
#[must_use]
pub fn is_daemon(paths: &Paths, pid: u32) -> bool {
    Lock::is_held_by(&paths.lock(), pid)
}

/// Reads the credential, making it first if it is missing.
///
/// # Errors
/// When it cannot be read or written, or is not ours alone.
pub fn credential(paths: &Paths) -> io::Result<Secret> {
    if let Some(bytes) = state_file::read(&paths.credential(), STATE_FILE_BYTES_MAX)? {
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if text.len() >= CREDENTIAL_BYTES {
            return Ok(Secret::new(text));
        }
    }
    let mut random = [0_u8; CREDENTIAL_BYTES];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    state_file::publish(&paths.credential(), text.as_bytes())?;
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests;
