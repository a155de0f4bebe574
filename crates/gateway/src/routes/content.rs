//! What a user says, from the two request shapes to the parts of a stored message.
//!
//! How much may be said is not decided here.

use api::{
    agent::{RunMessage, RunPart},
    chat::ChatMessage,
};
use serde_json::Value;
use vocab::message::{Part, Role};

use crate::refuse::Refused;

/// Returns what the last message of a run's request says.
pub(super) fn of_run(mut messages: Vec<RunMessage>) -> Result<Vec<Part>, Refused> {
    let at = messages.len().saturating_sub(1);
    let field = format!("messages[{at}]");
    let wrong = |text: &str| Err(Refused::new("invalid_field", text).at(field.clone()));
    match messages.pop() {
        Some(RunMessage { role: Role::User, content: Some(text), parts: None, .. }) => {
            Ok(vec![Part::Text { text, done: true }])
        }
        Some(RunMessage { role: Role::User, content: None, parts: Some(parts), .. }) => parts
            .into_iter()
            .enumerate()
            .map(|(idx, part)| match part {
                RunPart::Text { text } => Ok(Part::Text { text, done: true }),
                RunPart::File { media_type, url, .. } => {
                    file(Some(media_type), &url, &format!("{field}.parts[{idx}].url"))
                }
            })
            .collect(),
        Some(RunMessage { role: Role::User, .. }) => {
            wrong("a message has either content or parts, and not both")
        }
        Some(RunMessage { role: Role::Assistant, .. }) => {
            wrong("the last message must be a user's")
        }
        None => Err(Refused::new("invalid_field", "there is no message").at("messages")),
    }
}

/// Returns what the last message of a chat says. Parts that are neither text nor file are the client's
/// own business.
pub(super) fn of_chat(message: &ChatMessage, at: usize) -> Result<Vec<Part>, Refused> {
    let mut parts = Vec::new();
    for (idx, part) in message.parts.iter().enumerate() {
        let text_of = |name: &str| part.get(name).and_then(Value::as_str);
        match text_of("type") {
            Some("text") => {
                let text = text_of("text").unwrap_or_default().to_owned();
                parts.push(Part::Text { text, done: true });
            }
            Some("file") => {
                let field = format!("messages[{at}].parts[{idx}].url");
                let media_type = text_of("mediaType").map(str::to_owned);
                parts.push(file(media_type, text_of("url").unwrap_or_default(), &field)?);
            }
            _ => {}
        }
    }
    Ok(parts)
}

/// Reads a `data:` URL. Nothing is fetched on a caller's behalf.
fn file(media_type: Option<String>, url: &str, field: &str) -> Result<Part, Refused> {
    let wrong = || {
        let text = "a file is a data: URL in base64; nothing is fetched from elsewhere";
        Refused::new("invalid_field", text).at(field)
    };
    let rest = url.strip_prefix("data:").ok_or_else(wrong)?;
    let (told, data) = rest.split_once(";base64,").ok_or_else(wrong)?;
    let media_type = media_type.unwrap_or_else(|| told.to_owned());
    if is_base64(data) && media_type.contains('/') {
        Ok(Part::File { media_type, data: data.to_owned() })
    } else {
        Err(wrong())
    }
}

/// Tells whether a text is standard base64 with its padding, without decoding it.
fn is_base64(text: &str) -> bool {
    let body = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}
