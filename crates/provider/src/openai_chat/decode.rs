//! From chunks, or a whole completion, to deltas.
//!
//! Everything is read by name and nothing is required: servers leave out, rename and repeat fields.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use vocab::{
    message::{StopReason, Usage},
    outcome::Effect,
};

use crate::{
    blocks::Blocks,
    delta::{Delta, ProviderFailure},
    exchange::{self, Decode},
    refusal::{self, Told},
    speaker::Speaker,
};

/// Where servers put thinking. The name is kept as its signature, to give it back the same way.
pub(super) const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// What is known between two chunks.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    blocks: Blocks,
    calls: Vec<Call>,
    /// The latest call of an index, and of an id.
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    finish: Option<String>,
    usage: Option<Usage>,
    speaker: Arc<Speaker>,
}

/// A call as the wire names it.
#[derive(Debug)]
struct Call {
    id: String,
    key: u64,
}

impl Decode for Decoder {
    fn event(&mut self, chunk: &Value, out: &mut Vec<Delta>) {
        if self.finish.is_some() {
            // The answer is over; its count of tokens may follow.
            self.count(chunk, out);
            return;
        }
        if !chunk["error"].is_null() || chunk["object"] == "error" {
            let body = chunk.to_string();
            let told = Told::inside(&self.speaker, &body);
            out.push(Delta::Failed(refusal::classify(&told)));
            return;
        }
        let choice = &chunk["choices"][0];
        let message =
            if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        self.message(message, out);
        if let Some(finish) = choice["finish_reason"].as_str().filter(|text| !text.is_empty()) {
            self.finish = Some(finish.to_owned());
            self.blocks.end(out);
        }
        self.count(chunk, out);
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<Delta>) {
        if !answer["choices"][0].is_object() {
            let said = self.speaker.excerpt(&answer.to_string());
            let message = format!("the answer holds no choices: {said}");
            out.push(Delta::Failed(ProviderFailure::fatal(
                "bad_answer",
                Effect::Indeterminate,
                message,
            )));
            return;
        }
        self.event(answer, out);
        self.done(out);
    }

    fn done(&mut self, out: &mut Vec<Delta>) {
        if self.finish.is_none() && !self.blocks.hold_anything() {
            let why = "ended without a word and without a reason";
            out.push(Delta::Failed(exchange::empty(&self.speaker.provider, why)));
            return;
        }
        // Some servers tell the end and no reason.
        self.finish.get_or_insert_with(|| "stop".to_owned());
        self.end(out);
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        let Some(finish) = self.finish.take() else { return };
        self.blocks.end(out);
        let usual = if self.blocks.calls() > 0 { StopReason::ToolUse } else { StopReason::Stop };
        out.push(match finish.as_str() {
            "length" | "max_tokens" | "model_length" => Delta::Done(StopReason::Length),
            "content_filter" | "error" => Delta::Failed(refused(&finish)),
            "tool_calls" | "function_call" if self.blocks.calls() == 0 => {
                let why = "ends with calls and holds none";
                Delta::Failed(exchange::empty(&self.speaker.provider, why))
            }
            // Some say `stop` after calls; the calls decide.
            _ => Delta::Done(usual),
        });
    }
}

impl Decoder {
    /// Returns a decoder for a provider's answer.
    pub(crate) fn new(speaker: Arc<Speaker>) -> Self {
        Self { speaker, ..Self::default() }
    }

    fn count(&mut self, chunk: &Value, out: &mut Vec<Delta>) {
        for usage in [&chunk["choices"][0]["usage"], &chunk["usage"]] {
            if let Some(usage) = tokens(usage).filter(|usage| self.usage != Some(*usage)) {
                self.usage = Some(usage);
                out.push(Delta::Usage(usage));
            }
        }
    }

    fn message(&mut self, message: &Value, out: &mut Vec<Delta>) {
        for field in REASONING_FIELDS {
            if let Some(text) = message[field].as_str().filter(|text| !text.is_empty()) {
                self.blocks.reasoning(text, field);
                break;
            }
        }
        self.content(&message["content"]);
        if let Some(text) = message["refusal"].as_str().filter(|text| !text.is_empty()) {
            self.blocks.text(text);
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.call(call);
        }
        if message["function_call"].is_object() {
            self.pieces(Some(0), "", &message["function_call"]);
        }
        self.blocks.tell(out);
    }

    /// Reads content: a text, or typed parts as some servers send them.
    fn content(&mut self, content: &Value) {
        if let Some(text) = content.as_str().filter(|text| !text.is_empty()) {
            self.blocks.text(text);
        }
        for part in content.as_array().into_iter().flatten() {
            if let Some(text) = part["text"].as_str().filter(|text| !text.is_empty()) {
                self.blocks.text(text);
            }
        }
    }

    fn call(&mut self, call: &Value) {
        let id = call["id"].as_str().unwrap_or_default();
        self.pieces(call["index"].as_u64(), id, &call["function"]);
    }

    fn pieces(&mut self, index: Option<u64>, id: &str, function: &Value) {
        let tool = function["name"].as_str().unwrap_or_default();
        let arguments = &function["arguments"];
        let key = match self.known(index, id, tool) {
            Some(key) => {
                self.blocks.name_call(key, id, tool);
                key
            }
            None if id.is_empty() && tool.is_empty() && arguments.is_null() => return,
            None => {
                let key = self.blocks.begin_call(id, tool);
                self.remember(index, id, key);
                key
            }
        };
        match arguments.as_str() {
            Some(text) => self.blocks.append(key, text),
            None if arguments.is_null() => {}
            // Some servers send the object itself.
            None => self.blocks.append(key, &arguments.to_string()),
        }
    }

    /// Finds the call that a piece belongs to. The index decides, unless a server gives every call the
    /// same one and tells them apart by id; without an index the id, then a name, begins a new call.
    fn known(&self, index: Option<u64>, id: &str, tool: &str) -> Option<u64> {
        let call = |place: &usize| self.calls.get(*place);
        let same_id = |call: &&Call| id.is_empty() || call.id.is_empty() || call.id == id;
        let found = if let Some(index) = index {
            self.by_index.get(&index).and_then(call).filter(same_id)
        } else if id.is_empty() {
            self.calls.last().filter(|_| tool.is_empty())
        } else {
            self.by_id.get(id).and_then(call)
        };
        found.map(|call| call.key)
    }

    fn remember(&mut self, index: Option<u64>, id: &str, key: u64) {
        let place = self.calls.len();
        self.calls.push(Call { id: id.to_owned(), key });
        if let Some(index) = index {
            self.by_index.insert(index, place);
        }
        self.by_id.insert(id.to_owned(), place);
    }
}

fn refused(finish: &str) -> ProviderFailure {
    let (code, message) = if finish == "content_filter" {
        ("refused", "the provider's content filter stopped the answer")
    } else {
        ("server_error", "the provider ended the answer with an error")
    };
    ProviderFailure::fatal(code, Effect::Indeterminate, message)
}

/// Reads usage; each token is in one bucket only. An empty object is no usage.
fn tokens(usage: &Value) -> Option<Usage> {
    let count = |value: &Value| value.as_u64();
    let prompt = count(&usage["prompt_tokens"])?;
    let details = &usage["prompt_tokens_details"];
    let cached = count(&details["cached_tokens"])
        .or_else(|| count(&usage["prompt_cache_hit_tokens"]))
        .unwrap_or(0);
    let written = count(&details["cache_write_tokens"]).unwrap_or(0);
    Some(Usage {
        input: prompt.saturating_sub(cached).saturating_sub(written),
        output: count(&usage["completion_tokens"]).unwrap_or(0),
        reasoning: count(&usage["completion_tokens_details"]["reasoning_tokens"]).unwrap_or(0),
        cache_read: cached,
        cache_write: written,
    })
}
