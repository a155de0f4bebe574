//! The stream of a live run, folded into the items of a conversation.
//!
//! A stream that begins anew writes its message anew. Chunks of kinds that are not shown are skipped.

use serde_json::Value;

use super::{Transcript, What, bounded, bounded_output, note_of, output_text};
use crate::call;

impl Transcript {
    /// Takes the next chunk. Those before the first beginning are of a stream that was left.
    pub(crate) fn hear(&mut self, chunk: &Value) {
        let field = |name: &str| chunk.get(name).and_then(Value::as_str).unwrap_or_default();
        if self.writes.is_none() && field("type") != "start" {
            return;
        }
        let call = field("toolCallId");
        match field("type") {
            "start" => {
                let message = field("messageId").to_owned();
                self.items.retain(|item| item.message != message);
                self.writes = Some(message);
            }
            "text-start" => self.write(field("id"), What::Agent(String::new())),
            "text-delta" => self.append(field("id"), field("delta")),
            "tool-input-start" => self.begin_call(call, field("toolName"), None),
            "tool-input-available" => {
                self.begin_call(call, field("toolName"), chunk.get("input"));
            }
            "tool-approval-request" => self.set_call(call, "asks", String::new()),
            "tool-output-available" => {
                let output = chunk.get("output").map(output_text).unwrap_or_default();
                self.set_call(call, "done", output);
            }
            "tool-output-error" => {
                self.set_call(call, "failed", bounded_output(field("errorText")))
            }
            "tool-output-denied" => self.set_call(call, "refused", call::refused(None)),
            "data-stead-progress" => self.progress(chunk),
            "data-stead-outcome" => {
                let message = self.written();
                self.refuse(&message, chunk);
            }
            "data-stead-note" => self.write("", What::Note(note_of(chunk))),
            "error" => self.write("", What::Failure(bounded(field("errorText")))),
            "abort" => self.write("", What::Note("stopped".to_owned())),
            _ => {}
        }
        self.bound();
    }

    /// Returns the message that the stream writes.
    fn written(&self) -> String {
        self.writes.clone().unwrap_or_default()
    }

    fn write(&mut self, key: &str, what: What) {
        let message = self.written();
        self.push(&message, key, what);
    }

    fn append(&mut self, key: &str, delta: &str) {
        let writes = self.writes.as_deref().unwrap_or_default();
        let is_it = |item: &&mut super::Item| {
            item.key == key && item.message == writes && matches!(item.what, What::Agent(_))
        };
        if let Some(What::Agent(text)) =
            self.items.iter_mut().rev().find(is_it).map(|item| &mut item.what)
        {
            text.push_str(delta);
            if vocab::limits::VIEW_ITEM_BYTES_MAX * 2 < text.len() {
                *text = bounded(text);
            }
        }
    }

    fn begin_call(&mut self, id: &str, name: &str, input: Option<&Value>) {
        let message = self.written();
        let now = input.map(|input| bounded_output(&call::subject(name, input)));
        match self.call_mut(&message, id) {
            Some(What::Call { subject, .. }) => *subject = now.unwrap_or_default(),
            _ => {
                let (subject, tool) = (now.unwrap_or_default(), name.to_owned());
                let (state, output) = (String::new(), String::new());
                self.write(id, What::Call { tool, subject, state, output });
            }
        }
    }

    fn set_call(&mut self, id: &str, now: &str, told: String) {
        let message = self.written();
        if let Some(What::Call { state, output, .. }) = self.call_mut(&message, id) {
            now.clone_into(state);
            *output = told;
        }
    }

    /// Shows what a call that runs has printed so far.
    fn progress(&mut self, chunk: &Value) {
        let data = |name: &str| chunk.pointer(&format!("/data/{name}"));
        let text = |name: &str| data(name).and_then(Value::as_str).unwrap_or_default();
        let replaces = data("replaces").and_then(Value::as_bool).unwrap_or_default();
        let (message, id) = (self.written(), text("callId"));
        if let Some(What::Call { state, output, .. }) = self.call_mut(&message, id)
            && state.is_empty()
        {
            if replaces {
                output.clear();
            }
            output.push_str(text("text"));
            *output = bounded(output);
        }
    }
}
