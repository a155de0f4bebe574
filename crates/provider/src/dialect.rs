//! A provider of any vendor: whom it asks, and how its dialect writes a request and reads an answer.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use crate::{
    delta::Delta,
    exchange::{self, Decode, Peer},
    models::ModelConfig,
    prompt::Prompt,
    seam::Provider,
    speaker::Speaker,
};

/// How a vendor is spoken to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// Writes a request; of a model that nobody described nothing is known.
    pub(crate) request: fn(&Peer, Option<&ModelConfig>, &Prompt) -> Bytes,
    /// Makes the reader of one answer.
    pub(crate) decoder: fn(Arc<Speaker>) -> Box<dyn Decode>,
}

/// A provider that speaks a dialect.
#[derive(Debug)]
pub(crate) struct Vendor {
    pub(crate) peer: Peer,
    pub(crate) models: Arc<[ModelConfig]>,
    pub(crate) dialect: Dialect,
}

impl Provider for Vendor {
    fn stream(&self, prompt: Prompt, cancel: CancellationToken) -> BoxStream<'static, Delta> {
        let model = self.models.iter().find(|model| model.id == prompt.model.model);
        let body = (self.dialect.request)(&self.peer, model, &prompt);
        let decoder = (self.dialect.decoder)(Arc::clone(&self.peer.speaker));
        exchange::stream(self.peer.clone(), body, decoder, cancel)
    }
}
