//! What scrolls past without being drawn: the same comes out as where every line is drawn.

use proptest::{collection::vec, prelude::*};

use super::same::{difference, mirror};
use crate::{mirror::Mirror, size::Size};

/// Feeds so little at a time that every line is drawn.
fn drawn(size: (u16, u16), streams: &[Vec<u8>]) -> Mirror {
    let mut mirror = mirror(size);
    for byte in streams.iter().flatten() {
        mirror.feed(std::slice::from_ref(byte));
    }
    mirror
}

fn at_once(size: (u16, u16), streams: &[Vec<u8>]) -> Mirror {
    let mut mirror = mirror(size);
    for stream in streams {
        mirror.feed(stream);
    }
    mirror
}

/// What no flood takes, and what makes the lines after it unfit for one or fit again.
const RARE: &[&str] = &[
    "\x1b[44m",
    "\x1b[4h",
    "\x1b[4l",
    "\x1b(0",
    "\x1b(B",
    "\x1b[2;3r",
    "\x1b[r\x1b[99H",
    "\x1b[A",
    "\x1b[2K\r",
    "\x1b[99;1H",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b]8;;http://a\x07",
    "\x1b]8;;\x07",
    "\x1b[?7l",
    "\x1b[?7h",
    "\x1b[20h",
    "\x1b[",
    "\x1b",
    "\x1b]0;",
    "\x07",
    "\x1b7",
    "\x1b8",
    "\x1b[?6h",
    "\x1bM",
    "\x1b[3J",
    "\x1bc",
    "\u{e9}",
];

/// A line as most floods have them, or nearly.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let colors = prop::sample::select(vec![
        "0",
        "",
        ";",
        "1",
        "01;34",
        "7",
        "4",
        "4;58;5;3",
        "22",
        "31",
        "39",
        "91",
        "38;5;200",
        "38;2;1;2;3",
        "44",
        "49",
        "48;5;9",
        "107",
        "3;0;9",
        "38",
        "38;5",
        "999",
        "0;0;0;1;1",
        "1;2;3;4;5;6;7;8;9;1;2;3;4;5;6;7;8",
        "99999",
    ])
    .prop_map(|codes| format!("\x1b[{codes}m"));
    let piece = prop_oneof![
        6 => "[a-z ~]{0,9}",
        3 => " {1,5}",
        4 => colors,
        1 => "[\t\u{8}\u{7}中é\u{301}]",
    ];
    let end = prop::sample::select(vec!["\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r\r\n"]);
    // Most lines have nothing rare.
    let rare = prop_oneof![9 => Just(""), 1 => prop::sample::select(RARE)];
    (vec(piece, 0..4), rare, end).prop_map(|(pieces, rare, end)| {
        [pieces.concat().as_bytes(), rare.as_bytes(), end.as_bytes()].concat()
    })
}

/// Lines in a row that are plain, so that floods are long as well.
fn plain() -> impl Strategy<Value = Vec<u8>> {
    let color = prop::sample::select(vec!["", "", "\x1b[0m", "\x1b[1;32m", "\x1b[7m"]);
    vec(
        ("[a-z \t]{0,7}", color, "[a-z ]{0,7}")
            .prop_map(|(a, color, b)| format!("{a}{color}{b}\r\n")),
        0..30,
    )
    .prop_map(|lines| lines.concat().into_bytes())
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![2 => plain(), 3 => vec(line(), 0..8).prop_map(|lines| lines.concat())];
    vec(part, 0..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn lines_that_nobody_could_see_are_as_if_drawn(
        size in (2_u16..16, 1_u16..7), streams in vec(stream(), 1..4), after in "[a-z \u{301}]{0,20}",
    ) {
        let (mut drawn, mut at_once) = (drawn(size, &streams), at_once(size, &streams));
        for resized in [None, Some((size.0 + 3, size.1 + 2))] {
            if let Some((columns, lines)) = resized {
                drawn.resize(Size::clamped(columns, lines));
                at_once.resize(Size::clamped(columns, lines));
            }
            let difference = difference(&drawn, &at_once);
            prop_assert!(difference.is_none(), "{:?}\n{}", streams.concat().escape_ascii().to_string(), difference.unwrap_or_default());
            drawn.feed(after.as_bytes());
            at_once.feed(after.as_bytes());
        }
    }
}

/// Tells how many of the bytes the terminal takes without drawing them.
fn check(before: &str, flood: &str, expected: &str) {
    let mut mirror = mirror((10, 3));
    mirror.feed(before.as_bytes());
    let n_taken = mirror.terminal.flood(flood.as_bytes());
    assert_eq!(&flood[..n_taken], expected, "after {before:?}");
}

#[test]
fn all_but_the_last_lines_are_not_drawn() {
    let end = "\x1b[3H";
    check(end, "a\r\nb\r\nc\r\nd\r\ne", "a\r\nb\r\n");
    check(end, "\x1b[1mfull width\r\n\r\nc\r\n", "\x1b[1mfull width\r\n");
    check(end, "a\r\nb\r\n", "");
    // What is not plain ends it.
    check(end, "a\r\nb\r\nc\r\n\u{7}\r\ne\r\nf\r\n", "a\r\n");
    check(end, "\ta\r\nb\tx\r\nc\r\n\t\t\r\ne\r\nf\r\n", "\ta\r\n");
    check(end, "longer than it\r\nb\r\nc\r\nd\r\n", "");
    check(end, "a\r\nb\r\nc\r\n\x1b[44m\r\ne\r\nf\r\n", "a\r\n");
    // It begins on an empty row at the end of a screen that scrolls as a whole.
    for before in [
        "",
        "\x1b[3Hx",
        "\x1b[3Hx\r",
        "\x1b[2;3r\x1b[3H",
        "\x1b[?1049h\x1b[3H",
        "\x1b[3H\x1b[4h",
        "\x1b[3H\x1b(0",
        "\x1b[41m\x1b[3H",
        "\x1b[3Hfull widthx\x1b[2K\r",
    ] {
        check(before, "a\r\nb\r\nc\r\nd\r\n", "");
    }
}
