//! What a model is asked: system text, messages, tools, bounds.

use std::sync::Arc;

use serde_json::Value;
use vocab::{
    ids::CallId,
    message::ModelRef,
    outcome::{Content, Outcome},
};

/// One request to a model.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// Which model.
    pub model: ModelRef,
    /// The system text.
    pub system: String,
    /// The conversation, user first.
    pub messages: Vec<PromptMessage>,
    /// The tools it may call.
    pub tools: Arc<[PromptTool]>,
    /// The most output tokens.
    pub output_tokens_max: u32,
    /// The session, for the provider's cache routing.
    pub cache_key: String,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone)]
pub struct PromptTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its arguments, as JSON schema.
    pub parameters: Value,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptMessage {
    /// What a user said.
    User(Vec<Content>),
    /// What a model said.
    Assistant {
        /// Which model said it; another model gets no signatures.
        model: ModelRef,
        /// What it said, in order.
        parts: Vec<AssistantPart>,
    },
    /// The results of the calls of the assistant message before it, in the order of the calls.
    Results(Vec<(CallId, String, Outcome)>),
}

/// A part of what a model said.
#[derive(Debug, Clone, PartialEq)]
pub enum AssistantPart {
    /// Words.
    Text(String),
    /// Thinking.
    Reasoning {
        /// The thinking; empty when hidden.
        text: String,
        /// What the provider wants back unchanged.
        signature: Option<String>,
        /// Whether `signature` is an encrypted block in place of the text.
        redacted: bool,
    },
    /// A tool call.
    Call {
        /// The model's id for it.
        id: CallId,
        /// The tool's name.
        tool: String,
        /// The arguments, a JSON object.
        input: Value,
    },
}
