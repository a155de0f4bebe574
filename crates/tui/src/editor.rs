//! One line that is being written: its text and where the cursor stands.
//!
//! Line ends that were pasted stay in the text and are shown as a sign. What becomes of it is others'
//! business.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a key that means nothing here is none of its business, whichever it is"
)]

use vocab::limits::VIEW_LINE_BYTES_MAX;

use crate::{clean, msg::Key, text};

/// A line and its cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// In bytes; always between two characters.
    cursor: usize,
}

impl Editor {
    /// Begins with a text, the cursor behind it.
    pub(crate) fn new(text: &str) -> Self {
        let mut editor = Self::default();
        editor.insert(text);
        editor
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Inserts what was typed or pasted, as far as there is room.
    pub(crate) fn insert(&mut self, text: &str) {
        for c in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            let is_fit = c == '\n' || c == '\t' || !c.is_control();
            if is_fit && self.text.len() + c.len_utf8() <= VIEW_LINE_BYTES_MAX {
                self.text.insert(self.cursor, c);
                self.cursor += c.len_utf8();
            }
        }
    }

    /// Does what a key asks for; false when it means nothing here.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Backspace => self.remove(self.before(), self.cursor),
            Key::Delete | Key::Ctrl('d') => self.remove(self.cursor, self.after()),
            Key::Left | Key::Ctrl('b') => self.cursor = self.before(),
            Key::Right | Key::Ctrl('f') => self.cursor = self.after(),
            Key::Home | Key::Ctrl('a') => self.cursor = 0,
            Key::End | Key::Ctrl('e') => self.cursor = self.text.len(),
            Key::Ctrl('u') => self.remove(0, self.cursor),
            Key::Ctrl('k') => self.remove(self.cursor, self.text.len()),
            Key::Ctrl('w') => {
                let head = self.text[..self.cursor].trim_end();
                self.remove(head.rfind(' ').map_or(0, |at| at + 1), self.cursor);
            }
            _ => return false,
        }
        true
    }

    /// Returns what is shown in `columns` cells, and the cell of the cursor in it.
    pub(crate) fn shown(&self, columns: usize) -> (String, usize) {
        let visible = |text: &str| clean::lines(&text.replace(['\n', '\t'], "↵")).concat();
        let (head, tail) = (visible(&self.text[..self.cursor]), visible(&self.text[self.cursor..]));
        // One cell stays free for the cursor behind the end.
        let room = columns.saturating_sub(1);
        let head = text::cut_front(&head, room);
        let at = text::width(&head);
        (format!("{head}{}", text::cut(&tail, columns.saturating_sub(at))), at)
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(begin: &str, keys: &[Key], text: &str, shown: (&str, usize)) {
        let mut editor = Editor::new(begin);
        for key in keys {
            editor.key(*key);
        }
        assert_eq!(editor.text(), text, "{keys:?}");
        assert_eq!(editor.shown(10), (shown.0.to_owned(), shown.1), "{keys:?}");
    }

    #[test]
    fn a_line_is_written_as_lines_are() {
        check("ab", &[Key::Left, Key::Char('ü')], "aüb", ("aüb", 2));
        check("漢字", &[Key::Left, Key::Backspace], "字", ("字", 0));
        check("one two ", &[Key::Ctrl('w')], "one ", ("one ", 4));
        check(
            "one two",
            &[Key::Home, Key::Delete, Key::End, Key::Backspace],
            "ne tw",
            ("ne tw", 5),
        );
        check("abc", &[Key::Left, Key::Ctrl('u')], "c", ("c", 0));
        check("abc", &[Key::Ctrl('a'), Key::Right, Key::Ctrl('k')], "a", ("a", 1));
        check("a\r\nb\x1b\x07", &[], "a\nb", ("a↵b", 3));
        check("0123456789ab", &[], "0123456789ab", ("…456789ab", 9));
        check("0123456789ab", &[Key::Home], "0123456789ab", ("012345678…", 0));
        check("", &[Key::Backspace, Key::Delete, Key::Left, Key::Right], "", ("", 0));
    }

    #[test]
    fn a_line_takes_so_many_bytes() {
        let mut editor = Editor::new(&"漢".repeat(VIEW_LINE_BYTES_MAX));
        editor.key(Key::Char('漢'));
        assert_eq!(editor.text().len(), VIEW_LINE_BYTES_MAX / 3 * 3);
    }
}
