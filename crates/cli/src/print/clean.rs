//! Makes text of models, tools and files harmless for a terminal.
//!
//! Colors are dropped; every other control is shown as a picture or as its number, so that nothing can
//! move the cursor, set a title, fill the clipboard, reverse the reading order or hide what it says.
//! Line ends and tabs stay. How text looks otherwise is not decided here.

use vocab::limits::COLOR_CHARS_MAX;

/// The state between two pieces of a text.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    /// The beginning of a sequence that may turn out to be a color.
    held: String,
}

impl Cleaner {
    /// Cleans the next piece.
    pub(crate) fn feed(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            self.step(c, &mut out);
        }
        out
    }

    /// Returns what was held back, since nothing follows.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.show_held(&mut out);
        out
    }

    fn step(&mut self, c: char, out: &mut String) {
        if !self.held.is_empty() {
            match (self.held.len(), c) {
                (1, '[') => return self.held.push(c),
                (2.., '0'..='9' | ';' | ':') if self.held.len() < COLOR_CHARS_MAX => {
                    return self.held.push(c);
                }
                (2.., 'm') => return self.held.clear(),
                _ => self.show_held(out),
            }
        }
        if c == '\x1b' { self.held.push(c) } else { show(c, out) }
    }

    fn show_held(&mut self, out: &mut String) {
        for c in std::mem::take(&mut self.held).chars() {
            show(c, out);
        }
    }
}

fn show(c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        other => tui::clean::show(other, out),
    }
}

/// Cleans a whole text.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaner = Cleaner::default();
    let mut out = cleaner.feed(text);
    out.push_str(&cleaner.finish());
    out
}

/// Cleans a text that must stay on one line.
pub(crate) fn clean_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(clean(text), expected, "{text:?}");
        for (at, _) in text.char_indices() {
            let mut cleaner = Cleaner::default();
            let pieces = [cleaner.feed(&text[..at]), cleaner.feed(&text[at..]), cleaner.finish()];
            assert_eq!(pieces.concat(), expected, "{text:?} cut at {at}");
        }
    }

    #[test]
    fn controls_are_shown_and_colors_dropped() {
        check("plain ünï 漢\n\ttab", "plain ünï 漢\n\ttab");
        check("\x1b[1;31mred\x1b[0m\r\n", "red\n");
        check("\x1b[2J\x1b]0;title\x07", "␛[2J␛]0;title␇");
        check("\x1b\x1b[mx\x1b[", "␛x␛[");
        check("a\u{9b}31mb\x7f", "a<U+009B>31mb␡");
        check("safe\u{202e}txt.exe\u{200f}", "safe<U+202E>txt.exe<U+200F>");
        check("over\rwritten \x08", "overwritten ␈");
        // The escape and the bracket count too.
        for (digits, is_shown) in [(COLOR_CHARS_MAX - 2, false), (COLOR_CHARS_MAX - 1, true)] {
            let color = format!("\x1b[{}m", "1".repeat(digits));
            assert_eq!(clean(&color).starts_with("␛[1"), is_shown, "{digits}");
        }
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(clean_line(" a\n  b\tc\x1b[1m "), "a b c");
    }
}
