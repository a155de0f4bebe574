//! How Chat Completions answers: whole, and as a stream of chunks.
//!
//! What it accepts is in [`check`].

use serde_json::{Value, json};

use super::{
    plan::{Block, Tokens, Turn, pieces, raw_input},
    routes::Asked,
};

pub(super) mod check;

const ID: &str = "chatcmpl-planned";

pub(super) fn whole(asked: &Asked, turn: &Turn) -> Value {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for (index, block) in turn.blocks.iter().enumerate() {
        match block {
            Block::Text { text: more } => text.push_str(more),
            Block::Reasoning { text: more, .. } => reasoning.push_str(more),
            Block::Redacted { .. } => {}
            Block::Call { tool, input, id } => calls.push(json!({
                "id": call_id(asked, index, id.as_ref()), "type": "function",
                "function": { "name": tool, "arguments": raw_input(input) },
            })),
        }
    }
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { json!(text) };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": ID, "object": "chat.completion", "created": 1_700_000_000, "model": asked.model,
        "choices": [{
            "index": 0, "message": message, "logprobs": null, "finish_reason": finish(turn),
        }],
        "usage": usage(turn.tokens(asked.bytes)),
    })
}

/// Returns the events of an answer, and apart from them those that end it.
pub(super) fn frames(asked: &Asked, turn: &Turn, interleave: bool) -> (Vec<String>, Vec<String>) {
    let chunk = |delta: &Value| frame(&chunk(asked, delta, &Value::Null));
    let mut out = vec![chunk(&json!({ "role": "assistant", "content": "" }))];
    let mut calls: Vec<Vec<String>> = Vec::new();
    for (index, block) in turn.blocks.iter().enumerate() {
        match block {
            Block::Text { text } => {
                let texts = pieces(text, asked.piece_chars);
                out.extend(texts.iter().map(|text| chunk(&json!({ "content": text }))));
            }
            Block::Reasoning { text, .. } => {
                let texts = pieces(text, asked.piece_chars);
                out.extend(texts.iter().map(|text| chunk(&json!({ "reasoning_content": text }))));
            }
            Block::Redacted { .. } => {}
            Block::Call { tool, input, id } => {
                let place = calls.len();
                let first = json!({ "tool_calls": [{
                    "index": place, "id": call_id(asked, index, id.as_ref()), "type": "function",
                    "function": { "name": tool, "arguments": "" },
                }] });
                let mut call = vec![chunk(&first)];
                call.extend(pieces(&raw_input(input), asked.piece_chars).iter().map(|piece| {
                    chunk(&json!({ "tool_calls": [{
                        "index": place, "function": { "arguments": piece },
                    }] }))
                }));
                calls.push(call);
            }
        }
    }
    out.extend(if interleave { take_turns(calls) } else { calls.concat() });
    (out, end_frames(asked, turn))
}

fn end_frames(asked: &Asked, turn: &Turn) -> Vec<String> {
    let mut out = vec![frame(&chunk(asked, &json!({}), &json!(finish(turn))))];
    if asked.usage_in_stream {
        let mut last = chunk(asked, &json!({}), &Value::Null);
        last["choices"] = json!([]);
        last["usage"] = usage(turn.tokens(asked.bytes));
        out.push(frame(&last));
    }
    out.push("data: [DONE]\n\n".into());
    out
}

pub(super) fn error_frame(kind: &str) -> String {
    frame(&json!({ "error": {
        "message": "The stream failed as planned.", "type": kind, "param": null, "code": null,
    } }))
}

fn chunk(asked: &Asked, delta: &Value, finish: &Value) -> Value {
    json!({
        "id": ID, "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": asked.model,
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }],
    })
}

fn frame(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn take_turns(calls: Vec<Vec<String>>) -> Vec<String> {
    let longest = calls.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|at| calls.iter().filter_map(move |call| call.get(at))).cloned().collect()
}

fn call_id(asked: &Asked, index: usize, id: Option<&String>) -> String {
    id.cloned().unwrap_or_else(|| format!("call_{}_{index}", asked.spoken))
}

fn finish(turn: &Turn) -> &str {
    let usual = if turn.calls() { "tool_calls" } else { "stop" };
    turn.stop.as_deref().unwrap_or(usual)
}

fn usage(tokens: Tokens) -> Value {
    let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
    json!({
        "prompt_tokens": prompt, "completion_tokens": tokens.output,
        "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": { "cached_tokens": tokens.cache_read, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": tokens.reasoning, "audio_tokens": 0 },
    })
}
