//! What a child is asked to be. Nothing here is checked yet: [`crate::Plan::realize`] does that.
//!
//! Not here: paths to the working directory. It is an open directory, so that what was checked by
//! `confine` and what the child enters are the same directory even if it is renamed in between.

use std::{ffi::OsString, os::fd::OwnedFd, time::Duration};

use vocab::limits;

use crate::Environment;

/// How long a child and its descendants may live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lifetime {
    /// Ends with the call: whatever it left behind is killed before the report is made.
    Call,
    /// Descendants may outlive the call and end with the run that owns the scope.
    Run,
    /// Ends with the session that owns the scope; for servers that are started once.
    Session,
    /// In a session of its own, in no scope's reach; for programs that outlive the daemon.
    Detached,
}

/// What the child may see and do.
#[derive(Debug)]
pub struct Policy {
    /// An absolute path, or a bare name that is looked up in the environment's `PATH`.
    pub program: OsString,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The directory it starts in.
    pub cwd: OwnedFd,
    /// All it can see of the environment.
    pub environment: Environment,
    /// How long it may live.
    pub lifetime: Lifetime,
    /// When it is stopped; never if absent.
    pub timeout: Option<Duration>,
    /// How long it may take to end after it was asked politely.
    pub grace: Duration,
    /// Bytes of output handed on; what comes after them is read, counted and dropped.
    pub output_bytes_max: u64,
}

impl Policy {
    /// Starts from the common case: no arguments, one call, no timeout, all output.
    #[must_use]
    pub fn new(program: impl Into<OsString>, cwd: OwnedFd, environment: Environment) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd,
            environment,
            lifetime: Lifetime::Call,
            timeout: None,
            grace: Duration::from_millis(limits::CHILD_GRACE_MS),
            output_bytes_max: u64::MAX,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: Into<OsString>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Says how long it may live.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Says when it is stopped.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Says how long it may take to end after it was asked politely.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}
