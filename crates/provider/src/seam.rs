//! The trait that dialects implement.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use crate::{delta::Delta, prompt::Prompt};

/// A source of answers.
pub trait Provider: Send + Sync {
    /// Asks a model. Failures are deltas; the stream ends after its terminal one. When `cancel` fires
    /// the request is dropped and the stream ends with a failure of code `aborted`.
    fn stream(&self, prompt: Prompt, cancel: CancellationToken) -> BoxStream<'static, Delta>;
}

/// A shared provider.
pub type SharedProvider = Arc<dyn Provider>;
