//! How many bytes of somebody's words a chunk carries. Punctuation of a wire is not counted.

use serde_json::Value;

use crate::outcome::{Content, Outcome};

/// Bytes that a number or a word of JSON counts for.
const PLAIN_BYTES: usize = 8;

pub(super) fn outcome(outcome: &Outcome) -> usize {
    let content = outcome.content.iter().map(|block| match block {
        Content::Text { text } => text.len(),
        Content::Image { data, .. } => data.len(),
    });
    let failure = outcome
        .failure
        .as_ref()
        .map_or(0, |failure| failure.message.len() + failure.hint.as_ref().map_or(0, String::len));
    content.sum::<usize>() + failure + outcome.details.as_ref().map_or(0, value)
}

pub(super) fn value(json: &Value) -> usize {
    match json {
        Value::Null | Value::Bool(_) | Value::Number(_) => PLAIN_BYTES,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value).sum(),
        Value::Object(fields) => fields.iter().map(|(name, inner)| name.len() + value(inner)).sum(),
    }
}
