//! Finds texts that differ only in what models get wrong: compatibility forms, quotes, dashes, odd
//! spaces, spaces at line ends.
//!
//! A match is led back to the very characters it covers. Where a line's normal form cannot be divided
//! at the match, the match is widened to that line, and no further.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::find::{self, Body, Found};

/// A text in normal form, line by line.
struct Normal {
    text: Vec<u8>,
    /// Where each line starts in `text`, and the range it has in the text without returns.
    lines: Vec<(usize, Range<usize>)>,
}

/// Finds every place that matches in normal form.
pub(super) fn near(body: &Body<'_>, old: &str) -> Vec<Found> {
    let old = old.replace("\r\n", "\n");
    let wanted = normalize(old.as_bytes());
    if wanted.text.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    // A space that was dropped at the very end of the text must not turn into "anything may follow".
    let open_end = !old.ends_with(char::is_whitespace) || old.ends_with('\n');
    let normal = normalize(&body.lf);
    find::occurrences(&normal.text, &wanted.text)
        .into_iter()
        .filter(|at| open_end || normal.text.get(at.end).is_none_or(u8::is_ascii_whitespace))
        .map(|at| lead_back(body, &normal, at))
        .collect()
}

fn lead_back(body: &Body<'_>, normal: &Normal, at: Range<usize>) -> Found {
    let (before, start) = boundary(body, normal, at.start, Side::Start);
    let (after, end) = boundary(body, normal, at.end, Side::End);
    Found { span: body.span(start..end), before, after, near: true }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Start,
    End,
}

/// Leads one end of a match back. Returns what must be written again where it had to be widened.
fn boundary(body: &Body<'_>, normal: &Normal, at: usize, side: Side) -> (Vec<u8>, usize) {
    let idx = normal.lines.partition_point(|(start, _)| *start <= at).saturating_sub(1);
    let Some((start, source)) = normal.lines.get(idx) else { return (Vec::new(), at) };
    let line = body.lf.get(source.clone()).unwrap_or_default();
    let next = normal.lines.get(idx + 1).map_or(normal.text.len(), |(next, _)| next - 1);
    let column = at - start;
    if column == 0 {
        return (Vec::new(), source.start);
    }
    if at == next {
        // Spaces at the end of a line that the match does not go beyond are not its own.
        let trimmed = line.len() - trailing_space(line);
        let end = if side == Side::End { source.start + trimmed } else { source.end };
        return (Vec::new(), end);
    }
    if let Some(offset) = divide(line, column) {
        return (Vec::new(), source.start + offset);
    }
    match side {
        Side::Start => (normal.text.get(*start..at).unwrap_or_default().to_vec(), source.start),
        Side::End => (normal.text.get(at..next).unwrap_or_default().to_vec(), source.end),
    }
}

/// Finds where a line divides so that its first part has a normal form of `column` bytes. None where
/// the normal form is not made character by character, or the column lies within one.
fn divide(line: &[u8], column: usize) -> Option<usize> {
    let text = std::str::from_utf8(line).ok()?;
    let mut length = 0;
    let mut pieces = String::new();
    let mut offset = None;
    for (at, character) in text.char_indices() {
        if length == column {
            offset = Some(at);
        }
        let before = pieces.len();
        pieces.extend(std::iter::once(character).nfkc().map(plain));
        length += pieces.len() - before;
    }
    let whole: String = text.nfkc().map(plain).collect();
    if whole == pieces { offset } else { None }
}

fn normalize(lf: &[u8]) -> Normal {
    let mut normal = Normal { text: Vec::with_capacity(lf.len()), lines: Vec::new() };
    let mut at = 0;
    for line in lf.split(|byte| *byte == b'\n') {
        if at > 0 {
            normal.text.push(b'\n');
        }
        normal.lines.push((normal.text.len(), at..at + line.len()));
        push_normal(&mut normal.text, line);
        at += line.len() + 1;
    }
    normal
}

fn push_normal(out: &mut Vec<u8>, line: &[u8]) {
    if line.is_ascii() {
        out.extend_from_slice(line.trim_ascii_end());
        return;
    }
    match std::str::from_utf8(line) {
        Ok(text) => {
            let text: String = text.nfkc().map(plain).collect();
            out.extend_from_slice(text.trim_end().as_bytes());
        }
        // Bytes that are no text stand for themselves.
        Err(_) => out.extend_from_slice(line),
    }
}

fn trailing_space(line: &[u8]) -> usize {
    match std::str::from_utf8(line) {
        Ok(text) => text.len() - text.trim_end().len(),
        Err(_) => 0,
    }
}

fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_divides_only_between_characters_of_its_normal_form() {
        assert_eq!(divide("a“b”".as_bytes(), 2), Some(4));
        assert_eq!(divide("ﬁx".as_bytes(), 1), None);
        assert_eq!(divide("ﬁx".as_bytes(), 2), Some(3));
        // A combining accent is composed with the letter before it.
        assert_eq!(divide("e\u{301}x".as_bytes(), 2), None);
    }
}
