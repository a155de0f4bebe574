//! Why a plan did not become a process. All of it happened before the program ran.

use std::io;

use vocab::outcome::{Effect, Failure};

use crate::spawn::{Step, Stillborn};

/// A plan did not become a process; nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scope has ended, so nothing may start in it.
    #[error("the run has ended, so nothing can be started in it")]
    ScopeEnded,
    /// Somebody asked to stop before it started.
    #[error("cancelled before it started")]
    Cancelled,
    /// No descriptor was left for pipes and handles.
    #[error("no file descriptor is left to start a command: {source}")]
    Descriptors {
        /// What the system said.
        source: io::Error,
    },
    /// The user or the machine has all the processes it may have.
    #[error("the machine cannot take another process: {source}")]
    TooManyProcesses {
        /// What the system said.
        source: io::Error,
    },
    /// The directory can no longer be entered.
    #[error("the working directory cannot be entered: {source}")]
    Cwd {
        /// What the system said.
        source: io::Error,
    },
    /// Arguments and environment together are larger than the kernel takes.
    #[error("the command and its environment are longer than the system allows: {source}")]
    TooLong {
        /// What the system said.
        source: io::Error,
    },
    /// The program is gone or cannot be executed.
    #[error("the program cannot be executed: {source}")]
    Program {
        /// What the system said.
        source: io::Error,
    },
    /// Something else went wrong between birth and program.
    #[error("the command could not be started: {source}")]
    Birth {
        /// What the system said.
        source: io::Error,
    },
}

impl RunError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ScopeEnded => "run_ended",
            Self::Cancelled => "cancelled",
            Self::Descriptors { .. } => "too_many_files",
            Self::TooManyProcesses { .. } => "too_many_processes",
            Self::Cwd { .. } => "cwd_missing",
            Self::TooLong { .. } => "command_too_long",
            Self::Program { .. } => "program_not_executable",
            Self::Birth { .. } => "spawn_failed",
        }
    }

    /// Returns what changed: nothing.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::not_started(error.code(), error.to_string())
    }
}

impl From<Stillborn> for RunError {
    fn from(stillborn: Stillborn) -> Self {
        let Stillborn { step, source } = stillborn;
        match (step, source.raw_os_error()) {
            (Step::Descriptors, _) => Self::Descriptors { source },
            (Step::Birth, Some(libc::EAGAIN | libc::ENOMEM)) => Self::TooManyProcesses { source },
            (Step::Directory, _) => Self::Cwd { source },
            (Step::Program, Some(libc::E2BIG)) => Self::TooLong { source },
            (Step::Program, _) => Self::Program { source },
            (Step::Birth | Step::Group | Step::Terminal, _) => Self::Birth { source },
        }
    }
}
