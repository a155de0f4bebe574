//! Other sizes: nothing is lost, and what is wide again looks as before.

use vocab::limits::{SCREEN_COLUMNS_MAX, SCREEN_LINES_MAX};

use super::same::mirror;
use crate::size::Size;

#[test]
fn absurd_sizes_are_brought_into_bounds() {
    for (columns, lines) in [(0, 0), (1, 1), (u16::MAX, u16::MAX), (0, u16::MAX)] {
        let size = Size::clamped(columns, lines);
        assert!((2..=SCREEN_COLUMNS_MAX).contains(&size.columns()));
        assert!((1..=SCREEN_LINES_MAX).contains(&size.lines()));
        let mut mirror = mirror((80, 24));
        mirror.feed("text 中文\r\n".repeat(40).as_bytes());
        mirror.resize(size);
        mirror.resize(Size::clamped(80, 24));
        assert!(mirror.screen_text().iter().any(|line| line.contains("text 中文")));
    }
}

/// Fills a terminal, takes it through other sizes and back to the first.
fn check(name: &str, stream: &str, sizes: &[(u16, u16)]) {
    let mut mirror = mirror((40, 10));
    mirror.feed(stream.as_bytes());
    let (text, history) = (mirror.screen_text(), mirror.history_text());
    let letters = |mirror: &crate::Mirror| {
        let lines = [mirror.history_text(), mirror.screen_text()].concat();
        lines.concat().replace(' ', "")
    };
    let before = letters(&mirror);
    for (columns, lines) in sizes {
        mirror.resize(Size::clamped(*columns, *lines));
        assert_eq!(letters(&mirror), before, "{name} at {columns}×{lines}");
    }
    mirror.resize(Size::clamped(40, 10));
    assert_eq!(mirror.screen_text(), text, "{name}");
    assert_eq!(mirror.history_text(), history, "{name}");
}

#[test]
fn text_survives_a_narrow_terminal() {
    let lines: String =
        (0..60).map(|line| format!("{line} {}\r\n", "abcdefghij ".repeat(line % 7))).collect();
    let wide: String =
        (0..30).map(|line| format!("{line}中文字{}\r\n", "漢字".repeat(line % 12))).collect();
    check("lines", &lines, &[(20, 10), (80, 10), (7, 10)]);
    check("lines, lower", &lines, &[(40, 4), (40, 30), (40, 7)]);
    check("lines, both", &lines, &[(13, 4), (90, 30)]);
    check("wide glyphs", &wide, &[(20, 10), (9, 10), (80, 10)]);
    check("one long line", &"0123456789".repeat(100), &[(33, 10), (7, 5), (100, 20)]);
}

#[test]
fn a_line_across_the_top_of_the_screen_stays_one() {
    let mut mirror = mirror((10, 3));
    mirror.feed("0123456789".repeat(5).as_bytes());
    assert_eq!(mirror.history_text(), ["01234567890123456789"]);
    mirror.resize(Size::clamped(25, 3));
    assert_eq!(mirror.screen_text().concat(), "0123456789".repeat(5));
    assert_eq!(mirror.n_history_lines(), 0);
    mirror.resize(Size::clamped(5, 3));
    mirror.resize(Size::clamped(60, 3));
    assert_eq!(mirror.screen_text()[0], "0123456789".repeat(5));
}

#[test]
fn the_cursor_to_come_back_to_moves_with_its_text() {
    let mut mirror = mirror((20, 4));
    mirror.feed(b"a long line of a shell\r\n$ \x1b[?1049h\x1b[Hother");
    mirror.resize(Size::clamped(40, 4));
    mirror.feed(b"\x1b[?1049lls");
    assert_eq!(mirror.screen_text()[..2], ["a long line of a shell", "$ ls"]);
}
