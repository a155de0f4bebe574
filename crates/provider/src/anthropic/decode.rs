//! From events, or a whole message, to deltas.
//!
//! Unknown events and block types pass without a trace, as the vendor adds new ones.

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

/// What is known between two events.
#[derive(Debug)]
pub(crate) struct Decoder {
    blocks: Blocks,
    /// From the wire's index to the block.
    keys: HashMap<u64, u64>,
    usage: Usage,
    stop: Option<String>,
    ended: bool,
    speaker: Arc<Speaker>,
}

impl Decoder {
    /// Returns a decoder for a provider's answer.
    pub(crate) fn new(speaker: Arc<Speaker>) -> Self {
        Self {
            speaker,
            blocks: Blocks::explicit(),
            keys: HashMap::new(),
            usage: Usage::default(),
            stop: None,
            ended: false,
        }
    }
}

impl Decode for Decoder {
    fn event(&mut self, event: &Value, out: &mut Vec<Delta>) {
        if self.ended {
            return;
        }
        let index = event["index"].as_u64().unwrap_or(0);
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.tokens(&event["message"]["usage"], out),
            "content_block_start" => {
                self.begin(index, &event["content_block"]);
                self.blocks.tell(out);
            }
            "content_block_delta" => {
                self.delta(index, &event["delta"]);
                self.blocks.tell(out);
            }
            "content_block_stop" => {
                if let Some(key) = self.keys.remove(&index) {
                    self.blocks.close(key);
                    self.blocks.tell(out);
                }
            }
            "message_delta" => {
                if let Some(stop) = event["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop.to_owned());
                }
                self.tokens(&event["usage"], out);
            }
            "message_stop" => {
                self.ended = true;
                self.end(out);
            }
            "error" => {
                let body = event.to_string();
                let told = Told::inside(&self.speaker, &body);
                out.push(Delta::Failed(refusal::classify(&told)));
            }
            _ => {}
        }
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<Delta>) {
        let Some(content) = answer["content"].as_array() else {
            let said = self.speaker.excerpt(&answer.to_string());
            let message = format!("the answer holds no content: {said}");
            out.push(Delta::Failed(ProviderFailure::fatal(
                "bad_answer",
                Effect::Indeterminate,
                message,
            )));
            return;
        };
        for block in content {
            self.begin(0, block);
            if let Some(key) = self.keys.remove(&0) {
                self.blocks.close(key);
            }
        }
        self.tokens(&answer["usage"], out);
        self.stop = answer["stop_reason"].as_str().map(str::to_owned);
        self.ended = true;
        self.end(out);
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        if !self.ended {
            return;
        }
        self.blocks.end(out);
        let usual = if self.blocks.calls() > 0 { StopReason::ToolUse } else { StopReason::Stop };
        out.push(match self.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => Delta::Done(StopReason::Length),
            Some("refusal" | "sensitive") => Delta::Failed(ProviderFailure::fatal(
                "refused",
                Effect::Indeterminate,
                "the model refused to answer",
            )),
            Some("tool_use") if self.blocks.calls() == 0 => {
                let why = "ends with calls and holds none";
                Delta::Failed(exchange::empty(&self.speaker.provider, why))
            }
            None if !self.blocks.hold_anything() => {
                let why = "ended without a word and without a reason";
                Delta::Failed(exchange::empty(&self.speaker.provider, why))
            }
            // `end_turn`, `stop_sequence`, `pause_turn`, `tool_use` and what may come; the calls decide.
            _ => Delta::Done(usual),
        });
    }
}

impl Decoder {
    /// Begins a block; what the start already holds is kept, as some gateways send all of it there.
    fn begin(&mut self, index: u64, block: &Value) {
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        let key = match text("type") {
            "text" => {
                let key = self.blocks.begin_text();
                self.blocks.append(key, text("text"));
                key
            }
            "thinking" => {
                let key = self.blocks.begin_reasoning();
                self.blocks.append(key, text("thinking"));
                self.blocks.sign(key, text("signature"), false);
                key
            }
            "redacted_thinking" => {
                let key = self.blocks.begin_reasoning();
                self.blocks.sign(key, text("data"), true);
                key
            }
            "tool_use" => {
                let key = self.blocks.begin_call(text("id"), text("name"));
                if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
                    self.blocks.append(key, &block["input"].to_string());
                }
                key
            }
            _ => return,
        };
        self.keys.insert(index, key);
    }

    fn delta(&mut self, index: u64, delta: &Value) {
        let Some(key) = self.keys.get(&index).copied() else { return };
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        match text("type") {
            "text_delta" => self.blocks.append(key, text("text")),
            "thinking_delta" => self.blocks.append(key, text("thinking")),
            "signature_delta" => self.blocks.sign(key, text("signature"), false),
            "input_json_delta" => self.blocks.append(key, text("partial_json")),
            _ => {}
        }
    }

    /// Takes the counts that are given; later ones replace earlier ones.
    fn tokens(&mut self, usage: &Value, out: &mut Vec<Delta>) {
        let before = self.usage;
        for (name, bucket) in [
            ("input_tokens", &mut self.usage.input),
            ("output_tokens", &mut self.usage.output),
            ("cache_read_input_tokens", &mut self.usage.cache_read),
            ("cache_creation_input_tokens", &mut self.usage.cache_write),
        ] {
            if let Some(count) = usage[name].as_u64() {
                *bucket = count;
            }
        }
        if self.usage != before {
            out.push(Delta::Usage(self.usage));
        }
    }
}
