//! From a prompt to the body of a request.
//!
//! Three places are marked for the cache: the system text, the last tool, the last user block; what
//! stands before a mark is read from the cache next time.

use serde_json::{Value, json};
use vocab::outcome::Content;

use crate::{
    prompt::Prompt,
    transcript::{self, Answer, Piece, Turn},
};

/// The longest id of a call.
const CALL_ID_CHARS: usize = 64;

/// The smallest budget for thinking that the API takes.
const THINKING_TOKENS_MIN: u32 = 1_024;

/// What depends on the model.
pub(crate) struct Setup {
    /// Whether the model is shown pictures.
    pub(crate) images: bool,
    pub(crate) thinking_budget: Option<u32>,
}

pub(crate) fn encode(prompt: &Prompt, setup: &Setup) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in transcript::turns(prompt, CALL_ID_CHARS) {
        let (role, blocks) = match turn {
            Turn::User(blocks) => ("user", blocks.into_iter().map(|b| block(setup, b)).collect()),
            Turn::Assistant(pieces) => ("assistant", pieces.into_iter().map(piece).collect()),
            Turn::Results(answers) => ("user", answers.iter().map(|a| result(setup, a)).collect()),
        };
        push(&mut messages, role, blocks);
    }
    let last_user = messages.iter_mut().rev().find(|(role, _)| *role == "user");
    if let Some(last) = last_user.and_then(|(_, blocks)| blocks.last_mut()) {
        mark(last);
    }
    let messages: Vec<Value> = messages
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect();
    let mut body = json!({
        "model": prompt.model.model,
        "max_tokens": prompt.output_tokens_max,
        "messages": messages,
        "stream": true,
    });
    if !prompt.system.trim().is_empty() {
        let mut system = json!({ "type": "text", "text": prompt.system });
        mark(&mut system);
        body["system"] = json!([system]);
    }
    if !prompt.tools.is_empty() {
        body["tools"] = tools(prompt);
    }
    if let Some(budget) = setup.thinking_budget {
        let budget = budget.max(THINKING_TOKENS_MIN);
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
        body["max_tokens"] = json!(prompt.output_tokens_max.saturating_add(budget));
    }
    body
}

/// Adds blocks; two messages of one role in a row become one.
fn push(messages: &mut Vec<(&str, Vec<Value>)>, role: &'static str, blocks: Vec<Value>) {
    match messages.last_mut() {
        Some((last, content)) if *last == role => content.extend(blocks),
        _ => messages.push((role, blocks)),
    }
}

fn tools(prompt: &Prompt) -> Value {
    let mut tools: Vec<Value> = prompt
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name, "description": tool.description,
                "input_schema": tool.parameters,
            })
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        mark(last);
    }
    json!(tools)
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

fn piece(piece: Piece<'_>) -> Value {
    match piece {
        Piece::Text(text) => json!({ "type": "text", "text": text }),
        Piece::Reasoning { signature, redacted: true, .. } => {
            json!({ "type": "redacted_thinking", "data": signature })
        }
        Piece::Reasoning { text, signature, redacted: false } => {
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        Piece::Call { id, tool, input } => {
            json!({ "type": "tool_use", "id": id, "name": tool, "input": input })
        }
    }
}

fn result(setup: &Setup, answer: &Answer<'_>) -> Value {
    let mut content: Vec<Value> = answer
        .content
        .iter()
        .filter(|block| !matches!(block, Content::Text { text } if text.trim().is_empty()))
        .map(|content| block(setup, content))
        .collect();
    if content.is_empty() {
        content.push(json!({ "type": "text", "text": "(no output)" }));
    }
    let mut result = json!({ "type": "tool_result", "tool_use_id": answer.id, "content": content });
    if answer.failed {
        result["is_error"] = json!(true);
    }
    result
}

fn block(setup: &Setup, content: &Content) -> Value {
    match content {
        Content::Text { text } => json!({ "type": "text", "text": text }),
        Content::Image { media_type, data } if setup.images => json!({
            "type": "image",
            "source": { "type": "base64", "media_type": media_type, "data": data },
        }),
        Content::Image { media_type, .. } => json!({
            "type": "text",
            "text": format!("(a picture of type {media_type}, which this model is not shown)"),
        }),
    }
}
