//! Stored messages in the AI SDK's shape, as `GET /sessions/:id/messages` tells them and as a reader of
//! the run stream reduces them.

use serde_json::{Value, json};
use vocab::message::{CallState, Message, Part, Role};

use crate::stream;

/// Returns a message as the SDK keeps it.
#[must_use]
pub fn message(message: &Message) -> Value {
    let mut parts = Vec::with_capacity(message.parts.len());
    for (idx, part) in message.parts.iter().enumerate() {
        push_part(&mut parts, idx, part);
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

fn push_part(parts: &mut Vec<Value>, idx: usize, part: &Part) {
    let state_of = |done: bool| if done { "done" } else { "streaming" };
    match part {
        Part::Step { .. } => parts.push(json!({"type": "step-start"})),
        Part::Text { text, done } => {
            parts.push(json!({"type": "text", "text": text, "state": state_of(*done)}));
        }
        Part::Reasoning { text, done, .. } => {
            parts.push(json!({"type": "reasoning", "text": text, "state": state_of(*done)}));
        }
        Part::File { media_type, data } => {
            let url = format!("data:{media_type};base64,{data}");
            parts.push(json!({"type": "file", "mediaType": media_type, "url": url}));
        }
        Part::Steer { message } => parts.push(
            json!({"type": "data-stead-steer", "id": message, "data": {"messageId": message}}),
        ),
        Part::Note { kind, text } => parts.push(json!({
            "type": "data-stead-note", "id": format!("p{idx}"), "data": {"kind": kind, "text": text},
        })),
        Part::Call { call, tool, input, block, state } => {
            let mut told = json!({
                "type": format!("tool-{tool}"), "toolCallId": call, "input": input,
            });
            let (word, extra) = call_state(state);
            told["state"] = json!(word);
            if let Some((key, value)) = extra {
                told[key] = value;
            }
            if let Some(block) = block {
                told["approval"] = match state {
                    CallState::Blocked => json!({"id": block}),
                    CallState::Ended { outcome, .. } if is_denied(outcome) => {
                        json!({"id": block, "approved": false})
                    }
                    CallState::Requested
                    | CallState::Approved
                    | CallState::Started
                    | CallState::Ended { .. } => json!({"id": block, "approved": true}),
                };
            }
            parts.push(told);
            if let CallState::Ended { outcome, .. } = state
                && outcome.is_error()
            {
                let data = stream::outcome_data(&call.0, outcome);
                parts.push(json!({"type": "data-stead-outcome", "id": call, "data": data}));
            }
        }
    }
}

fn is_denied(outcome: &vocab::outcome::Outcome) -> bool {
    outcome.failure.as_ref().is_some_and(|failure| failure.code == stream::DENIED)
}

fn call_state(state: &CallState) -> (&'static str, Option<(&'static str, Value)>) {
    match state {
        CallState::Requested | CallState::Started => ("input-available", None),
        CallState::Blocked => ("approval-requested", None),
        CallState::Approved => ("approval-responded", None),
        CallState::Ended { outcome, .. } if is_denied(outcome) => ("output-denied", None),
        CallState::Ended { outcome, .. } if outcome.is_error() => {
            ("output-error", Some(("errorText", json!(outcome.plain_text()))))
        }
        CallState::Ended { outcome, .. } => {
            ("output-available", Some(("output", stream::tool_output(outcome))))
        }
    }
}
