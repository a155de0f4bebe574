//! Finds texts that differ only in what models get wrong: compatibility forms, quotes, dashes, odd
//! spaces, spaces at line ends.
//!
//! A match is led back to the very characters it covers. Where a line's normal form cannot be divided
//! at the match, the match is widened to that line, and no further.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::{
    EditError,
    find::{self, Body, Found, Places},
    watch::Watch,
};

/// A text in normal form. It has the lines of the text, which is how one is led back to the other.
pub(super) struct Normal {
    text: Vec<u8>,
}

/// What was found of a text in normal form.
pub(super) enum Near {
    /// The one place.
    One(Found),
    /// None, or too many.
    Other(Places),
}

/// Finds the places that match in normal form.
pub(super) fn near(body: &Body<'_>, old: &str, watch: &Watch<'_>) -> Result<Near, EditError> {
    let old = old.replace("\r\n", "\n");
    let wanted = normalize(old.as_bytes(), watch)?;
    if wanted.text.iter().all(u8::is_ascii_whitespace) {
        return Ok(Near::Other(Places::default()));
    }
    // A space that was dropped at the very end of the text must not turn into "anything may follow".
    let open_end = !old.ends_with(char::is_whitespace) || old.ends_with('\n');
    let normal = match body.normal.get() {
        Some(normal) => normal,
        None => {
            let made = normalize(&body.lf, watch)?;
            body.normal.get_or_init(|| made)
        }
    };
    let fits =
        |at: &Range<usize>| open_end || normal.text.get(at.end).is_none_or(u8::is_ascii_whitespace);
    let mut found = find::places(&normal.text, &wanted.text, fits, watch)?;
    if let (1, Some(only)) = (found.count, found.kept.first()) {
        return Ok(Near::One(lead_back(body, normal, only.clone(), watch)?));
    }
    for place in &mut found.kept {
        // Of many places only the lines are told, and a line starts where it starts.
        let start = line_at(body, normal, place.start).source.start;
        *place = body.span(start..start);
    }
    Ok(Near::Other(found))
}

fn lead_back(
    body: &Body<'_>,
    normal: &Normal,
    at: Range<usize>,
    watch: &Watch<'_>,
) -> Result<Found, EditError> {
    let (before, start) = boundary(body, normal, (at.start, Side::Start), watch)?;
    let (after, end) = boundary(body, normal, (at.end, Side::End), watch)?;
    Ok(Found { span: body.span(start..end), before, after, near: true })
}

/// A line in both forms.
struct Line {
    /// Where it starts and ends in the normal form.
    start: usize,
    next: usize,
    /// The range it has in the text without returns.
    source: Range<usize>,
}

/// Finds the line in which a position of the normal form stands. Counted anew each time: a list of all
/// lines would be many times the file where the lines are short.
fn line_at(body: &Body<'_>, normal: &Normal, at: usize) -> Line {
    let (before, after) = normal.text.split_at(at.min(normal.text.len()));
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let next = memchr::memchr(b'\n', after).map_or(normal.text.len(), |end| at + end);
    let above = memchr::memchr_iter(b'\n', before).count();
    let mut ends = memchr::memchr_iter(b'\n', &body.lf);
    let from = above.checked_sub(1).and_then(|last| ends.nth(last)).map_or(0, |end| end + 1);
    Line { start, next, source: from..ends.next().unwrap_or(body.lf.len()) }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Start,
    End,
}

/// Leads one end of a match back. Returns what must be written again where it had to be widened.
fn boundary(
    body: &Body<'_>,
    normal: &Normal,
    (at, side): (usize, Side),
    watch: &Watch<'_>,
) -> Result<(Vec<u8>, usize), EditError> {
    watch.spend(at + body.lf.len())?;
    let Line { start, next, source } = line_at(body, normal, at);
    let line = body.lf.get(source.clone()).unwrap_or_default();
    let column = at - start;
    if column == 0 {
        return Ok((Vec::new(), source.start));
    }
    if at == next {
        // Spaces at the end of a line that the match does not go beyond are not its own.
        let trimmed = line.len() - trailing_space(line);
        let end = if side == Side::End { source.start + trimmed } else { source.end };
        return Ok((Vec::new(), end));
    }
    if let Some(offset) = divide(line, column, watch)? {
        return Ok((Vec::new(), source.start + offset));
    }
    Ok(match side {
        Side::Start => (normal.text.get(start..at).unwrap_or_default().to_vec(), source.start),
        Side::End => (normal.text.get(at..next).unwrap_or_default().to_vec(), source.end),
    })
}

/// Finds where a line divides so that its first part has a normal form of `column` bytes. None where
/// the normal form is not made character by character, or the column lies within one.
fn divide(line: &[u8], column: usize, watch: &Watch<'_>) -> Result<Option<usize>, EditError> {
    let Ok(text) = std::str::from_utf8(line) else { return Ok(None) };
    let mut pieces = String::new();
    let mut offset = None;
    for (at, character) in text.char_indices() {
        watch.spend(character.len_utf8())?;
        if pieces.len() == column {
            offset = Some(at);
        }
        pieces.extend(std::iter::once(character).nfkc().map(plain));
    }
    let mut whole = String::with_capacity(pieces.len());
    push_text(&mut whole, text, watch)?;
    Ok(if whole == pieces { offset } else { None })
}

fn normalize(lf: &[u8], watch: &Watch<'_>) -> Result<Normal, EditError> {
    let mut normal = Normal { text: Vec::with_capacity(lf.len()) };
    let mut at = 0;
    for line in lf.split(|byte| *byte == b'\n') {
        if at > 0 {
            normal.text.push(b'\n');
        }
        watch.spend(line.len() + 1)?;
        push_normal(&mut normal.text, line, watch)?;
        at += line.len() + 1;
    }
    Ok(normal)
}

fn push_normal(out: &mut Vec<u8>, line: &[u8], watch: &Watch<'_>) -> Result<(), EditError> {
    if line.is_ascii() {
        out.extend_from_slice(line.trim_ascii_end());
        return Ok(());
    }
    match std::str::from_utf8(line) {
        Ok(text) => {
            let mut normal = String::with_capacity(text.len());
            push_text(&mut normal, text, watch)?;
            out.extend_from_slice(normal.trim_end().as_bytes());
        }
        // Bytes that are no text stand for themselves.
        Err(_) => out.extend_from_slice(line),
    }
    Ok(())
}

fn push_text(out: &mut String, text: &str, watch: &Watch<'_>) -> Result<(), EditError> {
    for character in text.nfkc().map(plain) {
        watch.spend(character.len_utf8())?;
        out.push(character);
    }
    Ok(())
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
        let watch = Watch::new(&|| true);
        let divided = |line: &str, column| divide(line.as_bytes(), column, &watch).unwrap();
        assert_eq!(divided("a“b”", 2), Some(4));
        assert_eq!(divided("ﬁx", 1), None);
        assert_eq!(divided("ﬁx", 2), Some(3));
        // A combining accent is composed with the letter before it.
        assert_eq!(divided("e\u{301}x", 2), None);
    }
}
