//! A policy proven realisable on this host. Its constructor is private: no child without a plan.
//!
//! What can be known before a child exists is found out here, so that a plan that fails has changed
//! nothing. What only the kernel knows at the last moment is told by [`crate::RunError`].

use std::{
    ffi::{CString, OsStr, OsString},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{FileType, fstat};
use stdx::program;
use vocab::{
    limits,
    outcome::{Effect, Failure},
};

use crate::{Environment, Host, Lifetime, Policy};

/// How a child is kept apart from the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Not at all: it can do what its user can.
    Bare,
}

/// Why a policy cannot be realised here. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The named program is not there or is no program.
    #[error("{program:?} is not an executable file, and no such program is in PATH")]
    ProgramMissing {
        /// As the policy named it.
        program: OsString,
    },
    /// There is no shell.
    #[error("no shell was found: {looked}")]
    ShellMissing {
        /// Where it was looked for.
        looked: String,
    },
    /// The directory is gone, or is none.
    #[error("the working directory no longer exists")]
    CwdMissing,
    /// The directory may not be entered, or cannot be looked at.
    #[error("the working directory cannot be used: {source}")]
    CwdUnusable {
        /// What the system said.
        source: io::Error,
    },
    /// A NUL byte stands in the program's name or an argument.
    #[error("the command contains a NUL byte, which no program can be given")]
    NulByte,
    /// The timeout is zero or beyond what the rest of the world can count.
    #[error("a timeout lies between 1 and {} ms", limits::CHILD_TIMEOUT_MS_MAX)]
    TimeoutOutOfRange,
    /// This machine lacks something nothing can be started safely without.
    #[error("this machine has no process handles (Linux 5.3 or later is needed)")]
    PidfdMissing,
}

impl PlanError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ProgramMissing { .. } => "program_missing",
            Self::ShellMissing { .. } => "shell_missing",
            Self::CwdMissing => "cwd_missing",
            Self::CwdUnusable { .. } => "cwd_unusable",
            Self::NulByte => "command_malformed",
            Self::TimeoutOutOfRange => "timeout_out_of_range",
            Self::PidfdMissing => "pidfd_missing",
        }
    }

    /// Returns what changed: nothing.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::not_started(error.code(), error.to_string())
    }
}

/// What will be started, checked. It can be started more than once.
#[derive(Debug)]
pub struct Plan {
    pub(crate) program: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) cwd: OwnedFd,
    pub(crate) environment: Environment,
    pub(crate) lifetime: Lifetime,
    pub(crate) timeout: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) output_bytes_max: u64,
    backend: Backend,
}

impl Plan {
    /// Proves that this host can do what the policy asks.
    ///
    /// # Errors
    /// When it cannot; nothing was started.
    pub fn realize(policy: Policy, host: &Host) -> Result<Self, PlanError> {
        if !host.pidfd {
            return Err(PlanError::PidfdMissing);
        }
        let longest = Duration::from_millis(limits::CHILD_TIMEOUT_MS_MAX);
        if policy.timeout.is_some_and(|timeout| timeout.is_zero() || timeout > longest) {
            return Err(PlanError::TimeoutOutOfRange);
        }
        check_cwd(&policy.cwd)?;
        let program = find_program(&policy.program, &policy.environment)
            .ok_or_else(|| PlanError::ProgramMissing { program: policy.program.clone() })?;
        let mut argv = vec![to_c(policy.program)?];
        for argument in policy.args {
            argv.push(to_c(argument)?);
        }
        Ok(Self {
            program: to_c(program.into_os_string())?,
            argv,
            cwd: policy.cwd,
            environment: policy.environment,
            lifetime: policy.lifetime,
            timeout: policy.timeout,
            grace: policy.grace,
            output_bytes_max: policy.output_bytes_max,
            backend: Backend::Bare,
        })
    }

    /// Returns how the child is kept apart from the machine.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }
}

/// Finds the shell that runs commands: the configured one or none, else Bash, else `sh`.
///
/// # Errors
/// When there is none; the error says where it was looked for.
pub fn find_shell(
    configured: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf, PlanError> {
    if let Some(path) = configured {
        return find_program(path.as_os_str(), environment).ok_or_else(|| {
            PlanError::ShellMissing { looked: format!("{} was configured", path.display()) }
        });
    }
    ["/bin/bash", "bash", "sh"]
        .iter()
        .find_map(|name| find_program(OsStr::new(name), environment))
        .ok_or_else(|| PlanError::ShellMissing { looked: "neither bash nor sh is in PATH".into() })
}

/// Returns the absolute path of a program. Relative entries of `PATH` are passed over: what they name
/// depends on a directory that a workspace controls.
fn find_program(name: &OsStr, environment: &Environment) -> Option<PathBuf> {
    let named = Path::new(name);
    if named.is_absolute() {
        return program::can_run(named).then(|| named.to_owned());
    }
    let path = environment.get("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    program::find(path, name)
}

/// A directory that was removed after it was opened has no name left anywhere.
fn check_cwd(cwd: &OwnedFd) -> Result<(), PlanError> {
    let meta = fstat(cwd).map_err(|errno| PlanError::CwdUnusable { source: errno.into() })?;
    if FileType::from_raw_mode(meta.st_mode) != FileType::Directory || meta.st_nlink == 0 {
        return Err(PlanError::CwdMissing);
    }
    Ok(())
}

fn to_c(text: OsString) -> Result<CString, PlanError> {
    CString::new(text.into_vec()).ok().ok_or(PlanError::NulByte)
}

#[cfg(test)]
mod tests;
