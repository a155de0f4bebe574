//! How a child ended and what it left behind.
//!
//! Not here: the text a model or a person reads about it; the callers word that.

use std::{fmt, time::Duration};

use rustix::process::Signal;
use vocab::outcome::{Effect, Failure};

/// How the child itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that we did not send.
    Signaled {
        /// The signal's number.
        number: i32,
        /// Its usual name, `SIG` included.
        name: &'static str,
    },
    /// We stopped it because its time was over.
    TimedOut,
    /// We stopped it because somebody asked.
    Cancelled,
    /// The kernel killed it or a descendant for want of memory.
    OutOfMemory,
}

impl ExitStatus {
    /// Builds the status of a death by signal.
    #[must_use]
    pub fn signaled(number: i32) -> Self {
        Self::Signaled { number, name: signal_name(number) }
    }

    /// Tells whether it ended by itself with code 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }

    /// Returns the stable code of a status that is a failure.
    #[must_use]
    pub fn code(self) -> Option<&'static str> {
        match self {
            Self::Exited(0) => None,
            Self::Exited(_) => Some("command_failed"),
            Self::Signaled { .. } => Some("command_killed_by_signal"),
            Self::TimedOut => Some("command_timed_out"),
            Self::Cancelled => Some("command_cancelled"),
            Self::OutOfMemory => Some("command_out_of_memory"),
        }
    }

    /// Tells whether the command's work is known to have happened as it meant to.
    #[must_use]
    pub fn effect(self) -> Effect {
        match self {
            Self::Exited(_) => Effect::Completed,
            Self::Signaled { .. } | Self::TimedOut | Self::Cancelled | Self::OutOfMemory => {
                Effect::Indeterminate
            }
        }
    }

    /// Returns the failure a caller reports, none for success.
    #[must_use]
    pub fn failure(self) -> Option<Failure> {
        self.code().map(|code| Failure::new(code, self.effect(), format!("the command {self}")))
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with code {code}"),
            Self::Signaled { number, name } => write!(f, "was killed by {name} (signal {number})"),
            Self::TimedOut => f.write_str("was stopped when its time was over"),
            Self::Cancelled => f.write_str("was cancelled"),
            Self::OutOfMemory => f.write_str("was killed by the kernel for want of memory"),
        }
    }
}

/// Why reading of output stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputEnd {
    /// Nobody holds the pipe any more; the output is complete.
    Closed,
    /// The child was gone and what it left behind was silent for a while.
    Silence,
    /// The child was gone and what it left behind kept writing for too long.
    Overtime,
    /// We stopped the child.
    Stopped,
}

/// A descendant that was still alive when the report was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Its process id.
    pub pid: u32,
    /// Its command line, shortened.
    pub command: String,
}

/// A process that was killed with its scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// Its process id.
    pub pid: u32,
    /// Its command line, shortened.
    pub command: String,
    /// False when it still lived after all rounds, which only the kernel can explain.
    pub gone: bool,
}

/// How a child ended, what it left behind and what it cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitReport {
    /// How it ended.
    pub status: ExitStatus,
    /// Descendants that live on in the scope. At most
    /// `CHILD_SURVIVORS_LISTED_MAX` are named.
    pub survivors: Vec<Survivor>,
    /// Why reading of output stopped.
    pub output_end: OutputEnd,
    /// Bytes beyond the policy's bound that were read and dropped.
    pub discarded: u64,
    /// From before the start to the report.
    pub duration: Duration,
    /// Processor time of the child and the descendants it waited for.
    pub cpu: Duration,
}

/// Returns a signal's usual name.
#[must_use]
pub fn signal_name(number: i32) -> &'static str {
    const NAMES: &[(Signal, &str)] = &[
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::SYS, "SIGSYS"),
    ];
    NAMES
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map_or("an unusual signal", |(_, name)| name)
}
