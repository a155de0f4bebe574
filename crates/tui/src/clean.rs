//! Makes text of models, tools, programs and files fit for cells: one character is what it looks like.
//!
//! Colors are dropped and tabs become blanks; every other control is shown as a picture or as its number.
//! Widths are not known here.

use std::{iter::Peekable, str::Chars};

/// Cells up to the next stop of a tab.
const TAB: usize = 4;

/// Cleans a text into its lines.
#[must_use]
pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines().map(one).collect()
}

/// Cleans a text that must stay on one line.
#[must_use]
pub(crate) fn line(text: &str) -> String {
    one(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn one(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\x1b' && is_color(&chars) {
            for skipped in chars.by_ref() {
                if skipped == 'm' {
                    break;
                }
            }
            continue;
        }
        let blanks = if c == '\t' { TAB - column % TAB } else { 0 };
        column += blanks.max(1);
        match c {
            '\t' => out.extend(std::iter::repeat_n(' ', blanks)),
            '\n' => out.push(' '),
            other => show(other, &mut out),
        }
    }
    out
}

/// Shows a character so that no terminal obeys it: a control as a picture or its number, and likewise what
/// reverses the reading order or hides what it says.
pub fn show(c: char, out: &mut String) {
    match c {
        // Before a line end it is how some systems end lines; alone it would overwrite.
        '\r' => {}
        '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\x7f' => out.push('\u{2421}'),
        '\u{80}'..='\u{9f}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => out.push_str(&format!("<U+{:04X}>", u32::from(c))),
        other => out.push(other),
    }
}

/// Tells whether what follows an escape is a color and nothing else.
fn is_color(chars: &Peekable<Chars<'_>>) -> bool {
    let mut rest = chars.clone();
    if rest.next() != Some('[') {
        return false;
    }
    rest.find(|c| !matches!(c, '0'..='9' | ';' | ':')) == Some('m')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_would_obey_comes_through() {
        for (text, expected) in [
            ("plain ünï 漢", "plain ünï 漢"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b[2J\x1b]0;t\x07", "␛[2J␛]0;t␇"),
            ("\x1b[31", "␛[31"),
            ("a\tb\x08\x7f", "a   b␈␡"),
            ("x\u{202e}y\u{9b}z", "x<U+202E>y<U+009B>z"),
        ] {
            assert_eq!(lines(text), [expected], "{text:?}");
        }
        assert_eq!(lines("a\r\nb\n"), ["a", "b"]);
        assert_eq!(line(" a\n  b\tc\x1b[1m "), "a b c");
    }
}
