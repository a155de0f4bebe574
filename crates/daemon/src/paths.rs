//! Where Stead's own files are. Nothing here is ever reachable by a tool.

use std::{
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use stdx::state_file;
use vocab::limits::SOCKET_PATH_BYTES_MAX;

/// The directories of one state root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// State: database, registration, credential, keys, artifacts.
    pub home: PathBuf,
    /// Sockets.
    pub runtime: PathBuf,
    /// The name of the daemon's socket there: other state roots may share the directory.
    pub socket_name: String,
    /// The configuration file; it may be missing.
    pub config: PathBuf,
}

/// The name of the socket where nobody else's can be.
pub const SOCKET_NAME: &str = "daemon.sock";

impl Paths {
    /// Returns the name that the socket of a state root has in a directory that it shares with others.
    #[must_use]
    pub fn shared_socket_name(home: &Path) -> String {
        let hash = Sha256::digest(home.as_os_str().as_bytes());
        let short: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        format!("daemon-{short}.sock")
    }

    /// Makes the directories, or checks those that are there.
    ///
    /// # Errors
    /// When one cannot be made, is not ours alone, or the socket's path would be too long.
    pub fn prepare(&self) -> io::Result<()> {
        for dir in [&self.home, &self.runtime, &self.secrets(), &self.artifacts(), &self.logs()] {
            state_file::ensure_dir(dir)?;
        }
        let socket = self.socket();
        if socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            let text = format!(
                "{} is longer than a socket's path may be; set STEAD_RUNTIME_DIR to a shorter directory",
                socket.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(())
    }

    /// Returns the database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.home.join("stead.db")
    }

    /// Returns the file whose kernel lock decides who is the daemon.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.home.join("daemon.lock")
    }

    /// Returns the registration.
    #[must_use]
    pub fn registration(&self) -> PathBuf {
        self.home.join("daemon.json")
    }

    /// Returns the credential for loopback TCP.
    #[must_use]
    pub fn credential(&self) -> PathBuf {
        self.home.join("daemon.credential")
    }

    /// Returns the directory of providers' keys.
    #[must_use]
    pub fn secrets(&self) -> PathBuf {
        self.home.join("secrets")
    }

    /// Returns the list of workspaces that were added.
    #[must_use]
    pub fn workspaces(&self) -> PathBuf {
        self.home.join("workspaces.json")
    }

    /// Returns the directory of full outputs.
    #[must_use]
    pub fn artifacts(&self) -> PathBuf {
        self.home.join("artifacts")
    }

    /// Returns the directory of logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.home.join("logs")
    }

    /// Returns the log of the daemon.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.logs().join("daemon.log")
    }

    /// Returns the file of what the daemon writes to standard error: words of a process that cannot log.
    #[must_use]
    pub fn errors(&self) -> PathBuf {
        self.logs().join("daemon.err")
    }

    /// Returns the daemon's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.runtime.join(&self.socket_name)
    }

    /// Returns the file of language servers, where the configuration names no other one.
    #[must_use]
    pub fn servers(&self) -> PathBuf {
        self.config.with_file_name("lsp.toml")
    }

    /// Returns what no tool may reach, wherever its workspace lies: the configuration's directory too
    /// where that is Stead's own, else its files alone.
    #[must_use]
    pub fn protected(&self) -> Vec<PathBuf> {
        let own =
            self.config.parent().filter(|dir| dir.file_name().is_some_and(|name| name == "stead"));
        let mut all = vec![self.home.clone(), self.runtime.clone()];
        match own {
            Some(dir) => all.push(dir.to_path_buf()),
            None => all.extend([self.config.clone(), self.servers()]),
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_roots_that_share_a_directory_have_sockets_of_their_own() {
        let name = |home: &str| Paths::shared_socket_name(Path::new(home));
        assert_eq!(name("/a/stead"), name("/a/stead"));
        assert_ne!(name("/a/stead"), name("/b/stead"));
        assert_ne!(name("/a/stead"), SOCKET_NAME);
        // The usual directories leave room for it, also for the longest user id.
        let dir = format!("/run/user/{}/stead", u32::MAX);
        assert!(dir.len() + 1 + name("/a").len() <= SOCKET_PATH_BYTES_MAX / 2);
    }
}
