//! Keys, pastes and what terminals say by themselves.

use super::*;

const NOTHING: Wants = Wants { answers: false, focus: false };
const ALL: Wants = Wants { answers: true, focus: true };

/// Sorts a text whole and in every two pieces that do not end in an escape.
#[track_caller]
fn check(text: &str, wants: Wants, passed: &str, is_typed: bool) {
    let expected = Sorted { bytes: passed.into(), is_typed };
    for at in 0..=text.len() {
        let (first, second) = text.as_bytes().split_at(at);
        let cuts_key = first.ends_with(b"\x1b")
            || matches!(first, [.., 0x1b, b'[' | b']' | b'P' | b'O' | b'_']);
        if at != 0 && cuts_key {
            continue;
        }
        let mut sorter = Sorter::default();
        let mut sorted = sorter.sort(first, wants);
        let rest = sorter.sort(second, wants);
        sorted.bytes.extend(rest.bytes);
        sorted.is_typed |= rest.is_typed;
        assert_eq!(sorted, expected, "{text:?} cut at {at}");
    }
}

#[test]
fn keys_are_typed() {
    for key in [
        "a",
        "\r",
        "\u{3}",
        "ä",
        "\x1b",
        "\x1b[",
        "\x1ba",
        "\x1b[A",
        "\x1bOP",
        "\x1b[3~",
        "\x1b[1;5C",
        "\x1b[122;5u",
        "\x1b[27;5;122~",
        "\x1b[1;2R",
        "ls -l\r",
        "\x1b\x1b",
    ] {
        check(key, NOTHING, key, true);
    }
    check("", NOTHING, "", false);
}

#[test]
fn what_a_terminal_says_makes_nobody_the_writer() {
    for told in ["\x1b[<0;5;7M", "\x1b[<0;5;7m", "\x1b[M !!", "\x1b[48;24;80;0;0t", "\x1b[?997;1n"]
    {
        check(told, NOTHING, told, false);
    }
    for answer in [
        "\x1b[?62;22c",
        "\x1b[>1;10;0c",
        "\x1b[12;40R",
        "\x1b[?1;1R",
        "\x1b[0n",
        "\x1b[?2026;2$y",
        "\x1b[?5u",
        "\x1b[8;24;80t",
        "\x1b]11;rgb:18/18/18\x1b\\",
        "\x1b]10;rgb:1/1/1\u{7}",
        "\x1bP>|xterm(390)\x1b\\",
        "\x1b_Gi=1;OK\x1b\\",
    ] {
        check(answer, NOTHING, "", false);
        check(answer, ALL, answer, false);
        check(&format!("a{answer}b"), NOTHING, "ab", true);
    }
    check("\x1b[I", NOTHING, "", false);
    check("\x1b[O", ALL, "\x1b[O", false);
    check("\x1b[1;2R", ALL, "\x1b[1;2R", false);
}

#[test]
fn a_paste_is_typed_whatever_it_holds() {
    let paste = "\x1b[200~\x1b[?62c\x1b]11;x\u{7}\x1b[20\x1b[201~";
    check(paste, NOTHING, paste, true);
    check(&format!("{paste}\x1b[?62c"), NOTHING, paste, true);
}

#[test]
fn an_answer_without_an_end_is_text() {
    let mut sorter = Sorter::default();
    let long = format!("\x1b]0{}", "x".repeat(HOST_SEQUENCE_BYTES_MAX));
    let (first, rest) = long.as_bytes().split_at(HOST_SEQUENCE_BYTES_MAX);
    assert_eq!(sorter.sort(&first[1..], NOTHING).bytes.len(), HOST_SEQUENCE_BYTES_MAX - 1);
    let mut sorter = Sorter::default();
    assert_eq!(sorter.sort(&first[..100], NOTHING), Sorted::default());
    assert_eq!(sorter.sort(&first[100..], NOTHING).bytes, first);
    assert_eq!(sorter.sort(rest, NOTHING).bytes, rest);
}

/// Keys with Alt that begin like answers, with what is pressed next.
#[test]
fn what_no_answer_begins_with_is_typed_at_once() {
    for keys in [
        "\x1b_a",
        "\x1bPx",
        "\x1b]a",
        "\x1b^G",
        "\x1b_\x03",
        "\x1b]1\r",
        "\x1b]1\x03",
        "\x1b[1\x03",
        "\x1b[\r",
        "\x1b]\x1b[A",
        "\x1b]1\x1b[A",
        "\x1b_\x1b_\x03",
        "\x1b[1ä",
    ] {
        for wants in [NOTHING, ALL] {
            check(keys, wants, keys, true);
        }
    }
    // What stands behind them is sorted as ever.
    check("\x1b]1\x1b[?62c", NOTHING, "\x1b]1", true);
}

#[test]
fn what_may_be_an_answer_is_held_until_it_is_due() {
    let mut sorter = Sorter::default();
    let now = Duration::from_secs(9);
    for held in ["\x1b]1", "\x1bP>|", "\x1b_G", "\x1b[1", "\x1b[M!"] {
        assert_eq!(sorter.sort(held.as_bytes(), ALL), Sorted::default(), "{held:?}");
        assert!(sorter.due().is_none() && sorter.holds(now), "{held:?}");
        let due = now + Duration::from_millis(HOST_SEQUENCE_MS_MAX);
        // What comes meanwhile does not put it off.
        assert!(sorter.holds(now + Duration::from_millis(1)));
        assert_eq!(sorter.due(), Some(due), "{held:?}");
        assert_eq!(sorter.give_up(), Sorted { bytes: held.into(), is_typed: true });
        assert!(sorter.due().is_none() && !sorter.holds(now), "{held:?}");
    }
    sorter.sort(b"\x1b]1", ALL);
    assert!(sorter.holds(now));
    sorter.sort(b"1;x\x07", ALL);
    assert_eq!(sorter.due(), None);
}
