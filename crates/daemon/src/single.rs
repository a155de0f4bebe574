//! One daemon per state root: a kernel lock decides, a registration says where it is.
//!
//! Liveness is an authenticated handshake, never a pid. The lock ends with its process, so a stale
//! registration never keeps a new daemon from starting.

use std::io;

use stdx::{lock::Lock, secret::Secret, state_file};
use vocab::limits::STATE_FILE_BYTES_MAX;

use crate::paths::Paths;

/// Bytes of randomness in a credential.
const CREDENTIAL_BYTES: usize = 32;

/// The right to be the daemon of a state root.
#[derive(Debug)]
pub struct Claim {
    paths: Paths,
    _lock: Lock,
}

impl Claim {
    /// Takes the lock; none when another daemon holds it.
    ///
    /// # Errors
    /// When the directories or the lock file are not ours alone.
    pub fn take(paths: &Paths) -> io::Result<Option<Self>> {
        paths.prepare()?;
        let Some(lock) = Lock::try_acquire(&paths.lock())? else { return Ok(None) };
        Ok(Some(Self { paths: paths.clone(), _lock: lock }))
    }

    /// Takes the lock as soon as nobody else holds it. Blocks the thread; whoever started us bounds it.
    ///
    /// # Errors
    /// When the directories or the lock file are not ours alone.
    pub fn wait(paths: &Paths) -> io::Result<Self> {
        paths.prepare()?;
        Ok(Self { paths: paths.clone(), _lock: Lock::acquire(&paths.lock())? })
    }

    /// Publishes where the daemon is; readers see the whole registration or none.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn publish(&self, registration: &[u8]) -> io::Result<()> {
        state_file::publish(&self.paths.registration(), registration)
    }

    /// Takes the registration back. Only the holder of the lock does, so it is its own.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn withdraw(&self) -> io::Result<()> {
        state_file::remove(&self.paths.registration())?;
        state_file::remove(&self.paths.socket())?;
        Ok(())
    }
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
mod tests {
    use super::*;

    #[test]
    fn one_claim_at_a_time_and_the_credential_stays() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths {
            home: dir.path().join("home"),
            runtime: dir.path().join("run"),
            config: dir.path().join("config.toml"),
        };
        let first = Claim::take(&paths).unwrap().unwrap();
        assert!(Claim::take(&paths).unwrap().is_none());
        first.publish(b"{}").unwrap();
        let one = credential(&paths).unwrap();
        assert!(credential(&paths).unwrap().matches(one.expose().as_bytes()));
        first.withdraw().unwrap();
        drop(first);
        assert!(Claim::take(&paths).unwrap().is_some());
    }
}
