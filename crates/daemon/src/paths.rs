//! Where Stead's own files are. Nothing here is ever reachable by a tool.

use std::{
    io,
    path::{Path, PathBuf},
};

use stdx::state_file;
use vocab::limits::SOCKET_PATH_BYTES_MAX;

/// The directories of one state root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// State: database, registration, credential, keys, artifacts.
    pub home: PathBuf,
    /// Sockets.
    pub runtime: PathBuf,
    /// The configuration file; it may be missing.
    pub config: PathBuf,
}

impl Paths {
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
        self.runtime.join("daemon.sock")
    }

    /// Returns what no tool may reach, wherever its workspace lies: the configuration's directory too
    /// where that is Stead's own, else the file alone.
    #[must_use]
    pub fn protected(&self) -> Vec<PathBuf> {
        let own =
            self.config.parent().filter(|dir| dir.file_name().is_some_and(|name| name == "stead"));
        let config = own.map_or_else(|| self.config.clone(), Path::to_path_buf);
        vec![self.home.clone(), self.runtime.clone(), config]
    }
}
