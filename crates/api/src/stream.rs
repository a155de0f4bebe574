//! The run stream: chunks of the live message in the AI SDK's UI message stream vocabulary.
//!
//! Every `data:` line is a chunk that the SDK's own schema accepts; what is ours travels as
//! `data-stead-*` chunks and in message metadata. A chunk of the log can take several frames; only the
//! last of them carries the position, so that a reader that was cut in between gets all of them again.
//! The finish carries none: a parked run takes it back when it goes on, and a reader that counted it
//! would miss what then stands in its place; and a reader that was cut behind it has yet to hear
//! `[DONE]`.

use serde_json::{Value, json};
use vocab::{
    ids::{BlockId, RunId},
    live::{Chunk, Piece, Position, Told},
    message::{RunEnd, RunState},
    outcome::{Content, Outcome},
};

/// The header that tells the SDK what the body is.
pub const STREAM_HEADER: (&str, &str) = ("x-vercel-ai-ui-message-stream", "v1");

/// The code of an outcome that a person refused.
pub const DENIED: &str = "denied";

/// The code of an outcome whose question nobody had answered when its run ended.
pub const UNANSWERED: &str = "unanswered";

/// Writes a position as an event id: `<run>.<chunks>.<bytes>`.
#[must_use]
pub fn event_id(run: &RunId, position: Position) -> String {
    format!("{run}.{}.{}", position.chunks, position.bytes)
}

/// Reads an event id.
#[must_use]
pub fn parse_event_id(text: &str) -> Option<(RunId, Position)> {
    let mut pieces = text.rsplitn(3, '.');
    let bytes = pieces.next()?.parse().ok()?;
    let chunks = pieces.next()?.parse().ok()?;
    Some((pieces.next()?.parse().ok()?, Position { chunks, bytes }))
}

/// Writes a piece of the log as frames, ready for the wire.
#[must_use]
pub fn frames(run: &RunId, piece: &Piece) -> String {
    let chunks = match &piece.told {
        Told::Chunk(chunk) => of_chunk(chunk),
        Told::Delta { of, text } => of_delta(of, text),
    };
    let last = chunks.len().saturating_sub(1);
    let finish = matches!(piece.told, Told::Chunk(Chunk::Finish { .. }));
    let mut out = String::new();
    for (idx, chunk) in chunks.iter().enumerate() {
        if idx == last && !finish {
            out.push_str("id: ");
            out.push_str(&event_id(run, piece.after));
            out.push('\n');
        }
        out.push_str("data: ");
        out.push_str(&chunk.to_string());
        out.push_str("\n\n");
    }
    if finish {
        out.push_str(DONE);
    }
    out
}

/// The last frame of a run stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// Writes a progress pulse as a frame. It has no position: who misses it reads the outcome.
#[must_use]
pub fn progress_frame(call: &str, text: &str, replaces: bool) -> String {
    let chunk = json!({
        "type": "data-stead-progress",
        "data": {"callId": call, "text": text, "replaces": replaces},
        "transient": true,
    });
    format!("data: {chunk}\n\n")
}

fn of_delta(of: &Chunk, text: &str) -> Vec<Value> {
    match of {
        Chunk::TextStart { part } => {
            vec![json!({"type": "text-delta", "id": text_id(*part), "delta": text})]
        }
        Chunk::ReasoningStart { part } => {
            vec![json!({"type": "reasoning-delta", "id": text_id(*part), "delta": text})]
        }
        Chunk::InputStart { call, .. } => {
            vec![json!({"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": text})]
        }
        Chunk::Start { .. }
        | Chunk::StepStart
        | Chunk::StepEnd
        | Chunk::TextEnd { .. }
        | Chunk::ReasoningEnd { .. }
        | Chunk::InputDone { .. }
        | Chunk::Approval { .. }
        | Chunk::Output { .. }
        | Chunk::Steer { .. }
        | Chunk::Note { .. }
        | Chunk::Finish { .. } => Vec::new(),
    }
}

/// Returns the chunks of the SDK's vocabulary that tell one chunk of the log.
#[must_use]
pub fn of_chunk(chunk: &Chunk) -> Vec<Value> {
    match chunk {
        Chunk::Start { session, run, message } => vec![json!({
            "type": "start", "messageId": message,
            "messageMetadata": {"sessionId": session, "runId": run},
        })],
        Chunk::StepStart => vec![json!({"type": "start-step"})],
        Chunk::StepEnd => vec![json!({"type": "finish-step"})],
        Chunk::TextStart { part } => vec![json!({"type": "text-start", "id": text_id(*part)})],
        Chunk::TextEnd { part } => vec![json!({"type": "text-end", "id": text_id(*part)})],
        Chunk::ReasoningStart { part } => {
            vec![json!({"type": "reasoning-start", "id": text_id(*part)})]
        }
        Chunk::ReasoningEnd { part } => {
            vec![json!({"type": "reasoning-end", "id": text_id(*part)})]
        }
        Chunk::InputStart { call, tool } => {
            vec![json!({"type": "tool-input-start", "toolCallId": call, "toolName": tool})]
        }
        Chunk::InputDone { call, tool, input } => vec![
            json!({"type": "tool-input-available", "toolCallId": call, "toolName": tool, "input": **input}),
        ],
        Chunk::Approval { call, block } => {
            vec![json!({"type": "tool-approval-request", "toolCallId": call, "approvalId": block})]
        }
        Chunk::Output { call, block, outcome } => of_outcome(&call.0, block.as_ref(), outcome),
        Chunk::Steer { message } => vec![json!({
            "type": "data-stead-steer", "id": message, "data": {"messageId": message},
        })],
        Chunk::Note { part, kind, text } => vec![json!({
            "type": "data-stead-note", "id": text_id(*part), "data": {"kind": kind, "text": text},
        })],
        Chunk::Finish { state, usage } => of_finish(state, &json!(usage)),
    }
}

/// The answer to a call's question is told together with its outcome: only then is its place in the log
/// the same for a live run and for the stored one.
fn of_outcome(call: &str, block: Option<&BlockId>, outcome: &Outcome) -> Vec<Value> {
    let refused = is_refused(outcome);
    let mut chunks = Vec::with_capacity(3);
    if let Some(block) = block {
        chunks.push(
            json!({"type": "tool-approval-response", "approvalId": block, "approved": !refused}),
        );
    }
    chunks.push(if refused {
        json!({"type": "tool-output-denied", "toolCallId": call})
    } else if outcome.is_error() {
        json!({"type": "tool-output-error", "toolCallId": call, "errorText": outcome.plain_text()})
    } else {
        json!({"type": "tool-output-available", "toolCallId": call, "output": tool_output(outcome)})
    });
    if outcome.is_error() {
        let data = outcome_data(call, outcome);
        chunks.push(json!({"type": "data-stead-outcome", "id": call, "data": data}));
    }
    chunks
}

/// Tells whether a call did not run because nobody allowed it.
pub(crate) fn is_refused(outcome: &Outcome) -> bool {
    outcome
        .failure
        .as_ref()
        .is_some_and(|failure| failure.code == DENIED || failure.code == UNANSWERED)
}

/// What the SDK's error state has no room for: code, effect and details of a failed call.
#[must_use]
pub fn outcome_data(call: &str, outcome: &Outcome) -> Value {
    json!({
        "callId": call,
        "code": outcome.failure.as_ref().map(|failure| &failure.code),
        "effect": outcome.effect(),
        "hint": outcome.failure.as_ref().and_then(|failure| failure.hint.as_ref()),
        "details": outcome.details,
    })
}

/// Returns a successful outcome as the `output` of a tool part.
#[must_use]
pub fn tool_output(outcome: &Outcome) -> Value {
    let content: Vec<Value> = outcome
        .content
        .iter()
        .map(|block| match block {
            Content::Text { text } => json!({"type": "text", "text": text}),
            Content::Image { media_type, data } => {
                json!({"type": "image", "mediaType": media_type, "data": data})
            }
        })
        .collect();
    json!({"content": content, "details": outcome.details})
}

fn of_finish(state: &RunState, usage: &Value) -> Vec<Value> {
    let reason = match state {
        RunState::Running | RunState::Ended(RunEnd::Finished) => "stop",
        RunState::Parked { .. } => "tool-calls",
        RunState::Ended(RunEnd::StepLimit { .. }) => "length",
        RunState::Ended(RunEnd::Failed { .. } | RunEnd::Interrupted) => "error",
        RunState::Ended(RunEnd::Aborted) => "other",
    };
    let metadata = json!({"run": state, "usage": usage});
    let finish = json!({"type": "finish", "finishReason": reason, "messageMetadata": metadata});
    // Readers that stop at an error or an abort still learn how the run stands.
    let told = match state {
        RunState::Ended(RunEnd::Failed { failure }) => {
            json!({"type": "error", "errorText": failure.message})
        }
        RunState::Ended(RunEnd::Interrupted) => {
            json!({"type": "error", "errorText": "the daemon died while this run worked"})
        }
        RunState::Ended(RunEnd::Aborted) => json!({"type": "abort"}),
        RunState::Ended(RunEnd::Finished | RunEnd::StepLimit { .. })
        | RunState::Running
        | RunState::Parked { .. } => return vec![finish],
    };
    vec![json!({"type": "message-metadata", "messageMetadata": metadata}), told, finish]
}

/// Returns the id that text of a part has on the wire.
pub(crate) fn text_id(part: usize) -> String {
    format!("p{part}")
}
