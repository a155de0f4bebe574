//! A prompt as any vendor takes it: strict turns, clean ids, no empty blocks, no foreign signatures.
//!
//! The rules that all dialects share are here, once. What a turn looks like on a wire is not.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use serde_json::{Value, json};
use vocab::{
    ids::CallId,
    message::ModelRef,
    outcome::{Content, Outcome},
};

use crate::prompt::{AssistantPart, Prompt, PromptMessage};

/// What a call without a result gets, so that the vendor takes the conversation.
static NO_RESULT: LazyLock<Vec<Content>> =
    LazyLock::new(|| vec![Content::text("no result provided: the call was interrupted")]);

/// One turn; two of the same kind never follow each other.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    User(Vec<&'a Content>),
    Assistant(Vec<Piece<'a>>),
    Results(Vec<Answer<'a>>),
}

/// A part of an assistant turn.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    /// Thinking of the same model, to be given back.
    Reasoning {
        text: &'a str,
        signature: &'a str,
        redacted: bool,
    },
    Call {
        id: String,
        tool: &'a str,
        input: Cow<'a, Value>,
    },
}

/// The result of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer<'a> {
    pub(crate) id: String,
    pub(crate) content: &'a [Content],
    pub(crate) failed: bool,
}

struct Pending<'a> {
    original: &'a CallId,
    id: String,
    outcome: Option<&'a Outcome>,
}

/// Brings the messages of a prompt into strict turns. Ids hold at most `id_chars` characters.
pub(crate) fn turns(prompt: &Prompt, id_chars: usize) -> Vec<Turn<'_>> {
    let mut builder = Builder {
        model: &prompt.model,
        id_chars,
        used: HashSet::new(),
        pending: Vec::new(),
        turns: Vec::new(),
    };
    for message in &prompt.messages {
        match message {
            PromptMessage::User(content) => builder.user(content),
            PromptMessage::Assistant { model, parts } => builder.assistant(model, parts),
            PromptMessage::Results(results) => builder.results(results),
        }
    }
    builder.settle();
    builder.turns
}

struct Builder<'a> {
    model: &'a ModelRef,
    id_chars: usize,
    used: HashSet<String>,
    pending: Vec<Pending<'a>>,
    turns: Vec<Turn<'a>>,
}

impl<'a> Builder<'a> {
    fn user(&mut self, content: &'a [Content]) {
        self.settle();
        let kept: Vec<&Content> = content.iter().filter(|block| !is_blank(block)).collect();
        if kept.is_empty() {
            return;
        }
        if let Some(Turn::User(last)) = self.turns.last_mut() {
            last.extend(kept);
        } else {
            self.turns.push(Turn::User(kept));
        }
    }

    fn assistant(&mut self, model: &ModelRef, parts: &'a [AssistantPart]) {
        self.settle();
        let same = model == self.model;
        let pieces: Vec<Piece<'a>> =
            parts.iter().filter_map(|part| self.piece(same, part)).collect();
        if pieces.is_empty() {
            return;
        }
        if let Some(Turn::Assistant(last)) = self.turns.last_mut() {
            last.extend(pieces);
        } else {
            self.turns.push(Turn::Assistant(pieces));
        }
    }

    /// Keeps a part when the model may see it. Thinking without a signature, or of another model, is
    /// dropped: shown as text it would be imitated.
    fn piece(&mut self, same: bool, part: &'a AssistantPart) -> Option<Piece<'a>> {
        match part {
            AssistantPart::Text(text) => (!text.trim().is_empty()).then_some(Piece::Text(text)),
            AssistantPart::Reasoning { text, signature, redacted } => {
                let signature = signature.as_deref().filter(|_| same)?;
                Some(Piece::Reasoning { text, signature, redacted: *redacted })
            }
            AssistantPart::Call { id: original, tool, input } => {
                let id = self.clean(original);
                self.pending.push(Pending { original, id: id.clone(), outcome: None });
                let input = if input.is_object() {
                    Cow::Borrowed(input)
                } else {
                    Cow::Owned(json!({ "unparsed": input }))
                };
                Some(Piece::Call { id, tool, input })
            }
        }
    }

    /// Holds the results that belong to open calls; others are dropped.
    fn results(&mut self, results: &'a [(CallId, String, Outcome)]) {
        for (id, _, outcome) in results {
            let open =
                self.pending.iter_mut().find(|call| call.original == id && call.outcome.is_none());
            if let Some(call) = open {
                call.outcome = Some(outcome);
            }
        }
    }

    /// Answers every open call, in the order of the calls.
    fn settle(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let answers = self.pending.drain(..).map(|call| Answer {
            id: call.id,
            content: call.outcome.map_or(NO_RESULT.as_slice(), |outcome| &outcome.content),
            failed: call.outcome.is_none_or(Outcome::is_error),
        });
        self.turns.push(Turn::Results(answers.collect()));
    }

    /// Returns an id that every vendor takes, unique in the conversation.
    fn clean(&mut self, original: &CallId) -> String {
        let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        let base: String = original
            .0
            .chars()
            .map(|char| if allowed(char) { char } else { '_' })
            .take(self.id_chars)
            .collect();
        let base = if base.is_empty() { "call".to_owned() } else { base };
        let mut id = base.clone();
        let mut count = 1_u32;
        while !self.used.insert(id.clone()) {
            count += 1;
            let suffix = format!("_{count}");
            let room = self.id_chars.saturating_sub(suffix.len());
            id = base.chars().take(room).chain(suffix.chars()).collect();
        }
        id
    }
}

fn is_blank(content: &Content) -> bool {
    match content {
        Content::Text { text } => text.trim().is_empty(),
        Content::Image { data, .. } => data.is_empty(),
    }
}

#[cfg(test)]
mod tests;
