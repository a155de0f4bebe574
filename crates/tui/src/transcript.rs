//! A conversation as the view keeps it: who said what, what was called and what came of it, bounded.
//!
//! Stored messages and the live stream become the same items. Pure; colors and screens are not known here.

use api::session::SessionDetail;
use serde_json::Value;
use vocab::{
    limits::{VIEW_ITEM_BYTES_MAX, VIEW_ITEMS_MAX},
    live::state_word,
    message::{Block, RunState},
};

use crate::{
    call, clean,
    msg::{Loaded, is_open},
    text,
};

mod live;

/// Lines of a tool's text that are shown.
const OUTPUT_LINES_SHOWN: usize = 8;

/// A conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Transcript {
    items: Vec<Item>,
    /// Whether earlier items were left out.
    is_cut: bool,
    /// The message that the stream writes.
    writes: Option<String>,
    /// How its run stands.
    pub(crate) state: String,
    pub(crate) model: Option<String>,
    pub(crate) cwd: String,
    /// What it waits for.
    pub(crate) questions: Vec<Block>,
    /// Whether its run is at work. One that waits says nothing more than what is stored.
    pub(crate) is_running: bool,
}

/// Something that was said or done.
#[derive(Debug, Clone, PartialEq)]
struct Item {
    /// The message that it belongs to.
    message: String,
    /// What the stream calls it: the id of a text or of a call.
    key: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Person(String),
    Agent(String),
    Call { tool: String, subject: String, state: String, output: String },
    Note(String),
    Failure(String),
}

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// What a person said.
    Person,
    /// The head of a call.
    Call,
    /// What matters less.
    Aside,
    /// What went wrong, or waits.
    Alarm,
}

/// A line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Transcript {
    /// Builds it from what is stored.
    pub(crate) fn of(loaded: &Loaded) -> Self {
        let mut transcript = Self::default();
        transcript.describe(&loaded.detail);
        for message in &loaded.messages {
            transcript.take(message);
        }
        transcript.bound();
        transcript
    }

    /// Returns its last lines at a width, so many and no more, of those that lie so many above the end.
    pub(crate) fn lines(&self, columns: usize, n_lines: usize, up: usize) -> Vec<Line> {
        let mut reversed: Vec<Line> = Vec::new();
        for item in self.items.iter().rev() {
            if n_lines + up <= reversed.len() {
                break;
            }
            reversed.extend(item.lines(columns).into_iter().rev());
        }
        if self.is_cut && reversed.len() < n_lines + up {
            let text = "… what came before is not shown here".to_owned();
            reversed.push(Line { text, tone: Tone::Aside });
        }
        let up = up.min(reversed.len().saturating_sub(n_lines));
        reversed.into_iter().skip(up).take(n_lines).rev().collect()
    }

    /// Returns how many lines it has at a width.
    pub(crate) fn n_lines(&self, columns: usize) -> usize {
        let lines = self.items.iter().map(|item| item.lines(columns).len());
        lines.sum::<usize>() + usize::from(self.is_cut)
    }

    fn describe(&mut self, detail: &SessionDetail) {
        let state = detail.run.as_ref().map(|run| &run.state);
        self.state = state.map_or("idle", state_word).to_owned();
        self.model = detail.row.model.clone();
        self.cwd.clone_from(&detail.row.cwd);
        self.is_running = matches!(state, Some(RunState::Running));
        self.questions = match state {
            Some(RunState::Parked { blocks }) => {
                blocks.iter().filter(|block| is_open(block)).cloned().collect()
            }
            _ => Vec::new(),
        };
    }

    /// Takes a stored message.
    fn take(&mut self, message: &Value) {
        let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
        let is_person = message.get("role").and_then(Value::as_str) == Some("user");
        let parts = message.get("parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let field = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
            let what = match field("type") {
                "text" if is_person => What::Person(bounded(field("text"))),
                "text" => What::Agent(bounded(field("text"))),
                "file" => What::Note(format!("[{}]", field("mediaType"))),
                "data-stead-note" => What::Note(note_of(part)),
                "data-stead-outcome" => {
                    self.refuse(id, part);
                    continue;
                }
                kind => match kind.strip_prefix("tool-") {
                    Some(tool) => stored_call(tool, part),
                    None => continue,
                },
            };
            self.push(id, field("toolCallId"), what);
        }
    }

    fn push(&mut self, message: &str, key: &str, what: What) {
        self.items.push(Item { message: message.to_owned(), key: key.to_owned(), what });
    }

    /// Leaves out what is too old, some more at a time.
    fn bound(&mut self) {
        if VIEW_ITEMS_MAX < self.items.len() {
            let n_gone = self.items.len() - VIEW_ITEMS_MAX * 3 / 4;
            self.items.drain(..n_gone);
            self.is_cut = true;
        }
    }

    /// Adds what a refused call was told, which stands beside it.
    fn refuse(&mut self, message: &str, part: &Value) {
        let data = |name: &str| part.pointer(&format!("/data/{name}")).and_then(Value::as_str);
        let Some(id) = data("callId") else { return };
        if let Some(What::Call { state, output, .. }) = self.call_mut(message, id)
            && state == "refused"
        {
            *output = call::refused(data("hint"));
        }
    }

    /// Finds a call of a message; another message may have one of the same id.
    fn call_mut(&mut self, message: &str, id: &str) -> Option<&mut What> {
        let is_it = |item: &&mut Item| {
            item.key == id && item.message == message && matches!(item.what, What::Call { .. })
        };
        self.items.iter_mut().rev().find(is_it).map(|item| &mut item.what)
    }
}

impl Item {
    fn lines(&self, columns: usize) -> Vec<Line> {
        let mut out = Vec::new();
        let mut block = |first: &str, rest: &str, text: &str, tone: Tone| {
            let room = columns.saturating_sub(text::width(first));
            for line in clean::lines(text).iter().flat_map(|line| text::wrap(line, room)) {
                let begin = if out.is_empty() { first } else { rest };
                out.push(Line { text: format!("{begin}{line}"), tone });
            }
        };
        match &self.what {
            What::Person(text) => block("> ", "  ", text, Tone::Person),
            What::Agent(text) => block("", "", text.trim_matches('\n'), Tone::Plain),
            What::Note(text) => block("· ", "  ", text, Tone::Aside),
            What::Failure(text) => block("! ", "  ", text, Tone::Alarm),
            What::Call { tool, subject, state, output } => {
                let head = format!("{}  {}", clean::line(tool), clean::line(subject));
                let head = text::cut(head.trim_end(), columns.saturating_sub(2));
                out.push(Line { text: format!("● {head}"), tone: Tone::Call });
                let is_over = !state.is_empty();
                let (told, tone) = match state.as_str() {
                    "asks" => ("waits for an answer", Tone::Alarm),
                    "failed" => (output.as_str(), Tone::Alarm),
                    "" if output.is_empty() => ("…", Tone::Aside),
                    _ => (output.as_str(), Tone::Aside),
                };
                let lines = clean::lines(told);
                // Of what goes on, the end says more.
                let n_skipped =
                    if is_over { 0 } else { lines.len().saturating_sub(OUTPUT_LINES_SHOWN) };
                out.extend(output_lines(&lines[n_skipped..], columns, tone));
            }
        }
        out.push(Line { text: String::new(), tone: Tone::Plain });
        out
    }
}

/// Returns the first of some lines that a call gave, each cut to the width.
fn output_lines(lines: &[String], columns: usize, tone: Tone) -> Vec<Line> {
    let room = columns.saturating_sub(4);
    let shown = lines.iter().take(OUTPUT_LINES_SHOWN);
    let mut out: Vec<Line> =
        shown.map(|line| Line { text: format!("  │ {}", text::cut(line, room)), tone }).collect();
    if OUTPUT_LINES_SHOWN < lines.len() {
        let text = format!("  … {} more", lines.len() - OUTPUT_LINES_SHOWN);
        out.push(Line { text, tone: Tone::Aside });
    }
    out
}

/// Keeps of a long text its end, or of what a tool gave its beginning, within the bound.
fn bounded(text: &str) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(VIEW_ITEM_BYTES_MAX));
    if from == 0 { text.to_owned() } else { format!("…{}", &text[from..]) }
}

fn bounded_output(text: &str) -> String {
    text[..text.floor_char_boundary(VIEW_ITEM_BYTES_MAX)].to_owned()
}

fn note_of(part: &Value) -> String {
    let text = part.pointer("/data/text").and_then(Value::as_str).unwrap_or_default();
    bounded(text)
}

/// Returns a stored call.
fn stored_call(tool: &str, part: &Value) -> What {
    let input = part.get("input").unwrap_or(&Value::Null);
    let text = |name: &str| part.get(name).and_then(Value::as_str);
    let (state, output) = match text("state").unwrap_or_default() {
        "output-available" => ("done", part.get("output").map(output_text).unwrap_or_default()),
        "output-error" => ("failed", bounded_output(text("errorText").unwrap_or("failed"))),
        "output-denied" => ("refused", call::refused(None)),
        "approval-requested" => ("asks", String::new()),
        _ => ("", String::new()),
    };
    let (tool, subject) = (tool.to_owned(), bounded_output(&call::subject(tool, input)));
    What::Call { tool, subject, state: state.to_owned(), output }
}

/// Returns the text of what a call gave.
fn output_text(output: &Value) -> String {
    let blocks = output.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    bounded_output(&texts.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;
