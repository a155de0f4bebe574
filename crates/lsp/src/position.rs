//! Positions: lines and columns as people, and the three encodings as servers count them.
//!
//! A line ends as the protocol says: at a line feed, a carriage return, or both.

use std::ops::Range;

use serde_json::{Value, json};

/// What a server counts within a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    /// Reads a server's choice; the protocol's own when it makes none.
    pub(crate) fn chosen(name: Option<&str>) -> Option<Self> {
        match name {
            Some("utf-8") => Some(Self::Utf8),
            Some("utf-16") | None => Some(Self::Utf16),
            Some("utf-32") => Some(Self::Utf32),
            Some(_) => None,
        }
    }

    fn units(self, ch: char) -> usize {
        match self {
            Self::Utf8 => ch.len_utf8(),
            Self::Utf16 => ch.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A text and where its lines begin.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(idx, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(idx + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0).chain(ends.map(|(idx, _)| idx + 1)).collect();
        Self { text, starts }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the byte at which a line begins; the end of the text beyond the last one.
    pub(crate) fn start(&self, idx: usize) -> usize {
        self.starts.get(idx).copied().unwrap_or(self.text.len())
    }

    /// Returns a line, from 0, without its end.
    pub(crate) fn line(&self, idx: usize) -> Option<&'a str> {
        let start = *self.starts.get(idx)?;
        let end = self.starts.get(idx + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).map(|line| line.trim_end_matches(['\n', '\r']))
    }

    /// Returns the byte that a server's position means. Beyond a line's end it is the end, as the protocol
    /// says; beyond the last line, or inside a character, it is none.
    pub(crate) fn offset(&self, line: usize, units: usize, encoding: Encoding) -> Option<usize> {
        let text = self.line(line)?;
        let mut left = units;
        for (idx, ch) in text.char_indices() {
            if left == 0 {
                return Some(self.starts[line] + idx);
            }
            left = left.checked_sub(encoding.units(ch))?;
        }
        Some(self.starts[line] + text.len())
    }

    /// Returns the byte range that a server's range means.
    pub(crate) fn range(&self, range: &Value, encoding: Encoding) -> Option<Range<usize>> {
        let (from, to) = (place(range.get("start")?)?, place(range.get("end")?)?);
        let from = self.offset(from.0, from.1, encoding)?;
        // Servers mean the end of the text by the line after the last one.
        let to = match to {
            (line, 0) if line == self.count() => self.text.len(),
            (line, units) => self.offset(line, units, encoding)?,
        };
        (from <= to).then_some(from..to)
    }

    /// Returns the line and column, from 0, of a byte, as a server counts them.
    pub(crate) fn position(&self, offset: usize, encoding: Encoding) -> Value {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let before = self.text.get(self.starts[line]..offset).unwrap_or_default();
        let units: usize = before.chars().map(|ch| encoding.units(ch)).sum();
        json!({"line": line, "character": units})
    }

    /// Returns the column in characters, from 1, of a server's position.
    pub(crate) fn column(&self, line: usize, units: usize, encoding: Encoding) -> usize {
        let end = self.offset(line, units, encoding);
        let before = end.and_then(|end| self.text.get(self.starts[line]..end));
        before.map_or(units, |before| before.chars().count()) + 1
    }
}

/// Reads a server's position: line and units, both from 0.
pub(crate) fn place(position: &Value) -> Option<(usize, usize)> {
    let number = |name| position.get(name)?.as_u64().and_then(|number| number.try_into().ok());
    Some((number("line")?, number("character")?))
}

/// Returns where a name stands in a line, in bytes: as a whole word, else as a part of one.
pub(crate) fn find(line: &str, name: &str) -> Option<usize> {
    let is_word = |ch: char| ch.is_alphanumeric() || ch == '_';
    let whole = line.match_indices(name).find(|(idx, _)| {
        let before = line[..*idx].chars().next_back();
        let after = line[idx + name.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    whole.map(|(idx, _)| idx).or_else(|| line.find(name))
}

#[cfg(test)]
mod tests;
