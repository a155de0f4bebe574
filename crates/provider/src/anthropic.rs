//! The Messages API of Anthropic.
//!
//! Thinking is given back byte for byte with its signature. No beta is asked for.

use bytes::Bytes;

use crate::{dialect::Dialect, exchange::Peer, models::ModelConfig, prompt::Prompt};

mod decode;
mod request;

use decode::Decoder;
use request::{Setup, encode};

/// The version of the API that is spoken.
pub(crate) const VERSION: &str = "2023-06-01";

/// The dialect.
pub(crate) const DIALECT: Dialect =
    Dialect { request, decoder: |speaker| Box::new(Decoder::new(speaker)) };

fn request(_peer: &Peer, model: Option<&ModelConfig>, prompt: &Prompt) -> Bytes {
    let setup = Setup {
        images: model.is_none_or(|model| model.images),
        thinking_budget: model.and_then(|model| model.thinking_budget),
    };
    encode(prompt, &setup).bytes()
}

#[cfg(test)]
mod tests;
