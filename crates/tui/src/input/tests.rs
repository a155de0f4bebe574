//! Bytes of terminals, in one piece and cut anywhere.

use super::*;
use vocab::limits::VIEW_ESCAPE_MS;

fn told(pieces: &[&[u8]]) -> Vec<Msg> {
    let (mut parser, mut out) = (Parser::default(), Vec::new());
    for piece in pieces {
        parser.feed(piece, &mut out);
    }
    parser.lapse(&mut out);
    assert!(!parser.is_waiting());
    out
}

#[track_caller]
fn check(bytes: &[u8], expected: &[Key]) {
    let expected: Vec<Msg> = expected.iter().copied().map(Msg::Key).collect();
    for at in 0..=bytes.len() {
        assert_eq!(told(&[&bytes[..at], &bytes[at..]]), expected, "{bytes:?} cut at {at}");
    }
}

#[test]
fn keys_are_understood_wherever_their_bytes_are_cut() {
    check("aR ü漢🎉".as_bytes(), &['a', 'R', ' ', 'ü', '漢', '🎉'].map(Key::Char));
    check(
        b"\r\n\t\x7f\x08\x03\x1a",
        &[
            Key::Enter,
            Key::Enter,
            Key::Tab,
            Key::Backspace,
            Key::Backspace,
            Key::Ctrl('c'),
            Key::Ctrl('z'),
        ],
    );
    check(b"\x1b[A\x1b[B\x1bOC\x1bOD", &[Key::Up, Key::Down, Key::Right, Key::Left]);
    check(
        b"\x1b[1~\x1b[4~\x1b[H\x1bOF\x1b[7~\x1b[8~",
        &[Key::Home, Key::End, Key::Home, Key::End, Key::Home, Key::End],
    );
    check(
        b"\x1b[3~\x1b[5~\x1b[6~\x1b[5;2~\x1b[1;5A",
        &[Key::Delete, Key::PageUp, Key::PageDown, Key::PageUp, Key::Up],
    );
    check(b"\x1b\x1b", &[Key::Esc, Key::Esc]);
    check(b"\x1bs", &[Key::Esc, Key::Char('s')]);
}

#[test]
fn what_means_nothing_is_left_out_and_nothing_after_it() {
    check(b"\0\x1c\x1f\xff\xfeq", &[Key::Char('q')]);
    check(b"\x1b[15~\x1b[I\x1b[24;1R\x1b[<0;3;4M\x1bOPq", &[Key::Char('q')]);
    check(b"\x1b[?64;1;2cq", &[Key::Char('q')]);
    let long = [b"\x1b[".as_slice(), &[b'1'; SEQUENCE_BYTES_MAX], b"q"].concat();
    check(&long, &[Key::Char('q')]);
    check(b"\x1b[1\x03q", &[Key::Ctrl('c'), Key::Char('q')]);
}

#[test]
fn a_sequence_that_does_not_go_on_is_let_go() {
    assert_eq!(told(&[b"\x1b"]), [Msg::Key(Key::Esc)]);
    assert_eq!(told(&[b"\x1b["]), []);
    assert_eq!(told(&[b"q\xe6\xbc"]), [Msg::Key(Key::Char('q'))]);
    // How long that takes, the reader knows.
    assert_eq!(VIEW_ESCAPE_MS, 50);
}

#[test]
fn what_is_pasted_is_one_text_and_no_keys() {
    let bytes = "a\x1b[200~q\r\n漢\x1b[A\x1b[201~b".as_bytes();
    for at in 0..=bytes.len() {
        let expected = [
            Msg::Key(Key::Char('a')),
            Msg::Paste("q\r\n漢\x1b[A".to_owned()),
            Msg::Key(Key::Char('b')),
        ];
        assert_eq!(told(&[&bytes[..at], &bytes[at..]]), expected, "cut at {at}");
    }
    let long = [b"\x1b[200~".as_slice(), &vec![b'x'; VIEW_LINE_BYTES_MAX + 9], PASTE_END].concat();
    assert_eq!(told(&[&long]), [Msg::Paste("x".repeat(VIEW_LINE_BYTES_MAX))]);
}
