//! What is known about a model besides its id.
//!
//! Nothing here asks anybody; see [`crate::local`] for lists that endpoints tell.

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    /// Its id, as the provider knows it.
    pub id: String,
    /// How many tokens fit, input and output together.
    pub context_window: u32,
    /// How many tokens it can write at once.
    pub max_output: u32,
    /// Whether it is shown pictures.
    pub images: bool,
    /// How hard it thinks, in the vendor's own words (Chat Completions).
    pub reasoning_effort: Option<String>,
    /// How many tokens it may think before it speaks (Messages).
    pub thinking_budget: Option<u32>,
}

impl ModelConfig {
    /// Returns what is assumed of a model that nobody described.
    #[must_use]
    pub fn unknown(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            context_window: 32_768,
            max_output: 4_096,
            images: true,
            reasoning_effort: None,
            thinking_budget: None,
        }
    }
}
