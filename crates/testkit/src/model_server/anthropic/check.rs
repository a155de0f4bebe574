//! What the Messages API accepts.
//!
//! Written from the vendor's documented rules. A signature is right when the plan holds it.

use std::collections::HashSet;

use axum::http::HeaderMap;
use serde_json::Value;

use crate::model_server::{
    head::Head,
    plan::{Block, Plan},
    refusal::{Refusal, Vendor},
    routes::Asked,
};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "system",
    "max_tokens",
    "tools",
    "tool_choice",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "thinking",
    "service_tier",
];

const HEAD: Head = Head {
    vendor: Vendor::Anthropic,
    key: ("x-api-key", ""),
    fields: FIELDS,
    no_object: "body: Input should be an object",
    unknown: |name| format!("{name}: Extra inputs are not permitted"),
    no_model: "model: Field required",
};

/// The most blocks that may be marked for the cache.
const CACHE_MARKS_MAX: usize = 4;

type Checked<T> = Result<T, Refusal>;

pub(in crate::model_server) fn check(
    plan: &Plan,
    headers: &HeaderMap,
    body: &Value,
) -> Checked<Asked> {
    HEAD.key(plan, headers)?;
    if !headers.contains_key("anthropic-version") {
        return Err(Refusal::bad("anthropic-version: header is required"));
    }
    let model = HEAD.model(body)?;
    let tokens = body["max_tokens"].as_u64().filter(|count| *count > 0);
    let tokens = tokens.ok_or_else(|| Refusal::bad("max_tokens: Field required"))?;
    if body["thinking"]["type"] == "enabled" {
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        if budget < 1_024 || budget >= tokens {
            return Err(Refusal::bad("`max_tokens` must be greater than `thinking.budget_tokens`"));
        }
    }
    system(&body["system"])?;
    tools(&body["tools"])?;
    if marks(body) > CACHE_MARKS_MAX {
        return Err(Refusal::bad("A maximum of 4 blocks with cache_control may be provided."));
    }
    let (user, step, spoken) = Conversation::new(plan).read(&body["messages"])?;
    Ok(Asked {
        model,
        streaming: body["stream"].as_bool().unwrap_or(false),
        usage_in_stream: true,
        user,
        step,
        spoken,
        bytes: 0,
        piece_chars: 1,
    })
}

fn system(system: &Value) -> Checked<()> {
    if system.is_null() || system.is_string() {
        return Ok(());
    }
    let blocks = system.as_array().ok_or_else(|| Refusal::bad("system: Input should be a list"))?;
    for (at, block) in blocks.iter().enumerate() {
        if block["type"] != "text" || block["text"].as_str().is_none_or(str::is_empty) {
            return Err(Refusal::bad(format!(
                "system.{at}: text content blocks must be non-empty"
            )));
        }
    }
    Ok(())
}

fn tools(tools: &Value) -> Checked<()> {
    let mut names = HashSet::new();
    for (at, tool) in tools.as_array().into_iter().flatten().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_id(name, 128) {
            return Err(Refusal::bad(format!("tools.{at}.name: String should match pattern")));
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(Refusal::bad(format!("tools.{at}.input_schema.type: Field required")));
        }
        if !names.insert(name) {
            return Err(Refusal::bad("tools: Tool names must be unique."));
        }
    }
    Ok(())
}

/// Counts the marks for the cache, wherever they stand.
fn marks(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(fields) => fields.values().map(marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    inner + usize::from(value["cache_control"]["type"] == "ephemeral")
}

struct Conversation {
    signatures: HashSet<String>,
    ids: HashSet<String>,
    open: HashSet<String>,
    user: String,
    step: usize,
    spoken: usize,
}

impl Conversation {
    fn new(plan: &Plan) -> Self {
        let turns = plan.turns.iter().chain(plan.stories.iter().flat_map(|story| &story.turns));
        let signatures = turns
            .flat_map(|turn| &turn.blocks)
            .filter_map(|block| match block {
                Block::Reasoning { signature, .. } => Some(signature.clone()),
                Block::Redacted { data } => Some(data.clone()),
                Block::Text { .. } | Block::Call { .. } => None,
            })
            .collect();
        Self {
            signatures,
            ids: HashSet::new(),
            open: HashSet::new(),
            user: String::new(),
            step: 0,
            spoken: 0,
        }
    }

    fn read(mut self, messages: &Value) -> Checked<(String, usize, usize)> {
        let messages = messages.as_array().filter(|messages| !messages.is_empty());
        let messages =
            messages.ok_or_else(|| Refusal::bad("messages: at least one is required"))?;
        if messages[0]["role"] != "user" {
            return Err(Refusal::bad("messages: first message must use the \"user\" role"));
        }
        for (at, message) in messages.iter().enumerate() {
            let blocks = blocks(message, at)?;
            match message["role"].as_str() {
                Some("user") => self.user(&blocks, at)?,
                Some("assistant") => self.assistant(&blocks, at)?,
                _ => {
                    return Err(Refusal::bad(format!(
                        "messages.{at}.role: Input should be 'user' or 'assistant'"
                    )));
                }
            }
        }
        self.settled(messages.len())?;
        Ok((self.user, self.step, self.spoken))
    }

    fn settled(&self, at: usize) -> Checked<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        Err(Refusal::bad(format!(
            "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: \
             {:?}. Each `tool_use` block must have a corresponding `tool_result` block in the next \
             message.",
            self.open
        )))
    }

    fn user(&mut self, blocks: &[Value], at: usize) -> Checked<()> {
        let (mut words, mut results, mut other) = (Vec::new(), 0, false);
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => {
                    words.push(text(block, at)?);
                    other = true;
                }
                Some("image") => {
                    image(block, at)?;
                    other = true;
                }
                Some("tool_result") => {
                    if other {
                        return Err(Refusal::bad(format!(
                            "messages.{at}: `tool_result` blocks must come first"
                        )));
                    }
                    self.result(block, at)?;
                    results += 1;
                }
                kind => return Err(tag(kind, at)),
            }
        }
        self.settled(at)?;
        if results == 0 {
            (self.user, self.step) = (words.join("\n"), 0);
        }
        Ok(())
    }

    fn result(&mut self, block: &Value, at: usize) -> Checked<()> {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        if !self.open.remove(id) {
            return Err(Refusal::bad(format!(
                "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )));
        }
        for inner in block["content"].as_array().into_iter().flatten() {
            match inner["type"].as_str() {
                Some("text") => drop(text(inner, at)?),
                Some("image") => image(inner, at)?,
                kind => return Err(tag(kind, at)),
            }
        }
        Ok(())
    }

    fn assistant(&mut self, blocks: &[Value], at: usize) -> Checked<()> {
        self.settled(at)?;
        self.step += 1;
        self.spoken += 1;
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => drop(text(block, at)?),
                Some(kind @ ("thinking" | "redacted_thinking")) => {
                    let field = if kind == "thinking" { "signature" } else { "data" };
                    let proof = block[field].as_str().unwrap_or_default();
                    if !self.signatures.contains(proof) {
                        return Err(Refusal::bad(format!(
                            "messages.{at}: Invalid `{field}` in `{kind}` block"
                        )));
                    }
                }
                Some("tool_use") => self.tool_use(block, at)?,
                kind => return Err(tag(kind, at)),
            }
        }
        Ok(())
    }

    fn tool_use(&mut self, block: &Value, at: usize) -> Checked<()> {
        let id = block["id"].as_str().unwrap_or_default();
        if !is_id(id, usize::MAX) {
            return Err(Refusal::bad(format!(
                "messages.{at}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            )));
        }
        if !self.ids.insert(id.to_owned()) {
            return Err(Refusal::bad(format!("messages.{at}: `tool_use` ids must be unique")));
        }
        if !block["input"].is_object() || !block["name"].is_string() {
            return Err(Refusal::bad(format!(
                "messages.{at}: tool_use.input: Input should be a valid dictionary"
            )));
        }
        self.open.insert(id.to_owned());
        Ok(())
    }
}

/// Returns the blocks of a message; a text is one block.
fn blocks(message: &Value, at: usize) -> Checked<Vec<Value>> {
    let content = &message["content"];
    let blocks = match content.as_str() {
        Some(text) => vec![serde_json::json!({ "type": "text", "text": text })],
        None => content.as_array().cloned().unwrap_or_default(),
    };
    if blocks.is_empty() {
        return Err(Refusal::bad(format!(
            "messages.{at}: all messages must have non-empty content"
        )));
    }
    Ok(blocks)
}

fn text(block: &Value, at: usize) -> Checked<String> {
    let words = block["text"].as_str().filter(|text| !text.trim().is_empty());
    words.map(str::to_owned).ok_or_else(|| {
        Refusal::bad(format!("messages.{at}: text content blocks must be non-empty"))
    })
}

fn image(block: &Value, at: usize) -> Checked<()> {
    let source = &block["source"];
    let media_type = source["media_type"].as_str().unwrap_or_default();
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&media_type);
    let data = source["data"].as_str().unwrap_or_default();
    if source["type"] != "base64" || !known || data.is_empty() || data.contains([',', ':']) {
        return Err(Refusal::bad(format!("messages.{at}: image.source: invalid base64 data")));
    }
    Ok(())
}

fn tag(kind: Option<&str>, at: usize) -> Refusal {
    Refusal::bad(format!("messages.{at}: Input tag {kind:?} does not match any expected tag"))
}

fn is_id(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
