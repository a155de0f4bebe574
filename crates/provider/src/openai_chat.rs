//! Chat Completions: what OpenAI defined and most local servers and gateways speak.
//!
//! Differences between servers are met by tolerance when reading and by the least common request when
//! writing; the few fields that only OpenAI takes go to its own host alone.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use crate::{
    delta::Delta,
    exchange::{self, Peer},
    models::ModelConfig,
    prompt::Prompt,
    seam::Provider,
};

mod decode;
mod request;

pub(crate) use decode::Decoder;
pub(crate) use request::{Setup, encode};

/// A provider that speaks Chat Completions.
#[derive(Debug)]
pub(crate) struct OpenAiChat {
    pub(crate) peer: Peer,
    pub(crate) models: Arc<[ModelConfig]>,
}

impl Provider for OpenAiChat {
    fn stream(&self, prompt: Prompt, cancel: CancellationToken) -> BoxStream<'static, Delta> {
        let model = self.models.iter().find(|model| model.id == prompt.model.model);
        let setup = Setup {
            official: self.peer.url.host_str() == Some("api.openai.com"),
            images: model.is_none_or(|model| model.images),
            reasoning_effort: model.and_then(|model| model.reasoning_effort.as_deref()),
        };
        let body = encode(&prompt, &setup).bytes();
        exchange::stream(
            self.peer.clone(),
            body,
            Box::new(Decoder::new(Arc::clone(&self.peer.speaker))),
            cancel,
        )
    }
}

#[cfg(test)]
mod tests;
