//! What the tests of the dialects share: prompts, and deltas folded into one line.
//!
//! The fold also proves that blocks never overlap and that the end comes once.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::Arc,
};

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use vocab::{ids::CallId, message::ModelRef, outcome::Content};

use crate::{
    delta::Delta,
    exchange::Decode,
    prompt::{AssistantPart, Prompt, PromptMessage, PromptTool},
    speaker::Speaker,
};

pub(crate) fn prompt(messages: Vec<PromptMessage>) -> Prompt {
    Prompt {
        model: model(),
        system: "be brief".into(),
        messages,
        tools: [PromptTool {
            name: "bash".into(),
            description: "runs".into(),
            parameters: json!({ "type": "object" }),
        }]
        .into(),
        output_tokens_max: 100,
        cache_key: "ses".into(),
    }
}

/// Returns who speaks in tests, without a secret.
pub(crate) fn acme() -> Arc<Speaker> {
    Arc::new(Speaker::new("acme", None, &HeaderMap::new()))
}

pub(crate) fn model() -> ModelRef {
    ModelRef { provider: "acme".into(), model: "m".into() }
}

pub(crate) fn user(text: &str) -> PromptMessage {
    PromptMessage::User(vec![Content::text(text)])
}

pub(crate) fn assistant(parts: Vec<AssistantPart>) -> PromptMessage {
    PromptMessage::Assistant { model: model(), parts }
}

pub(crate) fn call(id: &str) -> AssistantPart {
    let input = json!({ "command": "ls" });
    AssistantPart::Call { id: CallId(id.into()), tool: "bash".into(), input }
}

/// Decodes a golden stream; see [`decode`] and [`told`].
pub(crate) fn check(
    decoder: impl Fn() -> Box<dyn Decode>,
    events: &[Value],
    done: bool,
    expected: &str,
) {
    assert_eq!(told(&decode(&mut *decoder(), events, done)), expected);
}

/// Decodes events up to the first end, else ends the stream: by its own event when `done`, else as the
/// connection closes.
pub(crate) fn decode(decoder: &mut dyn Decode, events: &[Value], done: bool) -> Vec<Delta> {
    let mut out = Vec::new();
    for event in events {
        decoder.event(event, &mut out);
        if let Some(at) = out.iter().position(is_end) {
            out.truncate(at + 1);
            return out;
        }
    }
    if done {
        decoder.done(&mut out)
    } else {
        decoder.end(&mut out)
    }
    out
}

fn is_end(delta: &Delta) -> bool {
    matches!(delta, Delta::Done(_) | Delta::Failed(_))
}

/// Folds deltas: `"text"`, `…broken off`, `(thinking)^signature`, `<id tool input>`, `usage in/out/…`, the end.
pub(crate) fn told(deltas: &[Delta]) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut open: Option<(&str, String)> = None;
    let mut call = String::new();
    for (at, delta) in deltas.iter().enumerate() {
        assert_eq!(is_end(delta), at + 1 == deltas.len(), "one end, at the end: {deltas:?}");
        match delta {
            Delta::TextStart => begin(&mut open, "text"),
            Delta::ReasoningStart => begin(&mut open, "reasoning"),
            Delta::CallStart { id, tool } => {
                begin(&mut open, "call");
                call = format!("<{} {tool}", if id.0.len() > 30 { "?" } else { id.0.as_str() });
            }
            Delta::Text(text) => grow(&mut open, "text", text),
            Delta::Reasoning(text) => grow(&mut open, "reasoning", text),
            Delta::CallInput(text) => grow(&mut open, "call", text),
            Delta::TextEnd => out.push(format!("{:?}", end(&mut open, "text"))),
            Delta::ReasoningEnd { signature, redacted } => {
                let mark = if *redacted { "^^" } else { "^" };
                let text = end(&mut open, "reasoning");
                out.push(format!("({text}){mark}{}", signature.clone().unwrap_or_default()));
            }
            Delta::CallEnd { input } => {
                let raw = end(&mut open, "call");
                assert_eq!(*input, crate::arguments::parse(&raw));
                out.push(format!("{call} {input}>"));
            }
            Delta::Usage(usage) => out.push(format!(
                "usage {}/{}/{}/{}/{}",
                usage.input, usage.output, usage.reasoning, usage.cache_read, usage.cache_write
            )),
            Delta::Done(stop) => {
                assert_eq!(open, None, "a block is open at the end");
                out.push(format!("{stop:?}"));
            }
            Delta::Failed(failure) => {
                if let Some((_, text)) = open.take() {
                    out.push(format!("…{text}"));
                }
                out.push(format!("!{}", failure.failure.code));
            }
        }
    }
    out.join(" ")
}

fn begin<'a>(open: &mut Option<(&'a str, String)>, kind: &'a str) {
    assert_eq!(*open, None, "blocks overlap");
    *open = Some((kind, String::new()));
}

fn grow(open: &mut Option<(&str, String)>, kind: &str, text: &str) {
    let block = open.as_mut().expect("an open block");
    assert_eq!(block.0, kind);
    block.1.push_str(text);
}

fn end(open: &mut Option<(&str, String)>, kind: &str) -> String {
    let block = open.take().expect("an open block");
    assert_eq!(block.0, kind);
    block.1
}

/// Answers one connection with a head and then a piece over and over, until it is closed.
pub(crate) fn serve_raw(head: impl Into<Vec<u8>>, piece: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let head = head.into();
    std::thread::spawn(move || {
        let (mut tcp, _) = listener.accept().expect("accepts");
        let mut request = [0; 65_536];
        let _read = tcp.read(&mut request).expect("reads");
        tcp.write_all(&head).expect("writes");
        if piece.is_empty() {
            // Until the client goes.
            while tcp.read(&mut request).is_ok_and(|count| count > 0) {}
        } else {
            while tcp.write_all(&piece).is_ok() {}
        }
    });
    url
}
