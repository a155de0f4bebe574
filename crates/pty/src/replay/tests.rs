//! Keys, and what of a recording reaches a pipe.

use std::{io::Read as _, os::fd::AsFd as _};

use super::*;
use crate::record::tests::{Desk, exit};

#[test]
fn keys_are_known_however_they_are_spelled() {
    #[rustfmt::skip]
    let cases: &[(&[u8], Option<Key>)] = &[
        (b" ", Some(Key::Pause)), (b"\x1b[32u", Some(Key::Pause)), (b"\x1b[32;1:1u", Some(Key::Pause)),
        (b"q", Some(Key::Leave)), (b"\x1b[113;65u", Some(Key::Leave)),
        (b"\x03", Some(Key::Interrupt)), (b"\x1b[99;5u", Some(Key::Interrupt)),
        (b"\x1b[99;133:1u", Some(Key::Interrupt)), (b"\x1b[27;5;99~", Some(Key::Interrupt)),
        (b"\x1c", Some(Key::Interrupt)),
        // Released, with another modifier, another key, an answer of the terminal.
        (b"\x1b[99;5:3u", None), (b"\x1b[113;3u", None), (b"x", None), (b"\x1b[3~", None),
        (b"\x1b[?62;22c", None), (b"\x1bP>|quick\x1b\\", None), (b"\x1b[", None), (b"", None),
    ];
    for (bytes, expected) in cases {
        assert_eq!(Key::of(bytes), *expected, "{bytes:?}");
    }
}

#[test]
fn a_pipe_gets_what_the_program_wrote() {
    let mut desk = Desk::new();
    desk.show("one");
    desk.later(3_600_000);
    desk.show("two\r\n");
    desk.recorder.finish(&desk.mirror, &exit(0));
    let (mut read, write) = std::io::pipe().unwrap();
    let (keys, _) = std::io::pipe().unwrap();
    let options = Options { speed: 1_000_000.0, idle: Some(Duration::from_secs(60)) };
    let ended = run(&mut desk.reader(), options, keys.as_fd(), write.as_fd(), None).unwrap();
    drop(write);
    assert_eq!(ended, Ended::Whole);
    let mut text = String::new();
    read.read_to_string(&mut text).unwrap();
    assert_eq!(text, "onetwo\r\n");
    // Nobody reads: that is no failure.
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    let ended = run(&mut desk.reader(), options, keys.as_fd(), write.as_fd(), None).unwrap();
    assert_eq!(ended, Ended::Left);
}
