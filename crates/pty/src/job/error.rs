//! What failures about a job's files are called.

use stdx::state_file;
use vocab::outcome::Effect;

use super::FilesError;

impl FilesError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing(_) => "job_not_found",
            Self::Malformed { .. } => "job_malformed",
            Self::Newer { .. } => "job_newer",
            Self::Refused(_) => "job_refused",
            Self::SocketPath(_) => "socket_path_too_long",
            Self::TooLong => "command_too_long",
            Self::Io(error) if state_file::is_full(error) => "disk_full",
            Self::Io(_) => "job_files_unusable",
        }
    }

    /// Returns what changed: nothing, since files are published whole.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}
