//! What a user says, from the two request shapes to the parts of a stored message.
//!
//! How much may be said is not decided here.

use api::{
    agent::{LastMessage, LastPart, PartKind},
    chat::{ChatApproval, ChatMessage, ChatPart, ChatRequest, word},
    history::{Few, History},
};
use vocab::{
    ids::BlockId,
    limits::LAST_MESSAGE_BYTES_MAX,
    message::{Answer, Part, Role},
};

use crate::{
    decode::{self, Text},
    refuse::Refused,
};

/// Returns what the last message of a run's request says. The others are only looked at.
pub(super) fn of_run(history: &History<'_>) -> Result<Vec<Part>, Refused> {
    if let Some(odd) = history.odd {
        let text = "a message has the role `user` or `assistant`";
        return Err(Refused::new("invalid_field", text).at(format!("messages[{odd}].role")));
    }
    let (field, raw) = last(history)?;
    let message: LastMessage = decode::object(raw, &field)?;
    let wrong = |text: &str| Err(Refused::new("invalid_field", text).at(field.clone()));
    if message.role != Role::User {
        return wrong("the last message must be a user's");
    }
    match (message.content, message.parts) {
        (Some(text), None) => Ok(vec![Part::Text { text, done: true }]),
        (None, Some(Few(parts))) => parts
            .into_iter()
            .enumerate()
            .map(|(idx, part)| part_of(part, &format!("{field}.parts[{idx}]")))
            .collect(),
        _ => wrong("a message has either content or parts, and not both"),
    }
}

/// Returns the last message as it stands in the body, and its path.
fn last<'a>(history: &History<'a>) -> Result<(String, &'a [u8]), Refused> {
    let Some(raw) = history.last else {
        return Err(Refused::new("invalid_field", "there is no message").at("messages"));
    };
    let field = format!("messages[{}]", history.count - 1);
    let max = LAST_MESSAGE_BYTES_MAX;
    if raw.get().len() > max {
        let text = format!("the last message has at most {max} bytes");
        return Err(Refused::new("invalid_field", text).at(field));
    }
    Ok((field, raw.get().as_bytes()))
}

fn part_of(part: LastPart, field: &str) -> Result<Part, Refused> {
    let LastPart { kind, text, media_type, url, filename } = part;
    let foreign = match kind {
        PartKind::Text => [
            ("mediaType", media_type.is_some()),
            ("url", url.is_some()),
            ("filename", filename.is_some()),
        ],
        PartKind::File => [("text", text.is_some()), ("", false), ("", false)],
    };
    if let Some((name, _)) = foreign.into_iter().find(|(_, given)| *given) {
        let field = format!("{field}.{name}");
        return Err(Refused::new("unknown_field", format!("{field}: unknown field")).at(field));
    }
    let missing = |name: &str| {
        let field = format!("{field}.{name}");
        Refused::new("invalid_field", format!("{field}: missing field")).at(field)
    };
    match kind {
        PartKind::Text => Ok(Part::Text { text: text.ok_or_else(|| missing("text"))?, done: true }),
        PartKind::File => {
            let media_type = media_type.ok_or_else(|| missing("mediaType"))?;
            let url = url.ok_or_else(|| missing("url"))?;
            file(Some(media_type), &url, field)
        }
    }
}

/// What a chat's request asks for.
#[derive(Debug)]
pub(super) struct Chat {
    /// The chat's id.
    pub(super) id: String,
    /// What its last message brings.
    pub(super) last: Last,
}

/// What the last message of a chat brings.
#[derive(Debug)]
pub(super) enum Last {
    /// What a user says.
    Says(Vec<Part>),
    /// A person's answers to what a run waits for.
    Answers(Vec<(BlockId, Answer)>),
}

/// Reads the body of a chat.
pub(super) fn of_chat(body: &[u8]) -> Result<Chat, Refused> {
    let request: ChatRequest<'_> = decode::json(body)?;
    match request.trigger.as_deref() {
        None | Some("submit-message") => {}
        Some("regenerate-message") => {
            let text = "an answer cannot be made again";
            return Err(Refused::new("regenerate_unsupported", text)
                .at("trigger")
                .with_hint("send the message once more"));
        }
        Some(_) => {
            let text = "a trigger is `submit-message` or `regenerate-message`";
            return Err(Refused::new("invalid_field", text).at("trigger"));
        }
    }
    decode::texts([("id", Text::Name, Some(request.id.as_str()))])?;
    let (field, raw) = last(&request.messages)?;
    let message: ChatMessage<'_> = decode::object(raw, &field)?;
    let last = match message.role.as_str() {
        "user" => Last::Says(says(&message, &field)?),
        "assistant" => Last::Answers(answers(&message, &field)?),
        _ => {
            let text = "the last message must be a user's";
            return Err(Refused::new("invalid_field", text).at("messages"));
        }
    };
    Ok(Chat { id: request.id, last })
}

/// Returns what a message of a chat says. Parts that are neither text nor file are the client's own
/// business.
fn says(message: &ChatMessage<'_>, field: &str) -> Result<Vec<Part>, Refused> {
    let mut parts = Vec::new();
    for (idx, part) in message.parts.0.iter().enumerate() {
        match word(part.kind).as_deref() {
            Some("text") => {
                let text = word(part.text).unwrap_or_default();
                parts.push(Part::Text { text, done: true });
            }
            Some("file") => {
                let field = format!("{field}.parts[{idx}]");
                let url = word(part.url).unwrap_or_default();
                parts.push(file(word(part.media_type), &url, &field)?);
            }
            _ => {}
        }
    }
    Ok(parts)
}

/// Returns the answers that a message of a chat carries.
fn answers(message: &ChatMessage<'_>, field: &str) -> Result<Vec<(BlockId, Answer)>, Refused> {
    let mut all = Vec::new();
    for (idx, part) in message.parts.0.iter().enumerate() {
        let Some((block, answer)) = answer_of(part) else { continue };
        let field = format!("{field}.parts[{idx}].approval.reason");
        decode::texts([(field.as_str(), Text::Reason, answer.reason.as_deref())])?;
        all.push((block, answer));
    }
    Ok(all)
}

/// Reads the answer that a tool part carries.
fn answer_of(part: &ChatPart<'_>) -> Option<(BlockId, Answer)> {
    if word(part.state)? != "approval-responded" {
        return None;
    }
    let approval: ChatApproval<'_> = serde_json::from_str(part.approval?.get()).ok()?;
    let block = word(approval.id)?.parse().ok()?;
    Some((block, Answer { approved: approval.approved, reason: word(approval.reason) }))
}

/// Reads the `data:` URL of the part at `field`. Nothing is fetched on a caller's behalf.
fn file(media_type: Option<String>, url: &str, field: &str) -> Result<Part, Refused> {
    let wrong = || {
        let text = "a file is a data: URL in base64; nothing is fetched from elsewhere";
        Refused::new("invalid_field", text).at(format!("{field}.url"))
    };
    let rest = url.strip_prefix("data:").ok_or_else(wrong)?;
    let (told, data) = rest.split_once(";base64,").ok_or_else(wrong)?;
    let media_type = media_type.unwrap_or_else(|| told.to_owned());
    let named = format!("{field}.mediaType");
    decode::texts([(named.as_str(), Text::Name, Some(media_type.as_str()))])?;
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

#[cfg(test)]
mod tests;
