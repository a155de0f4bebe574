//! Screens at two sizes, as text in files. `STEAD_UPDATE_SCREENS=1` writes what is drawn now.

#![expect(clippy::disallowed_methods, reason = "reads and writes the expected screens")]

use super::*;
use crate::{
    msg::{Key, Msg, Size},
    testing::{Play, loaded, parked, row, rows, said, session_id},
};
use serde_json::json;

const SIZES: [(usize, usize); 2] = [(80, 24), (120, 40)];

/// Draws a state, with a mark where the cursor stands.
fn drawn(state: &State, has_colors: bool) -> Buffer {
    let (columns, lines) = (state.size.columns, state.size.lines);
    let area = Rect::new(0, 0, columns.try_into().unwrap(), lines.try_into().unwrap());
    let mut buffer = Buffer::empty(area);
    if let Some(cursor) = draw(state, Palette { has_colors }, &mut buffer) {
        buffer[cursor].set_symbol("▏");
    }
    buffer
}

fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let (mut x, mut line) = (0, String::new());
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(text::width(symbol).max(1)).unwrap();
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Compares a screen with its file, at both sizes.
fn check(name: &str, play: impl Fn((usize, usize)) -> Play) {
    for size in SIZES {
        let screen = text(&drawn(&play(size).state, true));
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/src/view/screens");
        let path = format!("{dir}/{name}-{}x{}.txt", size.0, size.1);
        if std::env::var_os("STEAD_UPDATE_SCREENS").is_some() {
            std::fs::create_dir_all(dir).unwrap();
            std::fs::write(&path, &screen).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(screen, expected, "{path}");
    }
}

fn all(size: (usize, usize)) -> Play {
    Play::of(rows(), size)
}

/// A view whose selected session waits for an answer.
fn asked(size: (usize, usize), command: &str, keys: &str) -> Play {
    let mut play = all(size);
    let id = session_id(1);
    play.select(&id).keys(keys);
    let got = Ok(loaded(&id, &parked(1, command), said()));
    play.tell(Msg::Session { id, got });
    play
}

#[test]
fn the_list() {
    check("list", all);
}

#[test]
fn an_empty_list() {
    check("empty", |size| Play::of(Vec::new(), size));
}

#[test]
fn a_long_list_at_its_end() {
    check("long", |size| {
        let row = |n: usize| row(&format!("{n:08x}"), &format!("job {n}"), &json!({}));
        let mut play = Play::of((0..1_000).map(row).collect(), size);
        play.key(Key::End);
        play
    });
}

#[test]
fn a_peek_at_a_job() {
    check("peek", |size| {
        let mut play = all(size);
        play.select("0123abcd").keys(" ");
        let screen =
            "$ claude\n\n  Thinking about \u{1b}[1mthe build\u{1b}[0m… 漢字\n> \n".to_owned();
        play.tell(Msg::Screen { id: "0123abcd".into(), got: Ok(screen) });
        play
    });
}

#[test]
fn a_peek_at_a_session() {
    check("conversation", |size| asked(size, "make -n", " "));
}

#[test]
fn a_session_that_fills_the_screen() {
    check("session", |size| asked(size, "make -n", "\n"));
}

#[test]
fn a_question() {
    check("question", |size| asked(size, "set -e\nrm -rf build\u{1b}[2K\nmake", "a"));
}

#[test]
fn a_question_that_is_longer_than_the_screen() {
    let long: String = (0..90).map(|n| format!("echo {n}\n")).collect();
    check("question-long", |size| asked(size, &long, "a"));
}

#[test]
fn a_reason() {
    check("reason", |size| {
        let mut play = asked(size, "make", "a");
        play.keys("Nuse ninja");
        play
    });
}

#[test]
fn a_filter() {
    check("filter", |size| {
        let mut play = all(size);
        play.keys("/exit");
        play
    });
}

#[test]
fn something_new() {
    check("new", |size| {
        let mut play = all(size);
        play.keys("n! npm run test -- --with a very long list of arguments that does not fit into one line of a terminal, whatever its size");
        play
    });
}

#[test]
fn a_confirmation() {
    check("confirm", |size| {
        let mut play = all(size);
        play.select("0123abce").keys("x");
        play
    });
}

#[test]
fn help_is_shown() {
    check("help", |size| {
        let mut play = all(size);
        play.keys("?");
        play
    });
}

#[test]
fn a_daemon_that_is_gone() {
    check("lost", |size| {
        let mut play = all(size);
        let why = "no daemon answers: Connection refused (os error 111)".to_owned();
        play.tell(Msg::Link(Link::Lost { why }));
        play
    });
}

#[test]
fn without_colors_nothing_is_colored_and_the_selected_row_is_still_seen() {
    for has_colors in [false, true] {
        let buffer = drawn(&asked(SIZES[0], "make", " ").state, has_colors);
        let is_colored = buffer.content.iter().any(|cell| {
            cell.fg != Color::Reset
                || cell.bg != Color::Reset
                || cell.modifier.contains(Modifier::DIM)
        });
        assert_eq!(is_colored, has_colors);
        assert!(buffer.content.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)));
        assert!(text(&buffer).contains("\n> "));
    }
}

#[test]
fn every_size_is_drawn_without_going_over_its_edge() {
    let modes: [(&str, &str); 8] =
        [("", ""), (" ", ""), ("\n", ""), ("a", ""), ("a", "N"), ("/", "x"), ("n", "y"), ("x", "")];
    for (columns, lines) in [(1, 1), (39, 24), (80, 9), (40, 10), (41, 11), (72, 12), (300, 100)] {
        for (keys, more) in modes {
            let mut play = asked((columns, lines), "make", keys);
            play.keys(more);
            drawn(&play.state, true);
            play.tell(Msg::Resize(Size { columns: 50, lines: 15 }));
            drawn(&play.state, true);
        }
    }
}
