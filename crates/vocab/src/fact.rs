//! Facts: what happened and was stored, in order. An event is a fact told to a subscriber.
//!
//! A fact is thin: it says that something changed, and the reader asks for the content. Kinds never
//! change their meaning; a new meaning is a new kind. Readers keep unknown kinds as opaque.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ids::{BlockId, CallId, JobId, MessageId, RunId, SessionId},
    job::JobState,
    message::RunEnd,
    outcome::Effect,
};

/// What happened to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionFact {
    /// It exists now.
    SessionCreated,
    /// A user's message was stored.
    MessageStored {
        /// Which one.
        message: MessageId,
    },
    /// Its title changed.
    SessionTitled,
    /// Lists keep showing it, or no longer.
    SessionPinned,
    /// It and its content are gone; this fact is what remains.
    SessionDeleted,
}

/// What happened to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunFact {
    /// It began; it writes this message.
    RunStarted {
        /// Which run.
        run: RunId,
        /// The assistant message.
        message: MessageId,
    },
    /// A model call ended.
    StepEnded {
        /// Which run.
        run: RunId,
    },
    /// A tool call's effect may have begun.
    CallStarted {
        /// Which run.
        run: RunId,
        /// Which call.
        call: CallId,
        /// The tool's name.
        tool: String,
    },
    /// A tool call ended.
    CallEnded {
        /// Which run.
        run: RunId,
        /// Which call.
        call: CallId,
        /// Whether the world changed.
        effect: Effect,
        /// The failure's code, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// It waits for a person.
    RunBlocked {
        /// Which run.
        run: RunId,
        /// What it waits for.
        block: BlockId,
    },
    /// A person answered.
    BlockAnswered {
        /// Which run.
        run: RunId,
        /// What was answered.
        block: BlockId,
        /// Whether the call may run.
        approved: bool,
    },
    /// It works again after it was parked.
    RunResumed {
        /// Which run.
        run: RunId,
    },
    /// A model call failed before its first word and is tried again.
    StepRetried {
        /// Which run.
        run: RunId,
        /// Which attempt comes next, counted from 2.
        attempt: u32,
        /// How long it waits first.
        delay_ms: u64,
        /// Why.
        code: String,
    },
    /// It is over.
    RunEnded {
        /// Which run.
        run: RunId,
        /// How it ended.
        #[serde(flatten)]
        end: RunEnd,
    },
}

/// What was seen of a job. Its truth is its files; these say when the daemon learned what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobFact {
    /// Its program runs, for the first time or again.
    JobStarted {
        /// Which job.
        job: JobId,
    },
    /// How it is has changed while its program runs.
    JobChanged {
        /// Which job.
        job: JobId,
        /// How it is now.
        state: JobState,
        /// What it waits for, where somebody must act.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waiting_for: Option<String>,
    },
    /// Its program has ended.
    JobEnded {
        /// Which job.
        job: JobId,
        /// `done`, `failed` or `stopped`.
        state: JobState,
    },
    /// What people call it or whether it is pinned has changed.
    JobEdited {
        /// Which job.
        job: JobId,
    },
    /// It and its files are gone.
    JobRemoved {
        /// Which job.
        job: JobId,
    },
}

/// A fact as it is stored and told. `subject` and `body.kind` together name its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The cursor: `<store-id>.<seq>`.
    pub cursor: String,
    /// Strictly rising within one store.
    pub seq: u64,
    /// When it was stored, RFC 3339.
    pub at: String,
    /// `session`, `run` or `job`, or a subject this reader does not know.
    pub subject: String,
    /// The session it belongs to, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The fact; a JSON object with `kind`.
    pub body: Value,
}
