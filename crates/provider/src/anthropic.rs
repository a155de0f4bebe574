//! The Messages API of Anthropic.
//!
//! Thinking is given back byte for byte with its signature. No beta is asked for.

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

/// The version of the API that is spoken.
pub(crate) const VERSION: &str = "2023-06-01";

/// A provider that speaks Messages.
#[derive(Debug)]
pub(crate) struct Anthropic {
    pub(crate) peer: Peer,
    pub(crate) models: Arc<[ModelConfig]>,
}

impl Provider for Anthropic {
    fn stream(&self, prompt: Prompt, cancel: CancellationToken) -> BoxStream<'static, Delta> {
        let model = self.models.iter().find(|model| model.id == prompt.model.model);
        let setup = Setup {
            images: model.is_none_or(|model| model.images),
            thinking_budget: model.and_then(|model| model.thinking_budget),
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
