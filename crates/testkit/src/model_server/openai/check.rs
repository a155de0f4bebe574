//! What Chat Completions accepts.
//!
//! Written from the vendor's documented rules, stricter where local servers are lax.

use std::collections::HashSet;

use axum::http::HeaderMap;
use serde_json::Value;

use crate::model_server::{
    head::Head,
    plan::Plan,
    refusal::{Refusal, Vendor},
    routes::Asked,
};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "n",
    "user",
    "store",
    "reasoning_effort",
    "prompt_cache_key",
    "parallel_tool_calls",
    "metadata",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "verbosity",
];

const HEAD: Head = Head {
    vendor: Vendor::OpenAi,
    key: ("authorization", "Bearer "),
    fields: FIELDS,
    no_object: "The body must be an object.",
    unknown: |name| format!("Unrecognized request argument supplied: {name}"),
    no_model: "you must provide a model parameter",
};

/// The longest id of a call.
const CALL_ID_CHARS_MAX: usize = 40;

type Checked<T> = Result<T, Refusal>;

pub(in crate::model_server) fn check(
    plan: &Plan,
    headers: &HeaderMap,
    body: &Value,
) -> Checked<Asked> {
    HEAD.key(plan, headers)?;
    let model = HEAD.model(body)?;
    let streaming = body["stream"].as_bool().unwrap_or(false);
    if !streaming && !body["stream_options"].is_null() {
        return Err(Refusal::bad(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ));
    }
    for name in ["max_tokens", "max_completion_tokens"] {
        if !body[name].is_null() && body[name].as_u64().is_none_or(|count| count == 0) {
            return Err(Refusal::bad(format!("Invalid '{name}': integer below minimum value.")));
        }
    }
    tools(body)?;
    let (user, step, spoken) = messages(body)?;
    Ok(Asked {
        model,
        streaming,
        usage_in_stream: body["stream_options"]["include_usage"].as_bool().unwrap_or(false),
        user,
        step,
        spoken,
        bytes: 0,
        piece_chars: 1,
    })
}

fn tools(body: &Value) -> Checked<()> {
    if body["tools"].is_null() {
        return Ok(());
    }
    let tools = list(&body["tools"], "tools")?;
    if tools.is_empty() {
        return Err(Refusal::bad("[] is too short - 'tools'"));
    }
    for (at, tool) in tools.iter().enumerate() {
        let function = &tool["function"];
        if tool["type"] != "function" || !is_name(function["name"].as_str().unwrap_or_default()) {
            return Err(Refusal::bad(format!("Invalid 'tools[{at}].function.name'.")));
        }
        if !function["parameters"].is_null() && function["parameters"]["type"] != "object" {
            return Err(Refusal::bad(format!(
                "Invalid schema for function {}: schema must be of 'type: \"object\"'.",
                function["name"]
            )));
        }
    }
    Ok(())
}

/// Checks the conversation; returns the last plain user text, the steps since, and all of them.
fn messages(body: &Value) -> Checked<(String, usize, usize)> {
    let messages = list(&body["messages"], "messages")?;
    if messages.is_empty() {
        return Err(Refusal::bad("[] is too short - 'messages'"));
    }
    let (mut user, mut step, mut spoken) = (String::new(), 0, 0);
    let mut open: HashSet<String> = HashSet::new();
    let mut after_tool = false;
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            return Err(unanswered(&open));
        }
        match role {
            "system" | "developer" => {
                content(&message["content"], at, &["text"])?;
            }
            "user" => {
                let text = content(&message["content"], at, &["text", "image_url"])?;
                if !(after_tool && has_image(message)) {
                    (user, step) = (text, 0);
                }
            }
            "assistant" => {
                open = assistant(message, at)?;
                step += 1;
                spoken += 1;
            }
            "tool" => {
                content(&message["content"], at, &["text"])?;
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    return Err(Refusal::bad(
                        "messages with role 'tool' must be a response to a preceding message with \
                         'tool_calls'.",
                    ));
                }
            }
            other => {
                return Err(Refusal::bad(format!(
                    "Invalid value: '{other}'. Supported values are: 'system', 'assistant', \
                     'user', 'tool', and 'developer'."
                )));
            }
        }
        after_tool = role == "tool";
    }
    if open.is_empty() { Ok((user, step, spoken)) } else { Err(unanswered(&open)) }
}

fn unanswered(open: &HashSet<String>) -> Refusal {
    Refusal::bad(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
         'tool_call_id'. The following tool_call_ids did not have response messages: {open:?}"
    ))
}

/// Checks an assistant message and returns the ids of its calls.
fn assistant(message: &Value, at: usize) -> Checked<HashSet<String>> {
    let mut open = HashSet::new();
    let calls = if message["tool_calls"].is_null() {
        &[]
    } else {
        list(&message["tool_calls"], "tool_calls")?
    };
    if !message["tool_calls"].is_null() && calls.is_empty() {
        return Err(Refusal::bad(format!("[] is too short - 'messages.{at}.tool_calls'")));
    }
    if message["content"].is_null() {
        if calls.is_empty() {
            return Err(Refusal::bad(format!(
                "Invalid value for 'content': expected a string, got null. (messages.[{at}])"
            )));
        }
    } else {
        content(&message["content"], at, &["text", "refusal"])?;
    }
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if id.is_empty() || id.chars().count() > CALL_ID_CHARS_MAX {
            return Err(Refusal::bad(format!(
                "Invalid 'messages[{at}].tool_calls[0].id': string too long or empty."
            )));
        }
        if call["type"] != "function"
            || !is_name(call["function"]["name"].as_str().unwrap_or_default())
            || !call["function"]["arguments"].is_string()
        {
            return Err(Refusal::bad(format!("Invalid 'messages[{at}].tool_calls[0]'.")));
        }
        if !open.insert(id.to_owned()) {
            return Err(Refusal::bad(format!("Duplicate tool call id {id:?} in messages[{at}].")));
        }
    }
    Ok(open)
}

/// Checks content (a text or typed parts) and returns its words.
fn content(content: &Value, at: usize, types: &[&str]) -> Checked<String> {
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let parts = list(content, &format!("messages.[{at}].content"))?;
    if parts.is_empty() {
        return Err(Refusal::bad(format!("[] is too short - 'messages.{at}.content'")));
    }
    let mut words = Vec::new();
    for part in parts {
        let kind = part["type"].as_str().unwrap_or_default();
        if !types.contains(&kind) {
            return Err(Refusal::bad(format!("Invalid content type {kind:?} in messages[{at}].")));
        }
        if kind == "text" {
            words.push(part["text"].as_str().ok_or_else(|| Refusal::bad("Missing 'text'."))?);
        }
        let url = part["image_url"]["url"].as_str().unwrap_or_default();
        if kind == "image_url" && !(url.starts_with("data:image/") || url.starts_with("https://")) {
            return Err(Refusal::bad("Invalid image_url."));
        }
    }
    Ok(words.join("\n"))
}

fn has_image(message: &Value) -> bool {
    message["content"]
        .as_array()
        .is_some_and(|parts| parts.iter().any(|part| part["type"] == "image_url"))
}

fn list<'a>(value: &'a Value, name: &str) -> Checked<&'a [Value]> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| Refusal::bad(format!("Invalid type for '{name}': expected an array.")))
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
