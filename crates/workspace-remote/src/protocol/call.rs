//! Calls of tools, and how requests of every kind end.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use vocab::{
    ids::{CallId, RunId},
    outcome::{Effect, Failure},
};

use super::tagged::{Message, message};

/// Options that belong to the caller rather than to one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// Whether pictures are shrunk to what models take.
    pub image_resize: bool,
    /// A line put before every shell command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_prefix: Option<String>,
}

message! {
    /// Calls a tool.
    "call" Call {
        /// The request.
        id: u64,
        /// The model's id for it.
        call_id: CallId,
        /// The run it belongs to.
        run: RunId,
        /// The tool's name.
        tool: String,
        /// Its arguments, repaired once by the client.
        arguments: Value,
        /// Must be true: the server repairs nothing.
        arguments_prepared: bool,
        /// The catalog the client looked at.
        expected_generation: u64,
        /// The hash of the schema the arguments were prepared for.
        schema_hash: String,
        /// When to give up, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// Two calls with the same key are one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// What the client wants of every call.
        envelope: Envelope,
    }
}

message! {
    /// Ends what calls of a run left running. Ends in `result` with a list of lines.
    "end_run" EndRun {
        /// The request.
        id: u64,
        /// The run.
        run: RunId,
    }
}

message! {
    /// Ends a request early. It still ends in its own last message.
    "cancel" Cancel {
        /// The request.
        id: u64,
    }
}

message! {
    /// How a call ended.
    "outcome" Outcome {
        /// The request.
        id: u64,
        /// What the model reads, details, and the failure if it failed.
        outcome: vocab::outcome::Outcome,
    }
}

/// How a request that answers with a value ended, to be written.
#[derive(Debug, Serialize)]
pub struct ValueOf<T> {
    /// The request.
    pub id: u64,
    /// Its answer.
    pub value: T,
}

impl<T: Serialize> Message for ValueOf<T> {
    const KIND: &'static str = <ValueRaw as Message>::KIND;
}

message! {
    /// The same, as it is read: who asked knows the shape.
    "result" ValueRaw {
        /// The request.
        id: u64,
        /// Its answer.
        value: Box<RawValue>,
    }
}

message! {
    /// How a request failed.
    "error" Problem {
        /// The request.
        id: u64,
        /// Stable, `snake_case`.
        code: String,
        /// Whether the world changed.
        effect: Effect,
        /// One sentence.
        message: String,
        /// The next step, where somebody can take one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    }
}

impl Problem {
    /// Tells a failure of a request.
    #[must_use]
    pub fn of(id: u64, failure: Failure) -> Self {
        let Failure { code, effect, message, hint } = failure;
        Self { id, code, effect, message, hint }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let Problem { id: _, code, effect, message, hint } = problem;
        Self { code, effect, message, hint }
    }
}
