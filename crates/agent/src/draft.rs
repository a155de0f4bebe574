//! A model's answer while it is being written: deltas become parts, and what is not stored yet is known.
//!
//! Pure but for the time it is handed. Telling and storing are the caller's business.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use provider::delta::Delta;
use serde_json::Value;
use tokio::time::Instant;
use vocab::{
    ids::CallId,
    limits::{ANSWER_BYTES_MAX, CALL_NAME_BYTES_MAX, TEXT_STORE_BYTES, TEXT_STORE_MS},
    live::Chunk,
    message::{CallState, Part, Usage},
};

use crate::{journal::Pulse, parts::beginning};

/// A call whose arguments are being written.
#[derive(Debug)]
struct OpenCall {
    call: CallId,
    tool: String,
    raw: String,
}

/// The parts of an answer so far.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The index that the first part has in its message.
    base: usize,
    parts: Vec<Part>,
    /// How many parts are stored for good.
    stored: usize,
    open_call: Option<OpenCall>,
    taken_ids: HashSet<CallId>,
    /// The number that the next call with an id that is taken gets.
    next_copies: HashMap<CallId, u64>,
    /// Tokens of the attempt that is under way.
    usage: Usage,
    bytes: usize,
    bytes_unsaved: usize,
    unsaved_since: Option<Instant>,
    part_ended: bool,
}

impl Draft {
    /// Begins an answer after the given parts of its message.
    pub(crate) fn after(parts: &[Part]) -> Self {
        let ids = parts.iter().filter_map(|part| {
            if let Part::Call { call, .. } = part { Some(call.clone()) } else { None }
        });
        Self {
            base: parts.len(),
            parts: Vec::new(),
            stored: 0,
            open_call: None,
            taken_ids: ids.collect(),
            next_copies: HashMap::new(),
            usage: Usage::default(),
            bytes: 0,
            bytes_unsaved: 0,
            unsaved_since: None,
            part_ended: false,
        }
    }

    /// Tells whether the model has begun to say anything.
    pub(crate) fn begun(&self) -> bool {
        !self.parts.is_empty() || self.open_call.is_some()
    }

    /// Returns the tokens of the attempt.
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Tells whether the answer is longer than any model's should be.
    pub(crate) fn too_long(&self) -> bool {
        self.bytes > ANSWER_BYTES_MAX
    }

    /// Tells whether a part ended that is not stored.
    pub(crate) fn part_ended(&self) -> bool {
        self.part_ended
    }

    /// Tells whether so much text is unsaved that it must not wait.
    pub(crate) fn full(&self) -> bool {
        self.bytes_unsaved >= TEXT_STORE_BYTES
    }

    /// Returns when unsaved text has waited long enough.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.unsaved_since.map(|since| since + Duration::from_millis(TEXT_STORE_MS))
    }

    /// Takes a piece of the answer and returns what to tell of it. Terminal pieces are not for it.
    pub(crate) fn hear(&mut self, delta: Delta, now: Instant) -> Option<Pulse> {
        match delta {
            Delta::TextStart => Some(self.open(Part::Text { text: String::new(), done: false })),
            Delta::ReasoningStart => Some(self.open(Part::Reasoning {
                text: String::new(),
                signature: None,
                redacted: false,
                done: false,
            })),
            Delta::Text(more) | Delta::Reasoning(more) => self.grow(more, now),
            Delta::TextEnd => self.end_text(None, false, now),
            Delta::ReasoningEnd { signature, redacted } => self.end_text(signature, redacted, now),
            Delta::CallStart { id, tool } => Some(self.open_call(id, tool)),
            Delta::CallInput(more) => {
                self.bytes += more.len();
                self.open_call.as_mut()?.raw.push_str(&more);
                (!more.is_empty()).then_some(Pulse::Text(more))
            }
            Delta::CallEnd { input } => {
                let chunk = self.end_call(Some(input), now)?;
                Some(Pulse::Chunk(chunk))
            }
            Delta::Usage(usage) => {
                self.usage = usage;
                None
            }
            Delta::Done(_) | Delta::Failed(_) => None,
        }
    }

    /// Ends a call that the answer left open; its arguments stay as raw text.
    pub(crate) fn end_open_call(&mut self, now: Instant) -> Option<Chunk> {
        self.end_call(None, now)
    }

    /// Ends words or thinking that the answer left open.
    pub(crate) fn end_open_text(&mut self, now: Instant) -> Option<Pulse> {
        self.end_text(None, false, now)
    }

    /// Returns the parts that are not stored as they are now, with their indices, and counts them as
    /// stored.
    pub(crate) fn take_unsaved(&mut self) -> Vec<(usize, Part)> {
        let unsaved: Vec<(usize, Part)> = self
            .parts
            .iter()
            .enumerate()
            .skip(self.stored)
            .map(|(idx, part)| (self.base + idx, part.clone()))
            .collect();
        let open = matches!(
            self.parts.last(),
            Some(Part::Text { done: false, .. } | Part::Reasoning { done: false, .. })
        );
        self.stored = self.parts.len() - usize::from(open);
        self.bytes_unsaved = 0;
        self.unsaved_since = None;
        self.part_ended = false;
        unsaved
    }

    fn open(&mut self, part: Part) -> Pulse {
        let idx = self.base + self.parts.len();
        let chunk = if matches!(part, Part::Text { .. }) {
            Chunk::TextStart { part: idx }
        } else {
            Chunk::ReasoningStart { part: idx }
        };
        self.parts.push(part);
        Pulse::Chunk(chunk)
    }

    fn open_call(&mut self, id: CallId, tool: String) -> Pulse {
        let id = CallId(beginning(&id.0, CALL_NAME_BYTES_MAX).to_owned());
        let tool = beginning(&tool, CALL_NAME_BYTES_MAX).to_owned();
        // Some models count their calls anew in every answer; within a run an id must mean one call.
        let mut call = id.clone();
        while !self.taken_ids.insert(call.clone()) {
            let copy = self.next_copies.entry(id.clone()).or_insert(2);
            call = CallId(format!("{id}_{copy}"));
            *copy += 1;
        }
        self.bytes += tool.len() + call.0.len();
        self.open_call =
            Some(OpenCall { call: call.clone(), tool: tool.clone(), raw: String::new() });
        Pulse::Chunk(Chunk::InputStart { call, tool })
    }

    fn grow(&mut self, more: String, now: Instant) -> Option<Pulse> {
        self.bytes += more.len();
        match self.parts.last_mut() {
            Some(Part::Text { text, done: false } | Part::Reasoning { text, done: false, .. })
                if self.open_call.is_none() =>
            {
                text.push_str(&more)
            }
            _ => return None,
        }
        self.bytes_unsaved += more.len();
        self.unsaved_since.get_or_insert(now);
        (!more.is_empty()).then_some(Pulse::Text(more))
    }

    fn end_text(
        &mut self,
        given: Option<String>,
        given_redacted: bool,
        now: Instant,
    ) -> Option<Pulse> {
        let idx = (self.base + self.parts.len()).checked_sub(1)?;
        let chunk = match self.parts.last_mut() {
            Some(Part::Text { done, .. }) if !*done => {
                *done = true;
                Chunk::TextEnd { part: idx }
            }
            Some(Part::Reasoning { done, signature, redacted, .. }) if !*done => {
                *done = true;
                self.bytes += given.as_ref().map_or(0, String::len);
                *signature = given;
                *redacted = given_redacted;
                Chunk::ReasoningEnd { part: idx }
            }
            _ => return None,
        };
        self.part_ended = true;
        self.unsaved_since.get_or_insert(now);
        Some(Pulse::Chunk(chunk))
    }

    fn end_call(&mut self, input: Option<Value>, now: Instant) -> Option<Chunk> {
        let OpenCall { call, tool, raw } = self.open_call.take()?;
        let input = input.unwrap_or(Value::String(raw));
        self.parts.push(Part::Call {
            call: call.clone(),
            tool: tool.clone(),
            input: input.clone(),
            block: None,
            state: CallState::Requested,
        });
        self.part_ended = true;
        self.unsaved_since.get_or_insert(now);
        Some(Chunk::InputDone { call, tool, input: Arc::new(input) })
    }
}
