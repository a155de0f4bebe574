//! Chat Completions: what OpenAI defined and most local servers and gateways speak.
//!
//! Differences between servers are met by tolerance when reading and by the least common request when
//! writing; the few fields that only OpenAI takes go to its own host alone.

use bytes::Bytes;

use crate::{dialect::Dialect, exchange::Peer, models::ModelConfig, prompt::Prompt};

mod decode;
mod request;

use decode::Decoder;
use request::{Setup, encode};

/// The dialect.
pub(crate) const DIALECT: Dialect =
    Dialect { request, decoder: |speaker| Box::new(Decoder::new(speaker)) };

fn request(peer: &Peer, model: Option<&ModelConfig>, prompt: &Prompt) -> Bytes {
    let setup = Setup {
        official: peer.url.host_str() == Some("api.openai.com"),
        images: model.is_none_or(|model| model.images),
        reasoning_effort: model.and_then(|model| model.reasoning_effort.as_deref()),
    };
    encode(prompt, &setup).bytes()
}

#[cfg(test)]
mod tests;
