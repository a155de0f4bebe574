//! Whatever a program writes, the mirror stays small.

use vocab::limits::{
    SCREEN_ANSWER_BYTES_MAX, SCREEN_DIRECTORY_BYTES_MAX, SCREEN_EVENTS_MAX,
    SCREEN_HISTORY_BLOCK_BYTES, SCREEN_HISTORY_BYTES_MAX, SCREEN_HISTORY_LINES_MAX,
    SCREEN_KEYBOARD_LEVELS_MAX, SCREEN_LINE_BYTES_MAX, SCREEN_LINK_BYTES_MAX,
    SCREEN_LINKS_BYTES_MAX, SCREEN_MARKS_MAX, SCREEN_NOTICE_BYTES_MAX, SCREEN_REQUEST_BYTES_MAX,
    SCREEN_STATUS_BYTES_MAX, SCREEN_STATUSES_MAX, SCREEN_STRING_BYTES_MAX, SCREEN_TITLE_BYTES_MAX,
    SCREEN_TITLES_MAX,
};

use super::same::{SMALL, difference, mirror};
use crate::{events::Event, snapshot::Depth};

#[test]
fn the_oldest_lines_go_first() {
    let mut mirror = mirror((80, 24));
    let n_lines = 2 * SCREEN_HISTORY_LINES_MAX;
    for line in 0..n_lines {
        mirror.feed(format!("line {line} of a log that says little\r\n").as_bytes());
    }
    let text = mirror.history_text();
    assert_eq!(text.len(), SCREEN_HISTORY_LINES_MAX);
    assert_eq!(mirror.n_history_lines(), SCREEN_HISTORY_LINES_MAX);
    let last = n_lines - 24;
    assert_eq!(text.last().unwrap(), &format!("line {last} of a log that says little"));
    assert!(mirror.terminal.history.n_bytes() < 1 << 20);
}

#[test]
fn history_of_dense_lines_is_bounded_in_bytes() {
    let mut mirror = mirror((200, 10));
    let mut number = 1_u32;
    for _ in 0..3_000 {
        for _ in 0..200 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [r, g, b, c] = number.to_le_bytes();
            mirror.feed(format!("\x1b[38;2;{r};{g};{b}m{}", char::from(b'a' + c % 26)).as_bytes());
        }
        mirror.feed(b"\r\n");
    }
    assert!(100 < mirror.n_history_lines());
    let n_bytes_max =
        SCREEN_HISTORY_BYTES_MAX + 4 * SCREEN_HISTORY_BLOCK_BYTES + SCREEN_LINE_BYTES_MAX;
    assert!(mirror.terminal.history.n_bytes() < n_bytes_max);
}

#[test]
fn a_line_without_an_end_is_broken() {
    let mut mirror = mirror((100, 5));
    mirror.feed(&vec![b'x'; 4 * SCREEN_LINE_BYTES_MAX]);
    let text = mirror.history_text();
    assert!(3 <= text.len());
    assert!(text.iter().all(|line| line.len() <= SCREEN_LINE_BYTES_MAX + 100));
}

#[test]
fn a_control_string_without_an_end_costs_little() {
    for (start, end) in
        [("\x1b]0;", "\x07"), ("\x1b]2;", "\x1b\\"), ("\x1bPq", "\x1b\\"), ("\x1b_G", "\x1b\\")]
    {
        let mut left = mirror(SMALL);
        left.feed(start.as_bytes());
        for _ in 0..100 {
            left.feed(&vec![b'x'; SCREEN_STRING_BYTES_MAX / 10]);
        }
        assert!(left.tail.pending().len() < 16, "{start:?}");
        let mut right = mirror(SMALL);
        right.feed(&left.snapshot(Depth::Replace));
        for mirror in [&mut left, &mut right] {
            mirror.feed(format!("more{end}text").as_bytes());
            assert_eq!(mirror.screen_text()[0], "text", "{start:?}");
            assert_eq!(mirror.title(), "");
        }
        assert_eq!(difference(&left, &right), None);
    }
}

#[test]
fn what_a_program_says_is_cut_to_its_limits() {
    let long = "é".repeat(5_000);
    let mut mirror = mirror(SMALL);
    mirror.feed(format!("\x1b]2;{long}\x07\x1b]7;file:///{long}\x07\x1b]9;{long}\x07").as_bytes());
    mirror.feed(
        format!("\x1b]8;;http://{long}\x07link\x1bP$q{}\x1b\\", "x".repeat(5_000)).as_bytes(),
    );
    assert_eq!(mirror.title().len(), SCREEN_TITLE_BYTES_MAX);
    assert_eq!(mirror.directory(), "");
    assert!(mirror.directory().len() <= SCREEN_DIRECTORY_BYTES_MAX);
    let notice = "é".repeat(SCREEN_NOTICE_BYTES_MAX / 2);
    let notice = Event::Notification { title: None, body: notice };
    assert!(mirror.take_events().contains(&notice));
    assert_eq!(mirror.terminal.grid.cursor.template.hyperlink(), None);
    for (n_bytes, is_kept) in [(SCREEN_LINK_BYTES_MAX, true), (SCREEN_LINK_BYTES_MAX + 1, false)] {
        let address = "h".repeat(n_bytes - "id".len());
        mirror.feed(format!("\x1b]8;id=id;{address}\x07").as_bytes());
        let link = mirror.terminal.grid.cursor.template.hyperlink();
        assert_eq!(link.is_some(), is_kept, "{n_bytes}");
    }
    assert!(mirror.terminal.request.capacity() <= 2 * SCREEN_REQUEST_BYTES_MAX);
    assert_eq!(mirror.take_answers(), b"");
}

#[test]
fn stacks_are_bounded() {
    let mut mirror = mirror(SMALL);
    for n in 0..1_000 {
        mirror.feed(format!("\x1b[>{}u\x1b]2;{n}\x07\x1b[22t", n % 32).as_bytes());
    }
    assert_eq!(mirror.terminal.keyboards[0].n_levels(), SCREEN_KEYBOARD_LEVELS_MAX);
    assert_eq!(mirror.terminal.labels.titles.len(), SCREEN_TITLES_MAX);
    mirror.feed(b"\x1b[<65535u\x1b[?u");
    assert_eq!(mirror.take_answers(), b"\x1b[?0u");
}

#[test]
fn many_links_are_bounded_together() {
    let mut mirror = mirror((100, 50));
    for n in 0..20_000 {
        mirror.feed(format!("\x1b]8;;http://{n}/{}\x07x", "a".repeat(1_000)).as_bytes());
    }
    let screen = &mirror.terminal;
    let n_bytes: usize = (0..50)
        .flat_map(|line| (0..100).map(move |column| (line, column)))
        .filter_map(|(line, column)| {
            use alacritty_terminal::index::{Column, Line};
            screen.grid[Line(line)][Column(column)].hyperlink()
        })
        .map(|link| link.uri().len())
        .sum();
    assert!(n_bytes <= SCREEN_LINKS_BYTES_MAX);
    // When the screen is clear there is room again.
    mirror.feed(b"\x1b]8;;\x07\x1b[2J\x1b[H");
    for n in 0..2_000 {
        mirror.feed(format!("\x1b[H\x1b]8;;http://again/{n}\x07x").as_bytes());
    }
    assert!(mirror.terminal.grid.cursor.template.hyperlink().is_some());
}

#[test]
fn a_cell_carries_only_so_many_marks() {
    let mut mirror = mirror(SMALL);
    mirror.feed(format!("a{}b", "\u{301}".repeat(10_000)).as_bytes());
    assert_eq!(mirror.screen_text()[0].chars().count(), 2 + SCREEN_MARKS_MAX);
}

#[test]
fn events_and_answers_are_bounded() {
    let mut mirror = mirror(SMALL);
    for n in 0..50_000 {
        mirror.feed(format!("\x1b[6n\x1b]9;{n}\x07").as_bytes());
    }
    assert_eq!(mirror.take_events().len(), SCREEN_EVENTS_MAX);
    let n_bytes = mirror.take_answers().len();
    assert!(SCREEN_ANSWER_BYTES_MAX - 16 < n_bytes && n_bytes <= SCREEN_ANSWER_BYTES_MAX);
    mirror.feed(b"\x1b[6n");
    assert_eq!(mirror.take_answers(), b"\x1b[1;1R");
}

#[test]
fn reports_of_state_are_bounded() {
    let told = |report: &str| {
        let mut mirror = mirror(SMALL);
        mirror.feed(format!("\x1b]7501;{report}\x1b\\").as_bytes());
        mirror.take_events().len()
    };
    let padding = "x".repeat(SCREEN_STATUS_BYTES_MAX - "state=idle:a=".len());
    assert_eq!(told(&format!("state=idle:a={padding}")), 1);
    assert_eq!(told("state=done:msg=aGk:what=ever:odd:=:x=:Y=1:y=ä:z=;"), 1);
    for bad in [
        &format!("state=idle:a={padding}x"),
        "",
        "working",
        "state=dancing",
        "state=idle:id=a//b",
        "state=idle:id=a/b/c/d/e/f/g/h/i",
        "state=idle:msg=A",
        "state=idle:msg=CQ==",
        "state=idle:msg=/w==",
        "state=idle:title=Gw==",
        "state=idle;x",
        "state=idle:averylongkeyindeed=1",
    ] {
        assert_eq!(told(bad), 0, "{bad}");
    }
    let mut mirror = mirror(SMALL);
    for n in 0..=SCREEN_STATUSES_MAX {
        mirror.feed(format!("\x1b]7501;state=working:id=r{n}\x07").as_bytes());
    }
    let snapshot = String::from_utf8(mirror.snapshot(Depth::Screen)).unwrap();
    assert_eq!(snapshot.matches("7501;state=working").count(), SCREEN_STATUSES_MAX);
    assert!(!snapshot.contains("id=r0\x1b") && snapshot.contains("id=r1\x1b"));
}
