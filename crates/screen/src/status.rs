//! What programs say of their own state (OSC 7501, "program status", revision 0.2).
//!
//! A program keeps a record for itself and for each thing it runs, and replaces a record whole. What is told on
//! is the one record that matters most; all of them are said again to a new client's terminal. Nothing of a
//! record is ever typed back. Titles of records are not told, and progress stays in the terminal.

use base64::{Engine, engine::general_purpose::STANDARD};
use vocab::limits::{SCREEN_STATUS_BYTES_MAX, SCREEN_STATUSES_MAX};

/// The longest key that a report may have, as the protocol says.
const KEY_BYTES_MAX: usize = 16;

/// What a program says it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramState {
    /// It waits to be told what to do.
    Idle,
    /// It has done that.
    Done,
    /// It has failed at it.
    Error,
    /// It works.
    Working,
    /// It waits for a person.
    Blocked,
}

/// What a program says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramStatus {
    /// What it is doing.
    pub state: ProgramState,
    /// What it waits for: `permission`, `question` or `auth`.
    pub kind: Option<String>,
    /// What it calls itself.
    pub app: Option<String>,
    /// What it says of that.
    pub message: Option<String>,
}

/// One record as it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    id: String,
    status: ProgramStatus,
    /// The report, to be said again.
    report: String,
}

/// All records of a terminal, the one that was changed last at the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Statuses(Vec<Record>);

/// A report that can be believed.
#[derive(Debug)]
enum Report {
    Set(ProgramStatus),
    Clear,
}

impl Statuses {
    /// Takes a report, and tells whether it changed something.
    pub(crate) fn take(&mut self, text: &str) -> bool {
        let Some((id, report, kept)) = parse(text) else { return false };
        match report {
            Report::Set(status) => {
                self.0.retain(|record| record.id != id);
                if SCREEN_STATUSES_MAX <= self.0.len() {
                    self.0.remove(0);
                }
                self.0.push(Record { id, status, report: kept });
            }
            Report::Clear => {
                let is_below = |other: &str| {
                    id.is_empty()
                        || other
                            .strip_prefix(id.as_str())
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                self.0.retain(|record| !is_below(&record.id));
            }
        }
        true
    }

    /// Drops what no longer holds once a shell is back at its prompt, and tells whether there was something.
    pub(crate) fn drop_the_running(&mut self) -> bool {
        let n_records = self.0.len();
        let runs = |state| matches!(state, ProgramState::Working | ProgramState::Blocked);
        self.0.retain(|record| !runs(record.status.state));
        self.0.len() < n_records
    }

    /// Returns the record that asks most of a person.
    pub(crate) fn foremost(&self) -> Option<&ProgramStatus> {
        self.0.iter().map(|record| &record.status).max_by_key(|status| status.state)
    }

    /// Writes what says all of it again.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for record in &self.0 {
            out.extend_from_slice(format!("\x1b]7501;{}\x1b\\", record.report).as_bytes());
        }
    }
}

/// Reads a report of keys and values, and returns it also as it may be said again. A pair that is none is
/// skipped; a value beyond its limits spoils the report.
fn parse(text: &str) -> Option<(String, Report, String)> {
    if SCREEN_STATUS_BYTES_MAX < text.len() {
        return None;
    }
    let is_key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase());
    let is_value = |c: char| c.is_ascii_alphanumeric() || "_.,+/=-".contains(c);
    let pairs = text.split(':').filter_map(|pair| pair.split_once('='));
    let pairs: Vec<(&str, &str)> =
        pairs.filter(|(key, value)| is_key(key) && value.chars().all(is_value)).collect();
    if pairs.iter().any(|(key, _)| KEY_BYTES_MAX < key.len()) {
        return None;
    }
    let kept: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let kept = kept.join(":");
    let value =
        |key: &str| pairs.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let id = value("id").unwrap_or_default();
    let is_segment = |text: &str| {
        (1..=32).contains(&text.len())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c))
    };
    let is_path = id.len() <= 128 && id.split('/').count() <= 8 && id.split('/').all(is_segment);
    let message = value("msg").map(decoded);
    let title = value("title").map(decoded);
    if (!id.is_empty() && !is_path) || message == Some(None) || title == Some(None) {
        return None;
    }
    let state = match value("state")? {
        "idle" => ProgramState::Idle,
        "working" => ProgramState::Working,
        "done" => ProgramState::Done,
        "blocked" => ProgramState::Blocked,
        "error" => ProgramState::Error,
        "clear" => return Some((id.to_owned(), Report::Clear, kept)),
        _ => return None,
    };
    let kind = value("kind").filter(|kind| {
        state == ProgramState::Blocked && matches!(*kind, "permission" | "question" | "auth")
    });
    let app = value("app").filter(|app| is_segment(app));
    let [kind, app] = [kind, app].map(|text| text.map(str::to_owned));
    let message = message.flatten().filter(|text| !text.is_empty());
    Some((id.to_owned(), Report::Set(ProgramStatus { state, kind, app, message }), kept))
}

/// Decodes a text; none if it is no text of one line.
fn decoded(value: &str) -> Option<String> {
    let n_padded = value.len().div_ceil(4) * 4;
    let padded = format!("{value:=<n_padded$}");
    let text = String::from_utf8(STANDARD.decode(padded).ok()?).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}
