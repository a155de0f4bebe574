//! A screen on a terminal of another size, which is a mirror too: what it shows, and how it tells keys.

use super::same::mirror;
use crate::{Mirror, Size, Window};

/// Returns the lines that a screen shows.
fn lines(mirror: &Mirror) -> Vec<String> {
    mirror.screen_text()
}

/// A terminal that shows a part of a screen.
struct Part {
    window: Window,
    terminal: Mirror,
}

impl Part {
    fn new(columns: u16, n_lines: u16) -> Self {
        let mut terminal = mirror((columns, n_lines));
        // It was somebody else's before.
        terminal.feed(b"old\x1b[5;3Hold \x1b[?1003h\x1b[>5u\x1b[4h\x1b[?7l");
        terminal.feed(crate::KEEP_TITLE);
        Self { window: Window::new(Size::clamped(columns, n_lines)), terminal }
    }

    fn paint(&mut self, screen: &Mirror) -> usize {
        let bytes = self.window.paint(screen);
        self.terminal.feed(&bytes);
        bytes.len()
    }

    fn cursor(&self) -> (usize, usize) {
        (self.terminal.terminal.line(), self.terminal.terminal.column())
    }
}

/// Ten lines of twenty columns, each full of its own letter but for where it begins and ends.
fn full() -> Mirror {
    let mut screen = mirror((20, 10));
    for (at, letter) in ('a'..='j').enumerate() {
        let text: String = std::iter::repeat_n(letter, 18).collect();
        screen.feed(format!("\x1b[{};1H<{text}>", at + 1).as_bytes());
    }
    screen
}

#[test]
fn a_smaller_terminal_shows_the_part_where_the_cursor_is() {
    let check = |cursor: &str, first: &str, n_first: usize, at: (usize, usize)| {
        let (mut screen, mut part) = (full(), Part::new(8, 4));
        screen.feed(cursor.as_bytes());
        part.paint(&screen);
        let shown = lines(&part.terminal);
        assert_eq!((shown[0].as_str(), part.cursor()), (first, at), "{cursor:?}: {shown:?}");
        let all = lines(&screen);
        for (line, shown) in shown.iter().enumerate() {
            assert!(all[n_first + line].contains(shown.as_str()), "{cursor:?}: {shown:?}");
        }
    };
    check("\x1b[1;1H", "<aaaaaaa", 0, (0, 0));
    check("\x1b[4;8H", "<aaaaaaa", 0, (3, 7));
    check("\x1b[5;1H", "<ccccccc", 2, (2, 0));
    check("\x1b[1;9H", "aaaaaaaa", 0, (0, 4));
    check("\x1b[10;20H", "ggggggg>", 6, (3, 7));
    check("\x1b[6;19H", "ccccccc>", 2, (3, 6));
}

#[test]
fn a_larger_terminal_shows_nothing_beside_it() {
    let (mut screen, mut part) = (full(), Part::new(30, 12));
    part.paint(&screen);
    let mut expected = lines(&screen);
    expected.extend([String::new(), String::new()]);
    assert_eq!((lines(&part.terminal), part.cursor()), (expected, (9, 19)));
    // What changes is painted, and nothing else.
    screen.feed(b"\x1b[3;2Hx");
    let n_bytes = part.paint(&screen);
    assert!((1..100).contains(&n_bytes), "{n_bytes}");
    assert_eq!(lines(&part.terminal)[2], "<xccccccccccccccccc>");
    assert_eq!(part.paint(&screen), 0);
    screen.feed(b"\x1b[2J");
    part.paint(&screen);
    assert!(lines(&part.terminal).iter().all(String::is_empty));
}

#[test]
fn half_of_a_wide_character_is_a_blank() {
    let mut screen = mirror((20, 2));
    screen.feed("a\u{6f22}b\u{5b57}c\r\nabc\u{6f22}d".as_bytes());
    let mut part = Part::new(5, 2);
    screen.feed(b"\x1b[1;1H");
    part.paint(&screen);
    assert_eq!(lines(&part.terminal), ["a\u{6f22}b", "abc\u{6f22}"]);
    // Four columns from the third on: of the first glyph half is left.
    let mut part = Part::new(4, 2);
    screen.feed(b"\x1b[1;5H");
    part.paint(&screen);
    assert_eq!(lines(&part.terminal), [" b\u{5b57}", "c\u{6f22}d"]);
}

#[test]
fn keys_and_titles_are_told_as_on_a_terminal_of_the_same_size() {
    let (mut screen, mut part) = (full(), Part::new(8, 4));
    screen.feed(b"\x1b[?1;2004;1002;1006h\x1b=\x1b[>3u\x1b[5 q\x1b[?25l\x1b]2;one\x1b\\");
    part.paint(&screen);
    let same = |screen: &Mirror, part: &Part| {
        let (screen, shown) = (&screen.terminal, &part.terminal.terminal);
        assert_eq!(format!("{:?}", screen.modes), format!("{:?}", shown.modes));
        let at = usize::from(screen.below.is_some());
        assert_eq!(screen.keyboards[at].current(), shown.keyboards[at].current());
        assert_eq!(screen.labels.title, shown.labels.title);
        assert_eq!(screen.below.is_some(), shown.below.is_some());
    };
    same(&screen, &part);
    screen.feed(b"\x1b[?1049h\x1b[>1u\x1b[?1002l\x1b[?25h\x1b]2;two\x1b\\\x1b[2J\x1b[Hother");
    part.paint(&screen);
    same(&screen, &part);
    assert_eq!(lines(&part.terminal), ["other", "", "", ""]);
    screen.feed(b"\x1b[?1049l\x1b[1;1H\x1b[?2004l");
    part.paint(&screen);
    same(&screen, &part);
    assert_eq!(lines(&part.terminal)[0], "<aaaaaaa");
    assert_eq!(part.terminal.terminal.labels.titles.len(), 1, "the terminal's own one");
}
