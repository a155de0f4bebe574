//! Who calls: the proof that the perimeter was passed, and what it allows.

use vocab::{ids::RunId, outcome::Failure};

/// What a caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerKind {
    /// A person's own program.
    Person,
    /// A process that descends from a run of this daemon; the run where its environment names it.
    Agent(Option<RunId>),
    /// A browser page of an allowed origin.
    Page(String),
}

/// How a caller reached us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// The Unix socket; the kernel told the uid.
    Socket,
    /// Loopback TCP with the credential.
    Tcp,
}

/// A caller that passed the perimeter. Use cases take it, so that forgetting the perimeter does not
/// compile.
#[derive(Debug, Clone)]
pub struct Caller {
    kind: CallerKind,
    carrier: Carrier,
}

impl Caller {
    /// Mints a caller. Only the gateway's perimeter does so, after every check has passed.
    #[must_use]
    pub fn passed(kind: CallerKind, carrier: Carrier) -> Self {
        Self { kind, carrier }
    }

    /// Returns what the caller is.
    #[must_use]
    pub fn kind(&self) -> &CallerKind {
        &self.kind
    }

    /// Returns how the caller reached us.
    #[must_use]
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Demands somebody's own hand: agents may not answer what asks about them.
    ///
    /// # Errors
    /// When the caller descends from a run.
    pub fn hand(&self) -> Result<(), Failure> {
        match self.kind {
            CallerKind::Person | CallerKind::Page(_) => Ok(()),
            CallerKind::Agent(_) => Err(refused("a process that a run started")),
        }
    }

    /// Demands a program on this machine: a page may not start or touch one.
    ///
    /// # Errors
    /// When the caller is a page.
    pub fn program(&self) -> Result<(), Failure> {
        match self.kind {
            CallerKind::Person | CallerKind::Agent(_) => Ok(()),
            CallerKind::Page(_) => Err(refused("a page")),
        }
    }

    /// Tells whether it is a process that a run or an agent has started.
    #[must_use]
    pub fn is_agent(&self) -> bool {
        matches!(self.kind, CallerKind::Agent(_))
    }

    /// Demands a person's own program: agents and pages may not change keys, delete or stop.
    ///
    /// # Errors
    /// When the caller descends from a run, or is a page.
    pub fn person(&self) -> Result<(), Failure> {
        match self.kind {
            CallerKind::Person => Ok(()),
            CallerKind::Agent(_) => Err(refused("a process that a run started")),
            CallerKind::Page(_) => Err(refused("a page")),
        }
    }
}

fn refused(what: &str) -> Failure {
    Failure::not_started(
        "person_required",
        format!("only a person may do this, and the caller is {what}"),
    )
    .with_hint("do it from your own terminal")
}
