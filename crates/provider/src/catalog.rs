//! The vendors that are known by name, as data.
//!
//! A row saves typing and nothing more: every field can be configured. Models change faster than
//! programs, so a row names one good default and careful bounds, and no list.

use crate::resolve::Api;

/// A vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vendor {
    /// Its name in `provider/model`.
    pub name: &'static str,
    /// The dialect it speaks.
    pub api: Api,
    /// Where.
    pub base_url: &'static str,
    /// The variables that usually hold its key, the first found counts.
    pub key_variables: &'static [&'static str],
    /// The model when nobody chose one.
    pub default_model: &'static str,
    /// How many tokens its common models hold.
    pub context_window: u32,
    /// How many tokens its common models write.
    pub max_output: u32,
}

const fn row(
    name: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
    default_model: &'static str,
) -> Vendor {
    Vendor {
        name,
        api: Api::OpenAiChat,
        base_url,
        key_variables,
        default_model,
        context_window: 128_000,
        max_output: 8_192,
    }
}

/// The vendors, in the order in which a found key decides.
pub const VENDORS: &[Vendor] = &[
    Vendor {
        name: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        key_variables: &["ANTHROPIC_API_KEY"],
        default_model: "claude-sonnet-4-5",
        context_window: 200_000,
        max_output: 32_000,
    },
    Vendor {
        context_window: 256_000,
        max_output: 32_000,
        ..row("openai", "https://api.openai.com/v1", &["OPENAI_API_KEY"], "gpt-5")
    },
    row("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_API_KEY"], "openrouter/auto"),
    row(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        "gemini-2.5-pro",
    ),
    row("groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], "openai/gpt-oss-120b"),
    row("deepseek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"], "deepseek-chat"),
    row("mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"], "mistral-large-latest"),
    row("xai", "https://api.x.ai/v1", &["XAI_API_KEY"], "grok-4"),
    row("cerebras", "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"], "gpt-oss-120b"),
    row("together", "https://api.together.xyz/v1", &["TOGETHER_API_KEY"], "openai/gpt-oss-120b"),
    row(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        &["FIREWORKS_API_KEY"],
        "accounts/fireworks/models/gpt-oss-120b",
    ),
];

/// Finds a vendor by its name.
#[must_use]
pub fn vendor(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}
