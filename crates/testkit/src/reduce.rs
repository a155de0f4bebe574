//! A reader of run streams: bytes to events, events to the message that they tell.
//!
//! The reduction follows what the AI SDK documents of its own (`readUIMessageStream`), written from its
//! side and held against it by a test; it knows nothing of how the product makes its streams. It checks
//! no schema and keeps no history.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty when it has none.
    pub name: String,
    /// Its data, lines joined by line feeds.
    pub data: String,
    /// Its id, where it carries one.
    pub id: Option<String>,
}

/// Reads events out of bytes that arrive in pieces of any size.
#[derive(Debug, Clone, Default)]
pub struct Events {
    rest: Vec<u8>,
    /// How much of it is known to hold no end.
    seen: usize,
}

impl Events {
    /// Takes the next bytes and returns the events that they complete. Comments are skipped.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        loop {
            let rest = self.rest.get(self.seen..).unwrap_or_default();
            let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n") else { break };
            let block: Vec<u8> = self.rest.drain(..self.seen + end + 2).collect();
            events.extend(event_of(&String::from_utf8_lossy(&block)));
            self.seen = 0;
        }
        self.seen = self.rest.len().saturating_sub(1);
        events
    }
}

fn event_of(block: &str) -> Option<Event> {
    let mut event = Event::default();
    let mut data: Option<String> = None;
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                data = Some(data.map_or(value.to_owned(), |known| format!("{known}\n{value}")));
            }
            "event" => value.clone_into(&mut event.name),
            "id" => event.id = Some(value.to_owned()),
            _ => {}
        }
    }
    event.data = data?;
    Some(event)
}

/// The message that a stream has told so far, and where its reader stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reduced {
    /// The message's id.
    pub message: String,
    /// Its parts.
    pub parts: Vec<Value>,
    /// Its metadata, merged.
    pub metadata: Map<String, Value>,
    /// The reason of the finish, once it was told.
    pub finish: Option<String>,
    /// Texts of errors that were told.
    pub errors: Vec<String>,
    /// Whether the stream said that it is done.
    pub done: bool,
    /// The last event id, which a reader names when it comes back.
    pub last_id: Option<String>,
    /// How often the message began.
    pub starts: usize,
    open: BTreeMap<String, usize>,
}

impl Reduced {
    /// Takes an event.
    ///
    /// # Errors
    /// When the data is no chunk, or one that refers to what was never told.
    pub fn event(&mut self, event: &Event) -> Result<(), String> {
        if event.id.is_some() {
            self.last_id.clone_from(&event.id);
        }
        if !event.name.is_empty() {
            return Ok(());
        }
        if event.data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Value =
            serde_json::from_str(&event.data).map_err(|error| format!("{error}: {event:?}"))?;
        self.chunk(&chunk)
    }

    /// Takes a chunk.
    ///
    /// # Errors
    /// When it is none of the kinds known, or refers to what was never told.
    pub fn chunk(&mut self, chunk: &Value) -> Result<(), String> {
        let kind = text(chunk, "type");
        match kind {
            "start" => self.start(chunk),
            "start-step" => self.parts.push(json!({"type": "step-start"})),
            "finish-step" | "abort" => {}
            "finish" => {
                self.finish = Some(text(chunk, "finishReason").to_owned());
                self.merge(chunk);
            }
            "message-metadata" => self.merge(chunk),
            "error" => self.errors.push(text(chunk, "errorText").to_owned()),
            "text-start" | "reasoning-start" => {
                self.open_text(chunk, kind.trim_end_matches("-start"))
            }
            "text-delta" | "reasoning-delta" => self.grow(chunk)?,
            "text-end" | "reasoning-end" => {
                let id = text(chunk, "id");
                let idx =
                    self.open.remove(&key(chunk)).ok_or_else(|| format!("{id} is not open"))?;
                self.set(idx, "state", json!("done"));
            }
            _ if kind.starts_with("tool-") => self.tool(kind, chunk)?,
            _ if kind.starts_with("data-") => self.data(kind, chunk),
            _ => return Err(format!("an unknown chunk: {chunk}")),
        }
        Ok(())
    }

    /// Returns the message as canonical JSON, without its metadata: a run tells metadata that no stored
    /// message has, and the other way round.
    #[must_use]
    pub fn canonical(&self) -> String {
        canonical(&json!({"id": self.message, "role": "assistant", "parts": self.parts}))
    }

    fn start(&mut self, chunk: &Value) {
        let (last_id, starts) = (self.last_id.take(), self.starts + 1);
        *self = Self { last_id, starts, ..Self::default() };
        text(chunk, "messageId").clone_into(&mut self.message);
        self.merge(chunk);
    }

    fn merge(&mut self, chunk: &Value) {
        if let Some(Value::Object(more)) = chunk.get("messageMetadata") {
            self.metadata.extend(more.clone());
        }
    }

    fn open_text(&mut self, chunk: &Value, kind: &str) {
        self.open.insert(key(chunk), self.parts.len());
        let mut part = json!({"type": kind, "text": "", "state": "streaming"});
        if kind == "reasoning" {
            put(&mut part, "id", chunk.get("id").cloned().unwrap_or_default());
        }
        self.parts.push(part);
    }

    fn grow(&mut self, chunk: &Value) -> Result<(), String> {
        let idx = *self.open.get(&key(chunk)).ok_or_else(|| format!("not open: {chunk}"))?;
        match self.parts.get_mut(idx).and_then(|part| part.get_mut("text")) {
            Some(Value::String(known)) => known.push_str(text(chunk, "delta")),
            _ => return Err(format!("a part without text: {chunk}")),
        }
        Ok(())
    }

    fn tool(&mut self, kind: &str, chunk: &Value) -> Result<(), String> {
        let call = text(chunk, "toolCallId");
        if kind == "tool-input-start" || kind == "tool-input-available" {
            let mut part = json!({
                "type": format!("tool-{}", text(chunk, "toolName")), "toolCallId": call,
                "state": if kind == "tool-input-start" { "input-streaming" } else { "input-available" },
            });
            if let Some(input) = chunk.get("input") {
                put(&mut part, "input", input.clone());
            }
            match self.call(call) {
                Some(idx) => self.parts[idx] = part,
                None => self.parts.push(part),
            }
            return Ok(());
        }
        if kind == "tool-approval-response" {
            let approval = text(chunk, "approvalId");
            let of = |part: &Value| {
                part.pointer("/approval/id").and_then(Value::as_str) == Some(approval)
            };
            let idx =
                self.parts.iter().position(of).ok_or_else(|| format!("not asked: {chunk}"))?;
            let approved = chunk.get("approved").cloned().unwrap_or_default();
            self.set(idx, "approval", json!({"id": approval, "approved": approved}));
            self.set(idx, "state", json!("approval-responded"));
            return Ok(());
        }
        let idx = self.call(call).ok_or_else(|| format!("no call {call}: {chunk}"))?;
        match kind {
            // Arguments in the making are no part of what a finished message is compared by.
            "tool-input-delta" => {}
            "tool-approval-request" => {
                self.set(idx, "approval", json!({"id": text(chunk, "approvalId")}));
                self.set(idx, "state", json!("approval-requested"));
            }
            "tool-output-available" => {
                self.set(idx, "output", chunk.get("output").cloned().unwrap_or_default());
                self.set(idx, "state", json!("output-available"));
            }
            "tool-output-error" => {
                self.set(idx, "errorText", json!(text(chunk, "errorText")));
                self.set(idx, "state", json!("output-error"));
            }
            "tool-output-denied" => self.set(idx, "state", json!("output-denied")),
            _ => return Err(format!("an unknown chunk: {chunk}")),
        }
        Ok(())
    }

    fn data(&mut self, kind: &str, chunk: &Value) {
        if chunk.get("transient") == Some(&json!(true)) {
            return;
        }
        let id = chunk.get("id").filter(|id| !id.is_null());
        let same = |part: &Value| text(part, "type") == kind && part.get("id") == id;
        match self.parts.iter().position(same).filter(|_| id.is_some()) {
            Some(idx) => self.set(idx, "data", chunk.get("data").cloned().unwrap_or_default()),
            None => self.parts.push(chunk.clone()),
        }
    }

    fn call(&self, call: &str) -> Option<usize> {
        self.parts.iter().rposition(|part| text(part, "toolCallId") == call)
    }

    fn set(&mut self, idx: usize, field: &str, value: Value) {
        if let Some(part) = self.parts.get_mut(idx) {
            put(part, field, value);
        }
    }
}

/// Words and thinking may use the same ids at the same time.
fn key(chunk: &Value) -> String {
    let kind = text(chunk, "type").split('-').next().unwrap_or_default();
    format!("{kind}/{}", text(chunk, "id"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn put(part: &mut Value, field: &str, value: Value) {
    if let Value::Object(fields) = part {
        fields.insert(field.to_owned(), value);
    }
}

/// Writes a value so that equal values have equal bytes: keys sorted, no blanks.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            out.push('{');
            for (nth, (name, value)) in sorted.into_iter().enumerate() {
                out.push_str(if nth == 0 { "" } else { "," });
                out.push_str(&json!(name).to_string());
                out.push(':');
                write_canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for (nth, value) in values.iter().enumerate() {
                out.push_str(if nth == 0 { "" } else { "," });
                write_canonical(value, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_whole_and_a_message_grows() {
        let stream = "event: x\ndata: {}\n\n:\n\nid: r.1.0\ndata: {\"type\":\"start\",\"messageId\":\"m\"}\n\n\
                      data: {\"type\":\"text-start\",\"id\":\"a\"}\n\n\
                      data: {\"type\":\"text-delta\",\"id\":\"a\",\"delta\":\"hü\"}\n\ndata: [DONE]\n\n";
        let (mut events, mut reduced) = (Events::default(), Reduced::default());
        for byte in stream.as_bytes() {
            for event in events.feed(&[*byte]) {
                reduced.event(&event).expect("a chunk");
            }
        }
        assert!(reduced.done);
        assert_eq!(reduced.last_id.as_deref(), Some("r.1.0"));
        let expected = r#"{"id":"m","parts":[{"state":"streaming","text":"hü","type":"text"}],"role":"assistant"}"#;
        assert_eq!(reduced.canonical(), expected);
        assert!(reduced.chunk(&json!({"type": "text-end", "id": "b"})).is_err());
    }
}
