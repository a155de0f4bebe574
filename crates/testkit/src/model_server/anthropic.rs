//! How the Messages API answers: whole, and as a stream of named events.
//!
//! What it accepts is in [`check`].

use serde_json::{Value, json};

use super::{
    plan::{Block, Tokens, Turn, pieces, raw_input},
    routes::Asked,
};

pub(super) mod check;

pub(super) fn whole(asked: &Asked, turn: &Turn) -> Value {
    let blocks: Vec<Value> = turn
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| match block {
            Block::Text { text } => json!({ "type": "text", "text": text }),
            Block::Reasoning { text, signature } => {
                json!({ "type": "thinking", "thinking": text, "signature": signature })
            }
            Block::Redacted { data } => json!({ "type": "redacted_thinking", "data": data }),
            Block::Call { tool, input, id } => json!({
                "type": "tool_use", "id": call_id(asked, index, id.as_ref()), "name": tool,
                "input": if input.is_null() { json!({}) } else { input.clone() },
            }),
        })
        .collect();
    let mut message = message(asked, turn);
    message["content"] = json!(blocks);
    message["stop_reason"] = json!(stop(turn));
    message["usage"] = usage(turn.tokens(asked.bytes));
    message
}

/// Returns the events of an answer, and apart from them those that end it.
pub(super) fn frames(asked: &Asked, turn: &Turn) -> (Vec<String>, Vec<String>) {
    let mut out = vec![
        frame("message_start", &json!({ "message": message(asked, turn) })),
        frame("ping", &json!({})),
    ];
    for (index, block) in turn.blocks.iter().enumerate() {
        let (start, deltas) = parts(asked, index, block);
        out.push(frame("content_block_start", &json!({ "index": index, "content_block": start })));
        out.extend(
            deltas.iter().map(|delta| {
                frame("content_block_delta", &json!({ "index": index, "delta": delta }))
            }),
        );
        out.push(frame("content_block_stop", &json!({ "index": index })));
    }
    let tokens = turn.tokens(asked.bytes);
    let end = vec![
        frame(
            "message_delta",
            &json!({
                "delta": { "stop_reason": stop(turn), "stop_sequence": null },
                "usage": { "output_tokens": tokens.output },
            }),
        ),
        frame("message_stop", &json!({})),
    ];
    (out, end)
}

pub(super) fn error_frame(kind: &str) -> String {
    let error = json!({ "type": kind, "message": "The stream failed as planned." });
    frame("error", &json!({ "error": error }))
}

/// Returns how a block starts and the deltas that follow.
fn parts(asked: &Asked, index: usize, block: &Block) -> (Value, Vec<Value>) {
    let cut = |text: &str| pieces(text, asked.piece_chars);
    match block {
        Block::Text { text } => (
            json!({ "type": "text", "text": "" }),
            cut(text).iter().map(|text| json!({ "type": "text_delta", "text": text })).collect(),
        ),
        Block::Reasoning { text, signature } => {
            let mut deltas: Vec<Value> = cut(text)
                .iter()
                .map(|text| json!({ "type": "thinking_delta", "thinking": text }))
                .collect();
            deltas.push(json!({ "type": "signature_delta", "signature": signature }));
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
        }
        Block::Redacted { data } => {
            (json!({ "type": "redacted_thinking", "data": data }), Vec::new())
        }
        Block::Call { tool, input, id } => {
            let start = json!({
                "type": "tool_use", "id": call_id(asked, index, id.as_ref()), "name": tool,
                "input": {},
            });
            // The vendor begins with an empty piece.
            let mut deltas = vec![json!({ "type": "input_json_delta", "partial_json": "" })];
            deltas.extend(
                cut(&raw_input(input))
                    .iter()
                    .map(|text| json!({ "type": "input_json_delta", "partial_json": text })),
            );
            (start, deltas)
        }
    }
}

fn message(asked: &Asked, turn: &Turn) -> Value {
    let mut tokens = turn.tokens(asked.bytes);
    tokens.output = 1;
    json!({
        "id": "msg_planned", "type": "message", "role": "assistant", "model": asked.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(tokens),
    })
}

fn frame(name: &str, fields: &Value) -> String {
    let mut event = json!({ "type": name });
    if let (Some(event), Some(fields)) = (event.as_object_mut(), fields.as_object()) {
        event.extend(fields.clone());
    }
    format!("event: {name}\ndata: {event}\n\n")
}

fn call_id(asked: &Asked, index: usize, id: Option<&String>) -> String {
    id.cloned().unwrap_or_else(|| format!("toolu_{}_{index}", asked.spoken))
}

fn stop(turn: &Turn) -> &str {
    let usual = if turn.calls() { "tool_use" } else { "end_turn" };
    turn.stop.as_deref().unwrap_or(usual)
}

fn usage(tokens: Tokens) -> Value {
    json!({
        "input_tokens": tokens.input, "output_tokens": tokens.output,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
    })
}
