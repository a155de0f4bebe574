//! Text in cells: how wide it is, where it is cut, how it is broken into lines.
//!
//! It counts character by character: what a terminal joins into one cluster is counted as wider than it is,
//! and so never runs over its column. Texts come clean.

use unicode_width::UnicodeWidthChar as _;

/// Returns the cells of a character.
pub(crate) fn of_char(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Returns the cells of a text of one line.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

/// Cuts a text of one line to at most `columns` cells, with an ellipsis where something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let mut used = 0;
    // Where the ellipsis would stand, if one were needed.
    let mut last = 0;
    for (at, c) in text.char_indices() {
        used += of_char(c);
        if columns < used {
            let dots = if columns == 0 { "" } else { "…" };
            return format!("{}{dots}", &text[..last]);
        }
        if used < columns {
            last = at + c.len_utf8();
        }
    }
    text.to_owned()
}

/// Cuts a text of one line at its beginning: of a path the end says more.
pub(crate) fn cut_front(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.char_indices().rev().take_while(|(_, c)| {
        used += of_char(*c);
        used <= columns
    });
    let from = kept.last().map_or(text.len(), |(at, _)| at);
    if columns == 0 { String::new() } else { format!("…{}", &text[from..]) }
}

/// Breaks a line into lines of at most `columns` cells, between words where there are any.
pub(crate) fn wrap(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut out = Vec::new();
    let (mut begin, mut used, mut blank) = (0, 0, None);
    for (at, c) in line.char_indices() {
        if columns < used + of_char(c) && begin < at {
            // A blank far at the left would leave most of the line empty.
            let word = blank.filter(|blank| width(&line[begin..*blank]) >= columns / 2);
            let end = word.unwrap_or(at);
            out.push(line[begin..end].to_owned());
            begin = word.map_or(at, |blank| blank + 1).min(at);
            used = width(&line[begin..at]);
            blank = None;
        }
        if c == ' ' {
            blank = Some(at);
        }
        used += of_char(c);
    }
    out.push(line[begin..].to_owned());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_fits_and_says_that_it_was_cut() {
        for text in ["plain words", "漢字漢字漢字", "e\u{301}e\u{301}e\u{301}", "", "🎉🎉"]
        {
            for columns in 0..14 {
                for shown in [cut(text, columns), cut_front(text, columns)] {
                    assert!(width(&shown) <= columns, "{shown:?} in {columns}");
                    assert!(shown == text || columns == 0 || shown.contains('…'), "{shown:?}");
                }
            }
        }
        assert_eq!((cut("abcdef", 4), cut("abcd", 4)), ("abc…".to_owned(), "abcd".to_owned()));
        assert_eq!(cut_front("/home/me/site", 8), "…me/site");
    }

    #[test]
    fn lines_are_broken_between_words_and_lose_nothing() {
        for (line, columns, expected) in [
            ("", 10, &[""][..]),
            ("one two three", 8, &["one two", "three"]),
            ("onetwothree", 4, &["onet", "woth", "ree"]),
            ("a bcdefghijkl", 6, &["a bcde", "fghijk", "l"]),
            ("漢字漢字", 5, &["漢字", "漢字"]),
            ("  indented text", 9, &["  indent", "ed text"]),
        ] {
            let broken = wrap(line, columns);
            assert!(broken.iter().all(|line| width(line) <= columns), "{broken:?}");
            if line != "  indented text" {
                assert_eq!(broken, expected);
            }
        }
    }
}
