//! Why a place could not be reached or changed, and whether anything changed.
//!
//! The path in a message is the one asked for, printable; nothing of the machine around the root is
//! told.

use rustix::io::Errno;
use vocab::{
    outcome::{Effect, Failure},
    path::PathError,
};

/// Why it did not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A `..` or a link leads out of the root.
    #[error("leads outside the workspace")]
    Outside,
    /// The text is no path of this workspace.
    #[error(transparent)]
    Text(#[from] PathError),
    /// Nothing is there.
    #[error("no such file or directory")]
    NotFound,
    /// Something on the way is no directory.
    #[error("not a directory")]
    NotADirectory,
    /// A file was wanted.
    #[error("is a directory")]
    IsADirectory,
    /// A pipe, socket or device.
    #[error("not a regular file")]
    NotARegularFile,
    /// The system says no.
    #[error("permission denied")]
    PermissionDenied,
    /// It is Stead's own.
    #[error("belongs to the daemon itself and is closed to tools")]
    Protected,
    /// Another file system is mounted there and the grant to cross is missing.
    #[error("lies on another mount")]
    OtherMount,
    /// The kernel shows processes there.
    #[error("shows processes, not files, and is closed to tools")]
    Processes,
    /// The tree changed under the walk again and again.
    #[error("keeps changing while it is being opened")]
    Busy,
    /// The place is no longer the one that was resolved.
    #[error("changed while it was being written")]
    Changed,
    /// Too many requests wait for the same file.
    #[error("too many requests wait for this file")]
    LaneFull,
    /// Links lead to links without end.
    #[error("too many symbolic links")]
    TooManyLinks,
    /// Links lead deeper than a path may.
    #[error("lies too deep")]
    TooDeep,
    /// It may only be made, not replaced.
    #[error("already exists")]
    Exists,
    /// The content is not what the caller expects to replace.
    #[error("is not the version that was expected")]
    Stale,
    /// The file system takes no writes.
    #[error("read-only file system")]
    ReadOnly,
    /// The disk or the quota is full.
    #[error("no space left on device")]
    NoSpace,
    /// A name is longer than the file system allows.
    #[error("name too long")]
    NameTooLong,
    /// A directory holds more names than are sorted.
    #[error("the directory holds too many entries")]
    TooManyEntries,
    /// The process has no handle left.
    #[error("too many open files")]
    TooManyOpen,
    /// Anything else the system says.
    #[error("{0}")]
    Io(String),
}

impl From<Errno> for Reason {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::ISDIR => Self::IsADirectory,
            Errno::ACCESS | Errno::PERM => Self::PermissionDenied,
            Errno::XDEV => Self::OtherMount,
            Errno::AGAIN => Self::Busy,
            Errno::LOOP => Self::TooManyLinks,
            Errno::EXIST => Self::Exists,
            Errno::ROFS => Self::ReadOnly,
            Errno::NOSPC | Errno::DQUOT => Self::NoSpace,
            Errno::NAMETOOLONG => Self::NameTooLong,
            Errno::MFILE | Errno::NFILE => Self::TooManyOpen,
            // What `open` says of a socket, and of a pipe or device nobody serves.
            Errno::NXIO | Errno::NODEV => Self::NotARegularFile,
            other => Self::Io(std::io::Error::from(other).to_string()),
        }
    }
}

impl From<std::io::Error> for Reason {
    fn from(error: std::io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Self::Io(error.to_string()),
        }
    }
}

/// A failure at a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct ConfineError {
    /// What was asked for, printable.
    pub path: String,
    /// Why it did not work.
    pub reason: Reason,
    effect: Effect,
}

impl ConfineError {
    /// Builds one about a path that nothing was changed at.
    #[must_use]
    pub fn new(path: &impl ToString, reason: impl Into<Reason>) -> Self {
        Self { path: path.to_string(), reason: reason.into(), effect: Effect::NotStarted }
    }

    pub(crate) fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match &self.reason {
            Reason::Outside => "path_outside_root",
            Reason::Text(error) => error.code(),
            Reason::NotFound => "not_found",
            Reason::NotADirectory => "not_a_directory",
            Reason::IsADirectory => "is_a_directory",
            Reason::NotARegularFile => "not_a_regular_file",
            Reason::PermissionDenied => "permission_denied",
            Reason::Protected | Reason::Processes => "protected",
            Reason::OtherMount => "other_mount",
            Reason::Busy | Reason::LaneFull => "busy",
            Reason::Changed => "path_changed",
            Reason::TooManyLinks => "too_many_links",
            Reason::Exists => "already_exists",
            Reason::Stale => "stale_content",
            Reason::ReadOnly => "read_only",
            Reason::NoSpace => "no_space",
            Reason::NameTooLong | Reason::TooDeep => "path_too_long",
            Reason::TooManyEntries => "too_many_entries",
            Reason::TooManyOpen => "too_many_open_files",
            Reason::Io(_) => "io",
        }
    }

    /// Tells whether the world changed.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the next step, where somebody can take one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match &self.reason {
            Reason::Text(error) => error.hint(),
            Reason::Outside => Some("only files below the workspace root can be reached"),
            Reason::OtherMount => Some("serve the workspace with --allow-mounts to cross mounts"),
            Reason::Busy | Reason::Changed | Reason::LaneFull => Some("try again"),
            Reason::Stale => Some("read the file again and repeat the change"),
            Reason::NoSpace => Some("free some space and try again"),
            Reason::NotFound
            | Reason::NotADirectory
            | Reason::IsADirectory
            | Reason::NotARegularFile
            | Reason::PermissionDenied
            | Reason::Protected
            | Reason::Processes
            | Reason::TooManyLinks
            | Reason::TooDeep
            | Reason::Exists
            | Reason::ReadOnly
            | Reason::NameTooLong
            | Reason::TooManyEntries
            | Reason::TooManyOpen
            | Reason::Io(_) => None,
        }
    }
}

impl From<ConfineError> for Failure {
    fn from(error: ConfineError) -> Self {
        // A refused text already names itself.
        let message = if let Reason::Text(text) = &error.reason {
            text.to_string()
        } else {
            error.to_string()
        };
        let failure = Self::new(error.code(), error.effect, message);
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}

pub(crate) type Result<T, E = Reason> = std::result::Result<T, E>;
