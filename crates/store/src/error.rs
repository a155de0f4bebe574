//! What can go wrong with the store, and whether it changed anything.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use vocab::outcome::{Effect, Failure};

use crate::cursor::Cursor;

/// A failure of the store. Clonable, since one failed commit is told to every member of its group.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// The file system has no room.
    #[error("no space left for the store")]
    Full {
        /// Whether the change may have been stored.
        effect: Effect,
    },
    /// The disk or the database engine failed.
    #[error("the store's disk failed: {detail}")]
    Io {
        /// What the engine said.
        detail: String,
        /// Whether the change may have been stored.
        effect: Effect,
    },
    /// What is stored cannot be what was written.
    #[error("the store is damaged: {detail}")]
    Corrupt {
        /// What was found.
        detail: String,
        /// Whether the change may have been stored.
        effect: Effect,
    },
    /// It was told to stop before it was open.
    #[error("opening the store was stopped; the next start begins anew")]
    Stopped,
    /// Another process holds the database.
    #[error("another process holds the store")]
    Busy,
    /// A newer program wrote the database.
    #[error("the store has schema {found}, this program knows up to {known}")]
    Newer {
        /// The schema found.
        found: u32,
        /// The newest schema this program knows.
        known: u32,
    },
    /// A later start of a daemon owns the store.
    #[error("epoch {held} is over, the store is at {current}")]
    StaleEpoch {
        /// What the writer held.
        held: u64,
        /// What the store is at.
        current: u64,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The writer or a reader met a bug of ours in the middle of it.
    #[error("the store broke off before it answered")]
    Broken {
        /// Whether the change may have been stored.
        effect: Effect,
    },
    /// There is no such thing.
    #[error("no {what} {id:?}")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
        /// What was asked for.
        id: String,
    },
    /// The change does not fit what is stored.
    #[error("{what}")]
    Conflict {
        /// Which rule it breaks.
        what: String,
    },
    /// The facts after this cursor are no longer all there.
    #[error("the cursor is older than the oldest kept fact; the oldest valid one is {oldest}")]
    CursorExpired {
        /// The oldest cursor that still works.
        oldest: Cursor,
    },
    /// The files of the store are not private.
    #[error("{detail}")]
    NotPrivate {
        /// Which file, and the command that mends it.
        detail: String,
    },
    /// The store's place cannot hold a database.
    #[error("{} lies on {kind}, where the database cannot work; choose a local directory", path.display())]
    NetworkFileSystem {
        /// Where.
        path: PathBuf,
        /// Which kind of file system.
        kind: &'static str,
    },
    /// A value is larger than the store takes.
    #[error("{what} is larger than {bytes_max} bytes")]
    TooLarge {
        /// What.
        what: &'static str,
        /// The bound.
        bytes_max: usize,
    },
}

impl StoreError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Full { .. } => "disk_full",
            Self::Io { .. } => "store_io",
            Self::Corrupt { .. } => "store_corrupt",
            Self::Stopped => "interrupted",
            Self::Busy => "store_busy",
            Self::Newer { .. } => "store_newer",
            Self::StaleEpoch { .. } => "stale_epoch",
            Self::Closed => "store_closed",
            Self::Broken { .. } => "store_broken",
            Self::NotFound { .. } => "not_found",
            Self::Conflict { .. } => "conflict",
            Self::CursorExpired { .. } => "cursor_expired",
            Self::NotPrivate { .. } => "store_not_private",
            Self::NetworkFileSystem { .. } => "store_on_network",
            Self::TooLarge { .. } => "too_large",
        }
    }

    /// Tells whether the change was stored.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Full { effect }
            | Self::Io { effect, .. }
            | Self::Corrupt { effect, .. }
            | Self::Broken { effect } => *effect,
            Self::Stopped
            | Self::Busy
            | Self::Newer { .. }
            | Self::StaleEpoch { .. }
            | Self::Closed
            | Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::CursorExpired { .. }
            | Self::NotPrivate { .. }
            | Self::NetworkFileSystem { .. }
            | Self::TooLarge { .. } => Effect::NotStarted,
        }
    }

    /// Restates the effect of a failure of the disk; the refusals have only one.
    pub(crate) fn with_effect(mut self, now: Effect) -> Self {
        if let Self::Full { effect } | Self::Io { effect, .. } | Self::Corrupt { effect, .. } =
            &mut self
        {
            *effect = now;
        }
        self
    }

    /// Tells whether the storage failed, in contrast to a change that was refused.
    pub(crate) fn is_storage(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Io { .. } | Self::Corrupt { .. } | Self::Busy)
    }

    /// Tells whether the same may succeed later without anybody's doing.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Io { .. } | Self::Busy | Self::Broken { .. })
    }

    pub(crate) fn conflict(what: impl Into<String>) -> Self {
        Self::Conflict { what: what.into() }
    }

    pub(crate) fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into().chars().take(200).collect() }
    }

    pub(crate) fn corrupt(detail: impl Into<String>) -> Self {
        Self::Corrupt { detail: detail.into(), effect: Effect::NotStarted }
    }

    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Self {
        let detail = format!("{}: {error}", path.display());
        if error.kind() == std::io::ErrorKind::PermissionDenied {
            Self::NotPrivate { detail: error.to_string() }
        } else if stdx::state_file::is_full(error) {
            Self::Full { effect: Effect::NotStarted }
        } else {
            Self::Io { detail, effect: Effect::NotStarted }
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let effect = Effect::NotStarted;
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { effect },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { detail: error.to_string(), effect }
            }
            Some(ErrorCode::OperationInterrupted) => Self::Stopped,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::TooBig) => {
                Self::TooLarge { what: "a value", bytes_max: vocab::limits::STORE_BATCH_BYTES_MAX }
            }
            _ => Self::Io { detail: error.to_string(), effect },
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let failure = Self::new(error.code(), error.effect(), error.to_string());
        if matches!(error, StoreError::Full { .. }) {
            failure.with_hint("free some space and try again")
        } else if matches!(error, StoreError::Newer { .. }) {
            failure.with_hint("use the newer program, or the copy made before it migrated")
        } else if matches!(error, StoreError::Corrupt { .. }) {
            failure.with_hint(
                "stop the daemon; the next start checks the database and sets it aside if it is damaged",
            )
        } else {
            failure
        }
    }
}

impl From<tokio::sync::oneshot::error::RecvError> for StoreError {
    /// The writer took it and never answered: its commit may have come before the end, or not.
    fn from(_: tokio::sync::oneshot::error::RecvError) -> Self {
        Self::Broken { effect: Effect::Indeterminate }
    }
}

impl From<tokio::sync::AcquireError> for StoreError {
    /// A closed store lets nobody queue.
    fn from(_: tokio::sync::AcquireError) -> Self {
        Self::Closed
    }
}
