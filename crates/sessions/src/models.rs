//! Which model a run asks, and with which key.
//!
//! An explicit choice wins; else the session's last one stays; else the configured default. A provider
//! that fails is never silently replaced by another.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use provider::seam::SharedProvider;
use stdx::secret::Secret;
use vocab::{message::ModelRef, outcome::Failure};

/// Keys that a client resolved from its own environment, by provider. They live as long as one run.
pub type Keys = BTreeMap<String, Secret>;

/// What a client asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// A provider's name.
    pub provider: Option<String>,
    /// A model's id; it may carry the provider in front.
    pub model: Option<String>,
    /// What the session asked last.
    pub sticky: Option<ModelRef>,
}

/// A model that can be asked.
#[derive(Clone)]
pub struct Chosen {
    /// Which one.
    pub model: ModelRef,
    /// Who answers.
    pub provider: SharedProvider,
    /// The most output tokens.
    pub output_tokens_max: u32,
    /// Whether it takes pictures.
    pub sees: bool,
    /// How often it is called in one run, where that is not for the owner's bounds to say.
    pub steps_max: Option<u32>,
}

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chosen").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Knows the configured models. Composed in `cli`, which alone reads the configuration.
pub trait Models: Send + Sync {
    /// Chooses a model.
    fn choose<'a>(
        &'a self,
        wanted: &'a Wanted,
        keys: &'a Keys,
    ) -> BoxFuture<'a, Result<Chosen, Failure>>;
}
