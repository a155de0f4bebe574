//! Cuts texts to what a model can bear: whole lines from the start, or from the end.
//!
//! Notices about a cut are not here; each tool words its own.

use serde_json::{Value, json};
use vocab::limits::{TOOL_TEXT_BYTES_MAX, TOOL_TEXT_LINES_MAX};

/// Which limit stopped a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The number of lines.
    Lines,
    /// The number of bytes.
    Bytes,
}

/// The two limits of a text.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The most lines.
    pub lines: usize,
    /// The most bytes.
    pub bytes: usize,
}

impl Bounds {
    /// What every tool's text is held to.
    pub const TOOL: Self = Self { lines: TOOL_TEXT_LINES_MAX, bytes: TOOL_TEXT_BYTES_MAX };
    /// For lists that have a limit of their own on entries.
    pub const LIST: Self = Self { lines: usize::MAX, bytes: TOOL_TEXT_BYTES_MAX };
}

/// What a cut did to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// Which limit stopped it; none when the text is whole.
    pub by: Option<Cut>,
    /// Lines of the whole text; a line end at the very end starts no line.
    pub total_lines: u64,
    /// Bytes of the whole text.
    pub total_bytes: u64,
    /// Lines kept.
    pub output_lines: u64,
    /// Bytes kept.
    pub output_bytes: u64,
    /// Whether only the end of the last line was kept.
    pub last_line_partial: bool,
    /// Whether the first line alone exceeds the limit, so that nothing was kept.
    pub first_line_exceeds: bool,
    /// The limits.
    pub bounds: Bounds,
}

impl PartialEq for Bounds {
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines && self.bytes == other.bytes
    }
}

impl Eq for Bounds {}

impl Truncation {
    /// Tells whether something is missing.
    #[must_use]
    pub fn cut(&self) -> bool {
        self.by.is_some()
    }

    /// Returns the details that programs read. The text itself is in the outcome's content already.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "truncated": self.cut(),
            "truncatedBy": self.by.map(|by| match by { Cut::Lines => "lines", Cut::Bytes => "bytes" }),
            "totalLines": self.total_lines,
            "totalBytes": self.total_bytes,
            "outputLines": self.output_lines,
            "outputBytes": self.output_bytes,
            "lastLinePartial": self.last_line_partial,
            "firstLineExceedsLimit": self.first_line_exceeds,
            "maxLines": if self.bounds.lines == usize::MAX { Value::Null } else { json!(self.bounds.lines) },
            "maxBytes": self.bounds.bytes,
        })
    }
}

/// Counts lines; a line end at the very end starts no further line.
#[must_use]
pub fn count_lines(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count() as u64;
    ends + u64::from(text.last().is_some_and(|last| *last != b'\n'))
}

/// Keeps whole lines from the start.
#[must_use]
pub fn head(text: &str, bounds: Bounds) -> (&str, Truncation) {
    let mut whole = facts(text, bounds);
    if text.len() <= bounds.bytes && whole.total_lines <= bounds.lines as u64 {
        return (text, whole);
    }
    let mut end = 0;
    let mut lines = 0;
    for at in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        if lines == bounds.lines || at > bounds.bytes {
            break;
        }
        end = at;
        lines += 1;
    }
    whole.by = Some(if lines == bounds.lines { Cut::Lines } else { Cut::Bytes });
    whole.first_line_exceeds = lines == 0;
    whole.output_lines = lines as u64;
    whole.output_bytes = end as u64;
    (text.get(..end).unwrap_or_default(), whole)
}

/// Keeps whole lines from the end, or the end of the last line where it alone is too long.
#[must_use]
pub fn tail(text: &str, bounds: Bounds) -> (&str, Truncation) {
    let mut whole = facts(text, bounds);
    if text.len() <= bounds.bytes && whole.total_lines <= bounds.lines as u64 {
        return (text, whole);
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    let mut start = text.len();
    let mut lines = 0;
    let starts = memchr::memrchr_iter(b'\n', body.as_bytes()).map(|at| at + 1).chain([0]);
    for at in starts {
        if lines == bounds.lines || text.len() - at > bounds.bytes {
            break;
        }
        start = at;
        lines += 1;
    }
    whole.by = Some(if lines == bounds.lines { Cut::Lines } else { Cut::Bytes });
    if lines == 0 {
        start = ceil_boundary(text, text.len().saturating_sub(bounds.bytes));
        whole.last_line_partial = true;
        lines = 1;
    }
    whole.output_lines = lines as u64;
    whole.output_bytes = (text.len() - start) as u64;
    (text.get(start..).unwrap_or_default(), whole)
}

fn facts(text: &str, bounds: Bounds) -> Truncation {
    let total_lines = count_lines(text.as_bytes());
    Truncation {
        by: None,
        total_lines,
        total_bytes: text.len() as u64,
        output_lines: total_lines,
        output_bytes: text.len() as u64,
        last_line_partial: false,
        first_line_exceeds: false,
        bounds,
    }
}

/// Returns the first character boundary at or after `at`.
#[must_use]
pub fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Returns the last character boundary at or before `at`.
#[must_use]
pub fn floor_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Cuts a line to a number of characters; tells whether it was longer.
#[must_use]
pub fn line(text: &str, chars_max: usize) -> (&str, bool) {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => (text.get(..at).unwrap_or_default(), true),
        None => (text, false),
    }
}

/// Writes a size for people: `512B`, `1.5KB`, `2.0MB`, `2.0GB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const STEPS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    for (unit, name) in STEPS {
        if bytes >= unit {
            let tenths = (u128::from(bytes) * 10 + u128::from(unit) / 2) / u128::from(unit);
            return format!("{}.{}{name}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes}B")
}

#[cfg(test)]
mod tests;
