//! What a model is asked: the stored transcript, turned into a conversation that every provider takes.
//!
//! Every call has exactly one result, in the order of the calls. What broke off is not replayed, except
//! for its words. Each item has a bound. Choosing what to leave out of a long conversation is not here.

use std::collections::{HashMap, HashSet};

use provider::prompt::{AssistantPart, Prompt, PromptMessage};
use serde_json::{Map, Value};
use vocab::{
    ids::{CallId, MessageId},
    limits::{PROMPT_IMAGE_BYTES_MAX, PROMPT_TEXT_BYTES_MAX},
    message::{CallState, Message, ModelRef, Part, Role, StopReason},
    outcome::{Content, Effect, Failure, Outcome},
};

use crate::{parts::beginning, toolbelt::Kit, transcript::Transcript, turn::Settings};

/// Assembles the next request of a run.
#[must_use]
pub fn assemble(transcript: &Transcript, kit: &Kit, settings: &Settings) -> Prompt {
    Prompt {
        model: transcript.run.model.clone(),
        system: settings.system.clone(),
        messages: conversation(transcript, settings.images),
        tools: kit.told(),
        output_tokens_max: settings.output_tokens_max,
        cache_key: transcript.session.to_string(),
    }
}

/// Turns the transcript into messages. What the user said after the run began comes in where the run
/// took it up; what it has not taken up yet is left out.
#[must_use]
pub fn conversation(transcript: &Transcript, images: bool) -> Vec<PromptMessage> {
    let mut talk = Talk { out: Vec::new(), images, said: HashMap::new() };
    let steered: HashSet<&MessageId> = transcript
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| if let Part::Steer { message } = part { Some(message) } else { None })
        .collect();
    for message in transcript.messages.iter().filter(|message| message.role == Role::User) {
        talk.said.insert(&message.id, message);
    }
    let mut after_own = false;
    for message in &transcript.messages {
        match message.role {
            Role::Assistant => talk.assistant(message),
            Role::User if after_own || steered.contains(&message.id) => {}
            Role::User => talk.user(message),
        }
        after_own |= message.id == transcript.run.message;
    }
    talk.out
}

/// Keeps what a model reads of an outcome within bounds.
#[must_use]
pub fn bounded(mut outcome: Outcome) -> Outcome {
    let mut left = PROMPT_TEXT_BYTES_MAX;
    for content in &mut outcome.content {
        if let Content::Text { text } = content {
            if text.len() > left {
                *text = cut(text, left);
            }
            left = left.saturating_sub(text.len());
        }
    }
    outcome
}

struct Talk<'a> {
    out: Vec<PromptMessage>,
    images: bool,
    said: HashMap<&'a MessageId, &'a Message>,
}

impl Talk<'_> {
    fn user(&mut self, message: &Message) {
        let mut content = Vec::new();
        for part in &message.parts {
            match part {
                Part::Text { text, .. } if !text.trim().is_empty() => {
                    content.push(Content::text(cut(text, PROMPT_TEXT_BYTES_MAX)));
                }
                Part::File { media_type, data } => content.push(self.shown(media_type, data)),
                Part::Text { .. }
                | Part::Step { .. }
                | Part::Reasoning { .. }
                | Part::Call { .. }
                | Part::Steer { .. }
                | Part::Note { .. } => {}
            }
        }
        if content.is_empty() {
            return;
        }
        // Two users in a row are one, because not every provider takes two.
        match self.out.last_mut() {
            Some(PromptMessage::User(before)) => before.extend(content),
            _ => self.out.push(PromptMessage::User(content)),
        }
    }

    fn assistant(&mut self, message: &Message) {
        let begins = |(idx, part): (usize, &Part)| {
            matches!(part, Part::Step { .. } | Part::Steer { .. }).then_some(idx)
        };
        let mut at: Vec<usize> = message.parts.iter().enumerate().filter_map(begins).collect();
        at.push(message.parts.len());
        for (from, to) in at.iter().zip(at.iter().skip(1)) {
            let Some((first, rest)) =
                message.parts.get(*from..*to).and_then(|segment| segment.split_first())
            else {
                continue;
            };
            if let Part::Step { model, stop, .. } = first {
                self.step(model, *stop, rest);
            }
            if let Part::Steer { message } = first
                && let Some(said) = self.said.get(message).copied()
            {
                self.user(said);
            }
        }
    }

    fn step(&mut self, model: &ModelRef, stop: Option<StopReason>, parts: &[Part]) {
        let mut said = Vec::new();
        let mut results: Vec<(CallId, String, Outcome)> = Vec::new();
        for part in parts {
            match part {
                Part::Text { text, .. } if !text.trim().is_empty() => {
                    said.push(AssistantPart::Text(cut(text, PROMPT_TEXT_BYTES_MAX)));
                }
                // Thinking and calls of an answer that broke off are not whole, so nothing vouches
                // for them; no call of it was ever run.
                Part::Reasoning { text, signature, redacted, .. } if stop.is_some() => {
                    if !text.is_empty() || signature.is_some() {
                        said.push(AssistantPart::Reasoning {
                            text: text.clone(),
                            signature: signature.clone(),
                            redacted: *redacted,
                        });
                    }
                }
                Part::Call { call, tool, input, state, .. } if stop.is_some() => {
                    said.push(AssistantPart::Call {
                        id: call.clone(),
                        tool: tool.clone(),
                        input: object(input),
                    });
                    results.push((call.clone(), tool.clone(), self.result(state)));
                }
                Part::Text { .. }
                | Part::Step { .. }
                | Part::Reasoning { .. }
                | Part::Call { .. }
                | Part::File { .. }
                | Part::Steer { .. }
                | Part::Note { .. } => {}
            }
        }
        let speaks = said.iter().any(|part| !matches!(part, AssistantPart::Reasoning { .. }));
        if speaks {
            self.out.push(PromptMessage::Assistant { model: model.clone(), parts: said });
        }
        if !results.is_empty() {
            self.out.push(PromptMessage::Results(results));
        }
    }

    fn result(&self, state: &CallState) -> Outcome {
        let outcome = match state {
            CallState::Ended { outcome, .. } => outcome,
            CallState::Started => {
                return Outcome::failed(Failure::new(
                    "interrupted",
                    Effect::Indeterminate,
                    "no result of this call was kept; it may or may not have taken effect",
                ));
            }
            CallState::Requested | CallState::Blocked | CallState::Approved => {
                return Outcome::failed(Failure::not_started(
                    "interrupted",
                    "this call never began; nothing was done",
                ));
            }
        };
        let mut outcome = bounded(outcome.clone());
        for content in &mut outcome.content {
            if let Content::Image { media_type, data } = content {
                *content = self.shown(media_type, data);
            }
        }
        if outcome.content.is_empty() {
            outcome.content.push(Content::text("(no output)"));
        }
        outcome
    }

    /// Shows a file to the model, or says why it is not shown.
    fn shown(&self, media_type: &str, data: &str) -> Content {
        let named = beginning(media_type, 80);
        let picture = matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
        if !picture {
            return Content::text(format!("[a file of type {named} is not shown]"));
        }
        if !self.images {
            return Content::text(format!(
                "[a picture ({named}) is not shown: this model sees none]"
            ));
        }
        if data.len() > PROMPT_IMAGE_BYTES_MAX {
            return Content::text(format!("[a picture ({named}) is not shown: it is too large]"));
        }
        Content::Image { media_type: media_type.to_owned(), data: data.to_owned() }
    }
}

/// Arguments that were no object were refused; the model is shown an empty one, as providers want.
fn object(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { Value::Object(Map::new()) }
}

/// Cuts a text to its bound and says so.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let kept = beginning(text, bytes_max);
    format!("{kept}\n[{} more bytes are not shown]", text.len() - kept.len())
}
