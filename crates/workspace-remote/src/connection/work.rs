//! What a request asks of the workspace, and how it ends, free of the wire.

use bytes::Bytes;
use vocab::{
    ids::{RunId, WorkspaceId},
    outcome::{Failure, Outcome},
};
use workspace::{
    call,
    primitive::{Access, ExecRequest, Shape, Upload, Wanted},
};

use crate::{frame::Frame, protocol};

/// Where a primitive acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// The workspace the client believes it talks to.
    pub workspace: WorkspaceId,
    /// The path as written.
    pub path: String,
}

/// Work for the workspace.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each is the operation of the seam with that name")]
pub enum Work {
    Call(Box<call::Call>),
    EndRun(RunId),
    Access(At, Access),
    Read(At, u64),
    Write(At, Bytes),
    Mkdir(At, bool),
    Stat(At),
    Readdir(At),
    Glob(At, String, usize),
    Grep(At, String, usize),
    ImageMime(At),
    Exec(At, ExecRequest),
    Upload(At, Upload),
    Held(At, Shape),
    Download(At, Wanted),
}

impl Work {
    /// Tells whether it must begin in the order in which it was asked for.
    #[must_use]
    pub fn changes(&self) -> bool {
        match self {
            Self::Call(_)
            | Self::EndRun(_)
            | Self::Write(..)
            | Self::Mkdir(..)
            | Self::Exec(..)
            | Self::Upload(..) => true,
            Self::Access(..)
            | Self::Read(..)
            | Self::Stat(_)
            | Self::Readdir(_)
            | Self::Glob(..)
            | Self::Grep(..)
            | Self::ImageMime(_)
            | Self::Held(..)
            | Self::Download(..) => false,
        }
    }
}

/// How work ended.
#[derive(Debug)]
pub enum Ending {
    /// A call's outcome.
    Outcome(Box<Outcome>),
    /// The `result` message of an operation that succeeded.
    Value(Frame),
    /// A failure.
    Failed(Failure),
}

/// Takes a call off the wire.
pub(super) fn call(call: protocol::Call) -> Work {
    let envelope = call::Envelope {
        image_resize: call.envelope.image_resize,
        command_prefix: call.envelope.command_prefix,
    };
    Work::Call(Box::new(call::Call {
        id: call.call_id,
        run: call.run,
        tool: call.tool,
        arguments: call.arguments,
        expected_generation: call.expected_generation,
        schema_hash: call.schema_hash,
        timeout_ms: call.timeout_ms,
        idempotency_key: call.idempotency_key,
        envelope,
    }))
}
