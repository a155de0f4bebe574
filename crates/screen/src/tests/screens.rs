//! What a person sees, as text, and the events that come with it.

use super::same::{SMALL, mirror};
use crate::{
    Mirror, Size,
    events::{Event, Progress, PromptMark, Query},
    resets::{KEEP_TITLE, Levels, resets, retitle},
    snapshot::Depth,
    status::{ProgramState, ProgramStatus},
};

fn check(stream: &str, expected: &[&str]) {
    let mut mirror = mirror(SMALL);
    mirror.feed(stream.as_bytes());
    let mut text = mirror.screen_text();
    while text.last().is_some_and(String::is_empty) {
        text.pop();
    }
    assert_eq!(text, expected, "{:?}", stream.escape_debug().to_string());
}

#[test]
fn sequences_do_what_xterm_does() {
    #[rustfmt::skip]
    let cases: &[(&str, &[&str])] = &[
        ("plain\r\ntext", &["plain", "text"]),
        ("\x1b[31mred\x1b[m中e\u{301}", &["red中e\u{301}"]),
        ("abc\x08\x08X", &["aXc"]),
        ("a\tb", &["a       b"]),
        ("12345678901234567890\tx", &["12345678901234567890", "x"]),
        ("abcdef\x1b[3G\x1b[2P", &["abef"]),
        ("abcdef\x1b[5G\x1b[19P", &["abcd"]),
        ("abcdef\x1b[3G\x1b[2@", &["ab  cdef"]),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[L", &["a", "", "b", "c"]),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[M", &["a", "c"]),
        ("abc\r\ndef\x1b[2;2H\x1b[1J", &["", "  f"]),
        ("abc\r\ndef\x1b[1;2H\x1b[J", &["a"]),
        // Relative movement stays inside the margins, also in origin mode.
        ("\x1b[2;4r\x1b[?6h\x1b[2;1H\x1b[9Ax", &["", "x"]),
        ("\x1b[2;4r\x1b[2;1H\x1b[9Bx", &["", "", "", "x"]),
        ("\x1b[3;3Habc\x1b[4Dx", &["", "", " xabc"]),
        ("中文\x1b[2GX", &[" X文"]),
        ("中文\x1b[1GX", &["X 文"]),
        ("\x1b(0lqk\x1b(B", &["┌─┐"]),
        ("\x1b[20habc\nx", &["abc", "x"]),
        ("one\x1b[?1049htwo", &["   two"]),
        ("one\x1b[?1049htwo\x1b[?1049lthree", &["onethree"]),
        ("one\x1b[?47htwo\x1b[?47lthree", &["one   three"]),
        ("abc\x1bcd", &["d"]),
        ("\u{9b}31mx", &["31mx"]),
    ];
    for (stream, expected) in cases {
        check(stream, expected);
    }
}

#[test]
fn what_left_the_screen_is_history_and_what_was_erased_is_not() {
    let mut mirror = mirror(SMALL);
    for line in 0..10 {
        mirror.feed(format!("\x1b[1mline {line}\x1b[m\r\n").as_bytes());
    }
    assert_eq!(mirror.history_text(), ["line 0", "line 1", "line 2", "line 3", "line 4"]);
    mirror.feed(b"\x1b[2J\x1b[H\x1b[M");
    assert_eq!(mirror.n_history_lines(), 5);
    mirror.feed(b"\x1b[?1049h\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\nx\x1b[?1049l");
    assert_eq!(mirror.n_history_lines(), 5);
    mirror.feed(b"\x1b[3J");
    assert_eq!(mirror.history_text(), Vec::<String>::new());
}

fn status(
    state: ProgramState,
    kind: Option<&str>,
    app: Option<&str>,
    message: Option<&str>,
) -> Event {
    let [kind, app, message] = [kind, app, message].map(|text| text.map(str::to_owned));
    Event::Status(Some(ProgramStatus { state, kind, app, message }))
}

#[test]
fn events_are_told_once() {
    #[rustfmt::skip]
    let cases: &[(&str, &[Event])] = &[
        ("\x07\x07", &[Event::Bell]),
        ("\x1b]0;a;b\x07\x1b]2;a;b\x1b\\", &[Event::Title("a;b".to_owned())]),
        ("\x1b]9;4;3\x07\x1b]9;4;1;250\x07\x1b]9;4;0;\x07", &[
            Event::Progress(Progress::Busy), Event::Progress(Progress::Done(100)), Event::Progress(Progress::None)]),
        ("\x1b]9;done; now\x07", &[Event::Notification { title: None, body: "done; now".to_owned() }]),
        ("\x1b]777;notify;title;body\x07", &[
            Event::Notification { title: Some("title".to_owned()), body: "body".to_owned() }]),
        ("\x1b]99;i=1:d=0;hello\x1b\\\x1b]99;i=1:p=body:e=1;d29ybGQ=\x1b\\\x1b]99;i=1:p=?;\x1b\\", &[
            Event::Notification { title: Some("hello".to_owned()), body: String::new() },
            Event::Notification { title: None, body: "world".to_owned() }]),
        ("\x1b]133;A\x07\x1b]133;B\x07\x1b]133;C\x07\x1b]133;D;2\x07\x1b]133;D\x07", &[
            Event::Prompt(PromptMark::Prompt), Event::Prompt(PromptMark::Input), Event::Prompt(PromptMark::Output),
            Event::Prompt(PromptMark::End(Some(2))), Event::Prompt(PromptMark::End(None))]),
        ("\x1b]7501;state=working:app=codex\x07\x1b]7501;state=blocked:kind=permission:id=a/b:msg=R28/\x07", &[
            status(ProgramState::Working, None, Some("codex"), None),
            status(ProgramState::Blocked, Some("permission"), None, Some("Go?"))]),
        ("\x1b]7501;state=done\x07\x1b]7501;state=working:id=a\x07\x1b]133;A\x07\x1bc", &[
            status(ProgramState::Done, None, None, None), status(ProgramState::Working, None, None, None),
            Event::Prompt(PromptMark::Prompt), status(ProgramState::Done, None, None, None), Event::Status(None)]),
        ("\x1b]7501;state=working:id=a/b\x07\x1b]7501;state=clear:id=a\x07", &[
            status(ProgramState::Working, None, None, None), Event::Status(None)]),
        ("\x1b[?1004h\x1b[?1004h\x1b[?1004l", &[Event::Focus(true), Event::Focus(false)]),
        ("\x1b[?1049h\x1b[?1049h\x1b[?1049l", &[Event::Alternate(true), Event::Alternate(false)]),
        ("\x1b]7;file://h/a%20b\x07", &[Event::Directory("file://h/a%20b".to_owned())]),
        ("\x1b[c\x1b[6n", &[Event::Asked(Query::Attributes), Event::Asked(Query::Status)]),
    ];
    for (stream, expected) in cases {
        let mut mirror = mirror(SMALL);
        mirror.feed(stream.as_bytes());
        assert_eq!(mirror.take_events(), *expected, "{stream:?}");
        assert_eq!(mirror.take_events(), []);
    }
}

#[test]
fn resets_bring_back_a_usable_terminal() {
    use super::same::{difference, dirty};
    for levels in [Levels::UNKNOWN, dirty(SMALL).levels()] {
        let mut after = dirty(SMALL);
        after.feed(&resets(levels));
        // What is written stays; everything that would disturb the next program is as when fresh.
        after.feed(b"\x1b[H\x1b[2J\x1b[3J\x1b7");
        let mut fresh = mirror(SMALL);
        fresh.feed(b"\x1b[H\x1b[2J\x1b[3J\x1b7");
        assert_eq!(difference(&fresh, &after), None);
    }
}

#[test]
fn a_terminal_gets_its_own_title_back() {
    let mut program = mirror(SMALL);
    program.feed(b"\x1b]2;one\x07\x1b[22;2t\x1b]2;two\x07\x1b[22;2t\x1b]2;three\x07");
    for levels in [Levels::UNKNOWN, program.levels()] {
        let mut client = mirror(SMALL);
        client.feed(b"\x1b]2;own\x07");
        client.feed(KEEP_TITLE);
        for _ in 0..3 {
            client.feed(&program.snapshot(Depth::Screen));
            assert_eq!(client.terminal.labels.title, "three");
            client.feed(&retitle());
            client.feed(&program.snapshot(Depth::Screen));
        }
        client.feed(&resets(levels));
        assert_eq!(client.terminal.labels.title, "own");
    }
}

#[test]
fn resets_leave_the_cursor_alone() {
    for stream in
        ["ab\r\ncd", "ab\x1b[2;4r\x1b[3;7H", "\x1b[2;4r\x1b[?6h\x1b[2;5H", "12345678901234567890"]
    {
        let mut mirror = mirror(SMALL);
        mirror.feed(stream.as_bytes());
        let before = mirror.terminal.grid.cursor.point;
        mirror.feed(&resets(mirror.levels()));
        assert_eq!(mirror.terminal.grid.cursor.point, before, "{stream:?}");
    }
    let mut mirror = mirror(SMALL);
    mirror.feed(b"main\x1b[?1049h\x1b[5;5Hother");
    mirror.feed(&resets(Levels::UNKNOWN));
    assert!(!mirror.is_alternate());
    mirror.feed(b"!");
    assert_eq!(mirror.screen_text()[0], "main!");
}

#[test]
fn a_snapshot_of_the_screen_leaves_scrollback_alone() {
    let mut program = mirror(SMALL);
    let mut client = mirror(SMALL);
    for line in 0..10 {
        program.feed(format!("{line}\r\n").as_bytes());
        client.feed(format!("own {line}\r\n").as_bytes());
    }
    client.feed(&program.snapshot(Depth::Screen));
    assert_eq!(client.screen_text(), program.screen_text());
    assert_eq!(client.n_history_lines(), 5);
    client.feed(&program.snapshot(Depth::History));
    assert_eq!(client.n_history_lines(), 10);
    client.feed(&program.snapshot(Depth::Replace));
    assert_eq!(client.history_text(), program.history_text());
}

#[test]
fn what_the_terminal_has_broken_is_one_line_again() {
    let check = |text: &str, whole: &[&str], rows: &[&str]| {
        let mut mirror = Mirror::new(Size::clamped(10, 4));
        mirror.feed(text.as_bytes());
        let without_blank = |mut lines: Vec<String>| {
            while lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
            lines
        };
        assert_eq!(without_blank(mirror.whole_text()), whole, "{text:?}");
        let rows_of = [mirror.history_text(), mirror.screen_text()].concat();
        if mirror.n_history_lines() == 0 {
            assert_eq!(without_blank(mirror.whole_screen_text()), whole, "{text:?}");
            assert_eq!(without_blank(rows_of), rows, "{text:?}");
        }
    };
    check("0123456789abcde\r\nx", &["0123456789abcde", "x"], &["0123456789", "abcde", "x"]);
    // Blanks within a line stay, also where it was broken; a line that just fits is none that was.
    check("01234567  ab\r\n", &["01234567  ab"], &["01234567", "ab"]);
    check("0123456789\r\nab", &["0123456789", "ab"], &["0123456789", "ab"]);
    check("123456789漢字", &["123456789漢字"], &["123456789", "漢字"]);
    check("\x1b[31m0123456789\x1b[32mabc\x1b[m", &["0123456789abc"], &["0123456789", "abc"]);
    // Begun where nobody sees it any more, and ended on the screen.
    let long = "0123456789".repeat(6);
    check(&format!("first\r\n{long}"), &["first", &long], &[]);
    check(&format!("first\r\n{long}\r\nlast"), &["first", &long, "last"], &[]);
}
