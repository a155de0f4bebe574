//! What is appended: changes of content with the facts that record them, all stored or none.

use serde_json::Value;
use vocab::{
    fact::{Event, JobFact, RunFact, SessionFact},
    ids::{RunId, SessionId},
    message::{Message, Mode, ModelRef, Part, Run, RunState, Usage},
};

use crate::cursor::Epoch;

/// How firmly a batch is stored before its append returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// It survives the death of this process.
    #[default]
    Process,
    /// It survives the loss of power too.
    Power,
}

/// Changes and facts that are stored together or not at all.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The writer's right to write.
    pub epoch: Epoch,
    /// The session that the changes and facts belong to, where there is one.
    pub session: Option<SessionId>,
    /// The changes, applied in this order.
    pub changes: Vec<Change>,
    /// What to record of them, in this order.
    pub facts: Vec<NewFact>,
    /// How firmly.
    pub durability: Durability,
}

impl Batch {
    /// Starts an empty batch about a session.
    #[must_use]
    pub fn of_session(epoch: Epoch, session: SessionId) -> Self {
        Self { session: Some(session), ..Self::of_store(epoch) }
    }

    /// Starts an empty batch that is about no session.
    #[must_use]
    pub fn of_store(epoch: Epoch) -> Self {
        Self {
            epoch,
            session: None,
            changes: Vec::new(),
            facts: Vec::new(),
            durability: Durability::Process,
        }
    }

    /// Adds a change.
    #[must_use]
    pub fn change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn fact(mut self, fact: impl Into<NewFact>) -> Self {
        self.facts.push(fact.into());
        self
    }

    /// Sets how firmly it is stored.
    #[must_use]
    pub fn durable(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }
}

/// A session that is about to exist; its id is the batch's.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// The id a client chose for it; unique among the living.
    pub alias: Option<String>,
    /// Its title; empty until somebody names it.
    pub title: String,
    /// The workspace it works in.
    pub workspace: Option<String>,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// The model it asks.
    pub model: Option<ModelRef>,
    /// How much it asks before it acts.
    pub mode: Mode,
}

/// One change of content. All but the last need the batch's session.
#[derive(Debug, Clone)]
pub enum Change {
    /// Makes the session. Conflict: id or alias is taken.
    CreateSession(NewSession),
    /// Names it.
    SetTitle(String),
    /// Keeps it in lists, or no longer.
    SetPinned(bool),
    /// Chooses its model.
    SetModel(Option<ModelRef>),
    /// Chooses how much it asks.
    SetMode(Mode),
    /// Stores a message with its parts, behind all others.
    AddMessage(Message),
    /// Starts a run and stores its empty assistant message. Conflict: the current run has not ended.
    StartRun(Run),
    /// Stores a part of a run's message, new (at the next free index) or replaced. Conflict: the run has ended.
    PutPart {
        /// The run that writes it.
        run: RunId,
        /// Its place in the message.
        idx: usize,
        /// The part.
        part: Part,
    },
    /// Moves a run. Conflict: it has ended. Put it behind the run's last parts.
    SetRunState {
        /// Which run.
        run: RunId,
        /// Where it stands now.
        state: RunState,
    },
    /// Adds tokens to the session's count.
    AddUsage(Usage),
    /// Remembers the answer to a request, so that asking again does nothing twice. Conflict: it is known.
    PutIdempotent {
        /// Which operation, for whom.
        scope: String,
        /// The client's key.
        token: String,
        /// What was answered.
        answer: Value,
    },
}

/// A fact that is about to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFact {
    /// What it is about: `session`, `run`, `job` …
    pub subject: &'static str,
    /// The version of its kind's shape.
    pub version: u32,
    /// The fact; a JSON object with `kind`.
    pub body: Value,
}

impl NewFact {
    /// Wraps a fact of any subject. A body that is no object with `kind` is refused by the append.
    #[must_use]
    pub fn new(subject: &'static str, body: Value) -> Self {
        Self { subject, version: 1, body }
    }
}

impl From<SessionFact> for NewFact {
    fn from(fact: SessionFact) -> Self {
        Self::new("session", serde_json::to_value(fact).unwrap_or_default())
    }
}

impl From<RunFact> for NewFact {
    fn from(fact: RunFact) -> Self {
        Self::new("run", serde_json::to_value(fact).unwrap_or_default())
    }
}

impl From<JobFact> for NewFact {
    fn from(fact: JobFact) -> Self {
        Self::new("job", serde_json::to_value(fact).unwrap_or_default())
    }
}

/// The proof that a batch is stored, with its facts as events ready to be told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Appended {
    /// The facts of the batch, in order.
    pub events: Vec<Event>,
}
