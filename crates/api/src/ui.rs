//! Stored messages in the AI SDK's shape, as `GET /sessions/:id/messages` tells them and as a reader of
//! the run stream reduces them.

use serde_json::{Value, json};
use vocab::{
    live::segment_end,
    message::{CallState, Message, Part, Role},
};

use crate::stream;

/// Returns a message as the SDK keeps it.
#[must_use]
pub fn message(message: &Message) -> Value {
    let mut parts = Vec::with_capacity(message.parts.len());
    let mut begin = 0;
    while begin < message.parts.len() {
        let end = segment_end(&message.parts, begin);
        let segment = message.parts.get(begin..end).unwrap_or_default();
        for (idx, part) in segment.iter().enumerate() {
            parts.push(of_part(begin + idx, part));
        }
        push_outcomes(&mut parts, segment);
        begin = end;
    }
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let created_at = stdx::clock::Timestamp::from_millis(message.created_at).to_string();
    json!({
        "id": message.id, "role": role, "parts": parts,
        "metadata": {"runId": message.run, "createdAt": created_at},
    })
}

/// What the SDK has no room for comes where the stream tells it: after the calls of its segment, in the
/// order in which they ended.
fn push_outcomes(parts: &mut Vec<Value>, segment: &[Part]) {
    let mut failed: Vec<_> = segment
        .iter()
        .filter_map(|part| {
            let Part::Call { call, state: CallState::Ended { outcome, ordinal }, .. } = part else {
                return None;
            };
            outcome.is_error().then_some((*ordinal, call, outcome))
        })
        .collect();
    failed.sort_by_key(|(ordinal, ..)| *ordinal);
    for (_, call, outcome) in failed {
        let data = stream::outcome_data(&call.0, outcome);
        parts.push(json!({"type": "data-stead-outcome", "id": call, "data": data}));
    }
}

fn of_part(idx: usize, part: &Part) -> Value {
    let state_of = |done: bool| if done { "done" } else { "streaming" };
    match part {
        Part::Step { .. } => json!({"type": "step-start"}),
        Part::Text { text, done } => {
            json!({"type": "text", "text": text, "state": state_of(*done)})
        }
        Part::Reasoning { text, done, .. } => json!({
            "type": "reasoning", "id": stream::text_id(idx), "text": text, "state": state_of(*done),
        }),
        Part::File { media_type, data } => {
            let url = format!("data:{media_type};base64,{data}");
            json!({"type": "file", "mediaType": media_type, "url": url})
        }
        Part::Steer { message } => {
            json!({"type": "data-stead-steer", "id": message, "data": {"messageId": message}})
        }
        Part::Note { kind, text } => json!({
            "type": "data-stead-note", "id": stream::text_id(idx),
            "data": {"kind": kind, "text": text},
        }),
        Part::Call { call, tool, input, block, state } => {
            let mut told = json!({
                "type": format!("tool-{tool}"), "toolCallId": call, "input": input,
            });
            let (word, extra) = call_state(state, block.is_some());
            told["state"] = json!(word);
            if let Some((key, value)) = extra {
                told[key] = value;
            }
            if let Some(block) = block {
                told["approval"] = match state {
                    CallState::Blocked => json!({"id": block}),
                    CallState::Ended { outcome, .. } => {
                        json!({"id": block, "approved": !stream::is_refused(outcome)})
                    }
                    CallState::Requested | CallState::Approved | CallState::Started => {
                        json!({"id": block, "approved": true})
                    }
                };
            }
            told
        }
    }
}

fn call_state(state: &CallState, asked: bool) -> (&'static str, Option<(&'static str, Value)>) {
    match state {
        CallState::Blocked => ("approval-requested", None),
        CallState::Approved => ("approval-responded", None),
        // The SDK knows no call that runs; one that was asked about stays answered until it ends.
        CallState::Requested | CallState::Started if asked => ("approval-responded", None),
        CallState::Requested | CallState::Started => ("input-available", None),
        CallState::Ended { outcome, .. } if stream::is_refused(outcome) => ("output-denied", None),
        CallState::Ended { outcome, .. } if outcome.is_error() => {
            ("output-error", Some(("errorText", json!(outcome.plain_text()))))
        }
        CallState::Ended { outcome, .. } => {
            ("output-available", Some(("output", stream::tool_output(outcome))))
        }
    }
}
