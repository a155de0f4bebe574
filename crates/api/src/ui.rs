//! Stored messages in the AI SDK's shape, as `GET /sessions/:id/messages` tells them and as a reader of
//! the run stream reduces them.

use serde::{Serialize, Serializer, ser::SerializeSeq as _};
use serde_json::Value;
use vocab::{
    ids::{BlockId, CallId, RunId},
    live::segment_end,
    message::{CallState, Message, Part, Role},
    outcome::Outcome,
};

use crate::{
    parts::{DataPart, TextId, ToolOutput},
    stream::is_refused,
};

/// A message as the SDK keeps it, ready to be written.
#[derive(Debug, Serialize)]
pub struct UiMessage<'a> {
    id: &'a str,
    role: &'static str,
    parts: Parts<'a>,
    metadata: Metadata<'a>,
}

/// Shows a message as the SDK keeps it.
#[must_use]
pub fn message(message: &Message) -> UiMessage<'_> {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let created_at = stdx::clock::Timestamp::from_millis(message.created_at).to_string();
    UiMessage {
        id: message.id.as_str(),
        role,
        parts: Parts(&message.parts),
        metadata: Metadata { run_id: message.run.as_ref().map(RunId::as_str), created_at },
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    run_id: Option<&'a str>,
    created_at: String,
}

#[derive(Debug)]
struct Parts<'a>(&'a [Part]);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut told = serializer.serialize_seq(None)?;
        let mut begin = 0;
        while begin < self.0.len() {
            let end = segment_end(self.0, begin);
            let segment = self.0.get(begin..end).unwrap_or_default();
            for (idx, part) in segment.iter().enumerate() {
                told.serialize_element(&UiPart::of(begin + idx, part))?;
            }
            for (_, call, outcome) in failed(segment) {
                told.serialize_element(&DataPart::outcome(&call.0, outcome))?;
            }
            begin = end;
        }
        told.end()
    }
}

/// Returns the calls of a segment that failed, in the order in which they ended. What the SDK has no
/// room for comes where the stream tells it: after the calls of its segment, in this order.
fn failed(segment: &[Part]) -> Vec<(u32, &CallId, &Outcome)> {
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
    failed
}

/// A part as the SDK keeps it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum UiPart<'a> {
    Said(SaidPart<'a>),
    Called(CallPart<'a>),
    Ours(DataPart<'a>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum SaidPart<'a> {
    StepStart,
    Text { text: &'a str, state: &'static str },
    Reasoning { id: TextId, text: &'a str, state: &'static str },
    File { media_type: &'a str, url: DataUrl<'a> },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallPart<'a> {
    #[serde(rename = "type")]
    kind: Tool<'a>,
    tool_call_id: &'a str,
    input: &'a Value,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<ToolOutput<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<Approval<'a>>,
}

#[derive(Debug, Serialize)]
struct Approval<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<bool>,
}

impl<'a> UiPart<'a> {
    fn of(idx: usize, part: &'a Part) -> Self {
        let state_of = |done: &bool| if *done { "done" } else { "streaming" };
        match part {
            Part::Step { .. } => Self::Said(SaidPart::StepStart),
            Part::Text { text, done } => Self::Said(SaidPart::Text { text, state: state_of(done) }),
            Part::Reasoning { text, done, .. } => {
                Self::Said(SaidPart::Reasoning { id: TextId(idx), text, state: state_of(done) })
            }
            Part::File { media_type, data } => {
                Self::Said(SaidPart::File { media_type, url: DataUrl { media_type, data } })
            }
            Part::Steer { message } => Self::Ours(DataPart::steer(message)),
            Part::Note { kind, text } => Self::Ours(DataPart::note(idx, kind, text)),
            Part::Call { call, tool, input, block, state } => {
                let outcome = match state {
                    CallState::Ended { outcome, .. } => Some(outcome),
                    CallState::Requested
                    | CallState::Blocked
                    | CallState::Approved
                    | CallState::Started => None,
                };
                let refused = outcome.is_some_and(is_refused);
                let failed = outcome.filter(|outcome| outcome.is_error() && !refused);
                Self::Called(CallPart {
                    kind: Tool(tool),
                    tool_call_id: &call.0,
                    input,
                    state: word_of(state, block.as_ref()),
                    output: outcome.filter(|outcome| !outcome.is_error()).map(ToolOutput::of),
                    error_text: failed.map(Outcome::plain_text),
                    approval: block.as_ref().map(|block| Approval {
                        id: block.as_str(),
                        approved: (!matches!(state, CallState::Blocked)).then_some(!refused),
                    }),
                })
            }
        }
    }
}

/// Names the state in which the SDK keeps a call.
fn word_of(state: &CallState, block: Option<&BlockId>) -> &'static str {
    match state {
        CallState::Blocked => "approval-requested",
        CallState::Approved => "approval-responded",
        // The SDK knows no call that runs; one that was asked about stays answered until it ends.
        CallState::Requested | CallState::Started if block.is_some() => "approval-responded",
        CallState::Requested | CallState::Started => "input-available",
        CallState::Ended { outcome, .. } if is_refused(outcome) => "output-denied",
        CallState::Ended { outcome, .. } if outcome.is_error() => "output-error",
        CallState::Ended { .. } => "output-available",
    }
}

/// The kind of part that a call of a tool is.
#[derive(Debug)]
struct Tool<'a>(&'a str);

impl Serialize for Tool<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("tool-{}", self.0))
    }
}

/// A file as its own address.
#[derive(Debug)]
struct DataUrl<'a> {
    media_type: &'a str,
    data: &'a str,
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data:{};base64,{}", self.media_type, self.data))
    }
}

#[cfg(test)]
mod tests;
