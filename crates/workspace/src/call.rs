//! One tool call: what is asked, how progress is told, how it is cancelled.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vocab::ids::{CallId, RunId};

/// A tool call with prepared arguments.
#[derive(Debug, Clone)]
pub struct Call {
    /// The model's id for it.
    pub id: CallId,
    /// The run it belongs to; what the call leaves running is ended with that run.
    pub run: RunId,
    /// The tool's name.
    pub tool: String,
    /// Arguments that went through [`vocab::tool::ToolSpec::prepare`] once. They are validated again,
    /// never repaired again.
    pub arguments: Value,
    /// The catalog the caller looked at; another generation refuses the call before it starts.
    pub expected_generation: u64,
    /// The hash of the schema the arguments were prepared for.
    pub schema_hash: String,
    /// When to give up, in milliseconds from now; the tool's own default holds when absent.
    pub timeout_ms: Option<u64>,
    /// Two calls with the same key are one call.
    pub idempotency_key: Option<String>,
    /// What the caller's connection wants of every call.
    pub envelope: Envelope,
}

/// Options that belong to the caller rather than to one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Whether pictures are shrunk to what models take.
    pub image_resize: bool,
    /// A line put before every shell command.
    pub command_prefix: Option<String>,
}

impl Default for Envelope {
    fn default() -> Self {
        Self { image_resize: true, command_prefix: None }
    }
}

/// Something a running call tells before it ends. It may be lost; the outcome holds everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// More output, decoded, at most ten times a second.
    Output(String),
}

/// Where a running call tells its progress. Must not block.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// What a call runs under.
#[derive(Clone)]
pub struct CallContext {
    /// Ends the call early.
    pub cancel: CancellationToken,
    /// Hears progress.
    pub progress: ProgressSink,
}

impl CallContext {
    /// Builds a context that nobody cancels and nobody listens to.
    #[must_use]
    pub fn detached() -> Self {
        Self { cancel: CancellationToken::new(), progress: Arc::new(|_| {}) }
    }
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("cancelled", &self.cancel.is_cancelled())
            .finish_non_exhaustive()
    }
}
