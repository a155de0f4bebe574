//! From a prompt to the body of a request.
//!
//! Results carry text only on this wire; their pictures follow in a user message of their own.

use serde_json::{Map, Value, json};
use vocab::outcome::Content;

use super::decode::REASONING_FIELDS;
use crate::{
    prompt::Prompt,
    transcript::{self, Answer, Piece, Turn},
};

/// The longest id of a call that OpenAI takes.
const CALL_ID_CHARS: usize = 40;

/// What depends on the server and the model.
pub(crate) struct Setup<'a> {
    /// Whether it is OpenAI itself.
    pub(crate) official: bool,
    /// Whether the model is shown pictures.
    pub(crate) images: bool,
    pub(crate) reasoning_effort: Option<&'a str>,
}

pub(crate) fn encode(prompt: &Prompt, setup: &Setup<'_>) -> Value {
    let mut messages = Vec::new();
    if !prompt.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": prompt.system }));
    }
    for turn in transcript::turns(prompt, CALL_ID_CHARS) {
        match turn {
            Turn::User(blocks) => {
                messages.push(json!({ "role": "user", "content": content(setup, &blocks) }));
            }
            Turn::Assistant(pieces) => messages.push(assistant(&pieces)),
            Turn::Results(answers) => results(setup, &answers, &mut messages),
        }
    }
    let mut body = json!({
        "model": prompt.model.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    // OpenAI's newer models refuse the old name; other servers do not know the new one.
    let limit = if setup.official { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(prompt.output_tokens_max);
    if !prompt.tools.is_empty() {
        body["tools"] = prompt
            .tools
            .iter()
            .map(|tool| {
                json!({ "type": "function", "function": {
                    "name": tool.name, "description": tool.description,
                    "parameters": tool.parameters,
                } })
            })
            .collect();
    }
    if let Some(effort) = setup.reasoning_effort {
        body["reasoning_effort"] = json!(effort);
    }
    if setup.official && !prompt.cache_key.is_empty() {
        body["prompt_cache_key"] = json!(prompt.cache_key);
    }
    body
}

fn assistant(pieces: &[Piece<'_>]) -> Value {
    let mut message = Map::from_iter([("role".to_owned(), json!("assistant"))]);
    let (mut text, mut calls) = (String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.push_str(more),
            Piece::Reasoning { text, signature, .. } => {
                // The signature is the name of the field that the thinking came in.
                if REASONING_FIELDS.contains(signature) && !text.is_empty() {
                    message.insert((*signature).to_owned(), json!(text));
                }
            }
            Piece::Call { id, tool, input } => calls.push(json!({
                "id": id, "type": "function",
                "function": { "name": tool, "arguments": input.to_string() },
            })),
        }
    }
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), json!(calls));
    }
    Value::Object(message)
}

fn results(setup: &Setup<'_>, answers: &[Answer<'_>], messages: &mut Vec<Value>) {
    let mut pictures = Vec::new();
    for answer in answers {
        let mut texts = Vec::new();
        for block in answer.content {
            match block {
                Content::Text { text } => texts.push(text.clone()),
                Content::Image { .. } if setup.images => {
                    texts.push("(a picture, shown below)".to_owned());
                    pictures.push(block);
                }
                Content::Image { media_type, .. } => texts.push(omitted(media_type)),
            }
        }
        let text = texts.join("\n");
        let text = if text.is_empty() { "(no output)".to_owned() } else { text };
        messages.push(json!({ "role": "tool", "tool_call_id": answer.id, "content": text }));
    }
    if !pictures.is_empty() {
        let lead = Content::text("The pictures of the results above, in order:");
        let blocks: Vec<&Content> = std::iter::once(&lead).chain(pictures).collect();
        messages.push(json!({ "role": "user", "content": content(setup, &blocks) }));
    }
}

/// Returns a user's content: one text, or parts when there are pictures.
fn content(setup: &Setup<'_>, blocks: &[&Content]) -> Value {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    for block in blocks {
        let text = match block {
            Content::Text { text } => text.clone(),
            Content::Image { media_type, data } if setup.images => {
                let url = format!("data:{media_type};base64,{data}");
                parts.push(json!({ "type": "image_url", "image_url": { "url": url } }));
                continue;
            }
            Content::Image { media_type, .. } => omitted(media_type),
        };
        parts.push(json!({ "type": "text", "text": text }));
        plain.push(text);
    }
    // Plain text is what every server takes.
    if plain.len() == parts.len() { json!(plain.join("\n\n")) } else { json!(parts) }
}

fn omitted(media_type: &str) -> String {
    format!("(a picture of type {media_type}, which this model is not shown)")
}
