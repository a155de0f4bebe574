//! Questions and their answers, byte for byte.

use super::same::{SMALL, mirror};
use crate::{
    answers::{Audience, Persona},
    events::Event,
    size::Size,
};

fn check(stream: &str, expected: &str) {
    let mut asked = mirror(SMALL);
    asked.feed(stream.as_bytes());
    let answer = String::from_utf8(asked.take_answers()).unwrap();
    assert_eq!(answer, expected, "{:?}", stream.escape_debug().to_string());
    let mut attended = mirror(SMALL);
    attended.set_audience(Audience::Client);
    attended.feed(stream.as_bytes());
    assert_eq!(attended.take_answers(), b"");
    let is_told = attended.take_events().iter().any(|event| matches!(event, Event::Asked(_)));
    assert_eq!(is_told, !expected.is_empty() && !stream.contains("2048h"), "{stream:?}");
}

#[test]
fn a_lone_program_is_answered() {
    #[rustfmt::skip]
    let cases: &[(&str, &str)] = &[
        ("\x1b[c", "\x1b[?62;22c"),
        ("\x1b[0c\x1bZ", "\x1b[?62;22c\x1b[?62;22c"),
        ("\x1b[>c", "\x1b[>1;10;0c"),
        ("\x1b[=c", "\x1bP!|00000000\x1b\\"),
        ("\x1b[>q", concat!("\x1bP>|Stead ", env!("CARGO_PKG_VERSION"), "\x1b\\")),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[3;4H\x1b[6n\x1b[?6n", "\x1b[3;4R\x1b[?3;4R"),
        ("\x1b[2;5r\x1b[?6h\x1b[2;3H\x1b[6n", "\x1b[2;3R"),
        ("\x1b[?996n", "\x1b[?997;1n"),
        ("\x1b[?2004h\x1b[?2004$p\x1b[?2026$p\x1b[?9999$p", "\x1b[?2004;1$y\x1b[?2026;2$y\x1b[?9999;0$y"),
        ("\x1b[?1049h\x1b[?1049$p\x1b[?1002h\x1b[?1002$p\x1b[?1000$p", "\x1b[?1049;1$y\x1b[?1002;1$y\x1b[?1000;2$y"),
        ("\x1b[4h\x1b[4$p\x1b[20$p\x1b[5$p", "\x1b[4;1$y\x1b[20;2$y\x1b[5;0$y"),
        ("\x1b[?u\x1b[>5u\x1b[?u\x1b[=2;2u\x1b[?u\x1b[<u\x1b[?u", "\x1b[?0u\x1b[?5u\x1b[?7u\x1b[?0u"),
        ("\x1b[>4;2m\x1b[?4m", "\x1b[>4;2m"),
        ("\x1b[14t\x1b[16t\x1b[18t\x1b[21t", "\x1b[4;120;200t\x1b[6;20;10t\x1b[8;6;20t"),
        ("\x1b]10;?\x07\x1b]11;?\x1b\\", "\x1b]10;rgb:d8d8/d8d8/d8d8\x07\x1b]11;rgb:1818/1818/1818\x1b\\"),
        ("\x1b]11;#102030\x07\x1b]11;?\x07", "\x1b]11;rgb:1010/2020/3030\x07"),
        ("\x1b]10;?;?\x07", "\x1b]10;rgb:d8d8/d8d8/d8d8\x07\x1b]11;rgb:1818/1818/1818\x07"),
        ("\x1b]4;1;?;255;?;196;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07\x1b]4;255;rgb:eeee/eeee/eeee\x07\x1b]4;196;rgb:ffff/0000/0000\x07"),
        ("\x1b[1;31m\x1bP$qm\x1b\\", "\x1bP1$r0;1;31m\x1b\\"),
        ("\x1b[2;3r\x1bP$qr\x1b\\\x1bP$q q\x1b\\\x1bP$qx\x1b\\", "\x1bP1$r2;3r\x1b\\\x1bP1$r0 q\x1b\\\x1bP0$r\x1b\\"),
        ("\x1bP+q544e;436f\x1b\\", "\x1bP0+r544e;436f\x1b\\"),
        ("\x1b]7501;?\x1b\\", "\x1b]7501;?\x1b\\"),
        ("\x1b[?2048h", "\x1b[48;6;20;120;200t"),
        // What comes from text that anyone printed is not typed into a program.
        ("\x1b]52;c;?\x07\x1b]2;title\x07\x1b[21t\x1b[20t", ""),
    ];
    for (stream, expected) in cases {
        check(stream, expected);
    }
}

#[test]
fn answers_are_those_of_the_last_client() {
    let mut mirror = mirror(SMALL);
    let persona = Persona {
        name: "ghostty 1.2".to_owned(),
        background: (255, 255, 255),
        cell: (8, 16),
        ..Persona::unseen()
    };
    mirror.set_persona(persona);
    mirror.feed(b"\x1b[>0q\x1b[?996n\x1b[16t\x1b]11;?\x07");
    let answer = b"\x1bP>|ghostty 1.2\x1b\\\x1b[?997;2n\x1b[6;16;8t\x1b]11;rgb:ffff/ffff/ffff\x07";
    assert_eq!(mirror.take_answers(), answer);
    assert_eq!(mirror.take_answers(), b"");
    // A client cannot type through them.
    let persona = Persona {
        name: "x\x1b\\rm -rf\r".to_owned(),
        attributes: "62c\rrm".to_owned(),
        ..Persona::unseen()
    };
    mirror.set_persona(persona);
    mirror.feed(b"\x1b[>q\x1b[c");
    assert_eq!(mirror.take_answers(), b"\x1bP>|x\\rm -rf\x1b\\\x1b[?c");
}

#[test]
fn a_new_size_is_told_in_band_to_those_who_want_it() {
    let mut mirror = mirror(SMALL);
    mirror.resize(Size::clamped(30, 10));
    assert_eq!(mirror.take_answers(), b"");
    mirror.feed(b"\x1b[?2048h");
    assert_eq!(mirror.take_answers(), b"\x1b[48;10;30;200;300t");
    mirror.resize(Size::clamped(40, 10));
    mirror.resize(Size::clamped(40, 10));
    assert_eq!(mirror.take_answers(), b"\x1b[48;10;40;200;400t");
}
