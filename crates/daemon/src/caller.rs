//! Who calls: the proof that the perimeter was passed, and what it allows.

use vocab::{ids::SessionId, outcome::Failure};

/// What a caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerKind {
    /// A person's own program.
    Person,
    /// A process that descends from a run of this daemon; the session where it is known.
    Agent(Option<SessionId>),
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

    /// Demands a person: agents and pages may neither answer approvals nor change secrets.
    ///
    /// # Errors
    /// When the caller descends from a run, or is a page.
    pub fn person(&self) -> Result<(), Failure> {
        match self.kind {
            CallerKind::Person => Ok(()),
            CallerKind::Agent(_) | CallerKind::Page(_) => Err(Failure::not_started(
                "person_required",
                "only a person may do this, and the caller is a process that a run started or a page",
            )
            .with_hint("do it from your own terminal")),
        }
    }
}
