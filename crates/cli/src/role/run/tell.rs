//! What a run looks like on a terminal: a pure machine from chunks to printed text.
//!
//! A stream may be told twice, in whole or in part; each word, call and note is printed once. Text goes
//! to standard output, all else to standard error. No I/O, no clock, no connection.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;
use tui::call;

use crate::print::{Look, clean, markdown::Markdown, width, words};

/// Something to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// To standard output.
    Out(String),
    /// To standard error.
    Err(String),
    /// One line on the terminal that the next piece replaces.
    Live(String),
}

/// What a text has told: bytes printed ever, bytes seen since the message last began.
#[derive(Debug, Default)]
struct Text {
    printed: usize,
    seen: usize,
    ended: bool,
}

#[derive(Debug)]
struct Call {
    tool: String,
    subject: String,
    since: Duration,
    told: bool,
}

#[derive(Debug)]
struct Failed {
    call: String,
    /// What the tool said; none where a person refused.
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Words,
    Thinking,
    Work,
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Teller {
    look: Look,
    thinking: bool,
    message: String,
    texts: BTreeMap<String, Text>,
    calls: BTreeMap<String, Call>,
    notes: BTreeSet<String>,
    /// A failed call whose code and effect are told by the next chunk.
    failed: Option<Failed>,
    /// The call whose own line was printed last, so that its result need not name it.
    latest_call: String,
    last: Option<Kind>,
    words: Words,
}

/// The text that is being printed.
#[derive(Debug)]
struct Words {
    markdown: Markdown,
    open: bool,
    told: bool,
}

impl Teller {
    /// Starts with nothing told.
    pub(crate) fn new(look: Look, thinking: bool) -> Self {
        Self {
            look,
            thinking,
            message: String::new(),
            texts: BTreeMap::new(),
            calls: BTreeMap::new(),
            notes: BTreeSet::new(),
            failed: None,
            latest_call: String::new(),
            last: None,
            words: Words { markdown: Markdown::new(look.out.style), open: false, told: false },
        }
    }

    /// Takes the next chunk, which came at `now`.
    pub(crate) fn take(&mut self, chunk: &Value, now: Duration) -> Vec<Piece> {
        let mut out = Vec::new();
        let field = |name: &str| chunk.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = field("type");
        if kind != "data-stead-outcome" {
            self.flush_failed(None, now, &mut out);
        }
        match kind {
            "start" => self.start(field("messageId")),
            "text-delta" => self.say(Kind::Words, field("id"), field("delta"), &mut out),
            "reasoning-delta" if self.thinking => {
                self.say(Kind::Thinking, field("id"), field("delta"), &mut out);
            }
            "text-end" | "reasoning-end" => self.end_text(field("id"), &mut out),
            "tool-input-available" => {
                self.call(field("toolCallId"), chunk, now, &mut out);
            }
            "tool-output-available" => {
                let id = field("toolCallId");
                let output = chunk.get("output").unwrap_or(&Value::Null);
                let tool = self.calls.get(id).map_or("", |call| call.tool.as_str());
                let text = call::result(tool, output);
                self.result(id, &text, now, &mut out);
            }
            "tool-output-error" => {
                let text = Some(field("errorText").to_owned());
                self.failed = Some(Failed { call: field("toolCallId").to_owned(), text });
            }
            "tool-output-denied" => {
                self.failed = Some(Failed { call: field("toolCallId").to_owned(), text: None });
            }
            "data-stead-outcome" => self.flush_failed(chunk.get("data"), now, &mut out),
            "data-stead-note" => self.note(field("id"), chunk, &mut out),
            "data-stead-progress" => self.progress(chunk, &mut out),
            "finish" => self.close(&mut out),
            _ => {}
        }
        out
    }

    /// Ends what is open, also when the stream just stopped.
    pub(crate) fn close(&mut self, out: &mut Vec<Piece>) {
        self.flush_failed(None, Duration::ZERO, out);
        if self.words.open || self.last == Some(Kind::Words) {
            let rest = self.words.markdown.finish();
            self.push_words(rest, out);
        }
        self.close_line(out);
    }

    /// Goes on as on an empty page, with all that was told known.
    pub(crate) fn turn_page(&mut self) {
        self.last = None;
        self.latest_call.clear();
        self.words =
            Words { markdown: Markdown::new(self.look.out.style), open: false, told: false };
    }

    /// A message begins, or is told again from its start.
    fn start(&mut self, message: &str) {
        if self.message != message {
            message.clone_into(&mut self.message);
            self.texts.clear();
            self.notes.clear();
        }
        for text in self.texts.values_mut() {
            text.seen = 0;
        }
    }

    fn say(&mut self, kind: Kind, id: &str, delta: &str, out: &mut Vec<Piece>) {
        let text = self.texts.entry(id.to_owned()).or_default();
        let known = text.printed.saturating_sub(text.seen);
        text.seen += delta.len();
        let new = delta.get(known.min(delta.len())..).unwrap_or_default();
        if new.is_empty() {
            return;
        }
        let begins = text.printed == 0;
        text.printed = text.printed.max(text.seen);
        if begins {
            self.turn_to(kind, out);
        }
        if kind == Kind::Thinking {
            self.words.open = !new.ends_with('\n');
            out.push(Piece::Err(self.look.err.style.dim(&clean::clean(new))));
            return;
        }
        let drawn =
            if self.look.out.terminal { self.words.markdown.feed(new) } else { new.to_owned() };
        self.push_words(drawn, out);
    }

    fn push_words(&mut self, text: String, out: &mut Vec<Piece>) {
        if let Some(last) = text.chars().last() {
            self.words.open = last != '\n';
            self.words.told = true;
            out.push(Piece::Out(text));
        }
    }

    fn end_text(&mut self, id: &str, out: &mut Vec<Piece>) {
        let Some(text) = self.texts.get_mut(id) else { return };
        if std::mem::replace(&mut text.ended, true) || text.printed == 0 {
            return;
        }
        if self.last == Some(Kind::Words) {
            let rest = self.words.markdown.finish();
            self.push_words(rest, out);
        }
        self.close_line(out);
    }

    fn close_line(&mut self, out: &mut Vec<Piece>) {
        if std::mem::take(&mut self.words.open) {
            let end = "\n".to_owned();
            out.push(if self.last == Some(Kind::Thinking) {
                Piece::Err(end)
            } else {
                Piece::Out(end)
            });
        }
    }

    /// Begins another kind of output, with an empty line where a person sees both.
    fn turn_to(&mut self, kind: Kind, out: &mut Vec<Piece>) {
        if self.last == Some(Kind::Words) && kind != Kind::Words {
            let rest = self.words.markdown.finish();
            self.push_words(rest, out);
        }
        self.close_line(out);
        self.latest_call.clear();
        let together = self.look.out.terminal && self.look.err.terminal;
        let end = "\n".to_owned();
        match (self.last, kind) {
            (Some(_), Kind::Words) if together => out.push(Piece::Out(end)),
            (_, Kind::Words) if self.words.told => out.push(Piece::Out(end)),
            (Some(last), _) if last != kind && (together || last != Kind::Words) => {
                out.push(Piece::Err(end))
            }
            _ => {}
        }
        self.last = Some(kind);
    }

    fn work_line(&mut self, line: &str, out: &mut Vec<Piece>) {
        self.turn_to(Kind::Work, out);
        out.push(Piece::Err(format!("{line}\n")));
    }

    fn call(&mut self, id: &str, chunk: &Value, now: Duration, out: &mut Vec<Piece>) {
        if self.calls.contains_key(id) {
            return;
        }
        let tool = chunk.get("toolName").and_then(Value::as_str).unwrap_or_default();
        let input = chunk.get("input").unwrap_or(&Value::Null);
        let (tool, subject) =
            (clean::clean_line(tool), clean::clean_line(&call::subject(tool, input)));
        let room = self.look.width.saturating_sub(width::of(&tool) + 4);
        let shown = width::cut(&subject, room);
        let line = format!("● {}  {shown}", self.look.err.style.bold(&tool));
        self.work_line(line.trim_end(), out);
        id.clone_into(&mut self.latest_call);
        self.calls.insert(id.to_owned(), Call { tool, subject, since: now, told: false });
    }

    fn result(&mut self, id: &str, text: &str, now: Duration, out: &mut Vec<Piece>) {
        let Some(line) = self.result_line(id, text, &[], now) else { return };
        let line = self.look.err.style.dim(&format!("  ⎿ {line}"));
        self.work_line(&line, out);
    }

    /// Returns the words after the hook, with the longest of the tails that leaves them whole; none when
    /// they were told already.
    fn result_line(
        &mut self,
        id: &str,
        text: &str,
        tails: &[String],
        now: Duration,
    ) -> Option<String> {
        let other = id != self.latest_call;
        let call = self.calls.get_mut(id)?;
        if std::mem::replace(&mut call.told, true) {
            return None;
        }
        let took = format!(" · {}", words::took(now.saturating_sub(call.since)));
        let whose = if other {
            format!("{} {}: ", call.tool, width::cut(&call.subject, 24))
        } else {
            String::new()
        };
        let said = clean::clean_line(&format!("{whose}{text}"));
        let room = self.look.width.saturating_sub(4 + took.len());
        let fits = |tail: &&String| width::of(&said) + width::of(tail) <= room;
        // Words that are cut anyway leave the short tail its place, as long as most of it is theirs.
        let short = || tails.last().filter(|tail| width::of(tail) <= room / 2);
        let tail = tails.iter().find(fits).or_else(short).map_or("", String::as_str);
        Some(width::cut(&said, room.saturating_sub(width::of(tail))) + tail + &took)
    }

    fn flush_failed(&mut self, data: Option<&Value>, now: Duration, out: &mut Vec<Piece>) {
        let Some(Failed { call: id, text }) = self.failed.take() else { return };
        let field = |name: &str| data.and_then(|data| data.get(name)).and_then(Value::as_str);
        let tool = self.calls.get(&id).map_or("", |call| call.tool.as_str());
        let mut tails = Vec::new();
        let said = match &text {
            Some(text) => {
                if let (Some(code), Some(effect)) = (field("code"), field("effect")) {
                    tails = vec![format!(" ({code} · {effect})"), format!(" ({code})")];
                }
                call::failure(tool, text, field("effect"))
            }
            None => call::refused(field("hint")),
        };
        let Some(line) = self.result_line(&id, &said, &tails, now) else { return };
        let line = format!("  ⎿ {}", self.look.err.style.red(&line));
        self.work_line(&line, out);
    }

    fn note(&mut self, id: &str, chunk: &Value, out: &mut Vec<Piece>) {
        if self.notes.insert(id.to_owned()) {
            let text = chunk.pointer("/data/text").and_then(Value::as_str).unwrap_or_default();
            let line = self.look.err.style.dim(&format!("· {}", clean::clean_line(text)));
            self.work_line(&line, out);
        }
    }

    fn progress(&mut self, chunk: &Value, out: &mut Vec<Piece>) {
        if !self.look.err.terminal || self.words.open {
            return;
        }
        let text = chunk.pointer("/data/text").and_then(Value::as_str).unwrap_or_default();
        let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) else { return };
        let line = width::cut(&clean::clean_line(line), self.look.width.saturating_sub(5));
        out.push(Piece::Live(self.look.err.style.dim(&format!("  … {line}"))));
    }
}

#[cfg(test)]
mod tests;
