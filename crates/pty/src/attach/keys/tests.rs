//! Keys in every shape that terminals send them in, cut anywhere.

use proptest::prelude::*;

use super::*;

/// The chord, and in addition the single key.
fn keys() -> Keys {
    Keys::new(vec![Chord::USUAL, Chord::SUSPEND])
}

/// Hears pieces, with a pause after each, and returns what was passed on and whether the last one detached.
fn hear(pieces: &[&[u8]]) -> (Vec<u8>, Heard) {
    let (mut keys, mut out) = (keys(), Vec::new());
    for piece in pieces {
        if keys.hear(piece, &mut out) == Heard::Detach {
            return (out, Heard::Detach);
        }
        keys.pause(&mut out);
    }
    (out, Heard::Passed)
}

/// Checks that it detaches after `passed`, whole and cut at every byte.
#[track_caller]
fn detaches(bytes: &[u8], passed: &[u8]) {
    let text = bytes.escape_ascii();
    assert_eq!(hear(&[bytes]), (passed.to_vec(), Heard::Detach), "{text}");
    for at in 1..bytes.len() {
        let (before, after) = bytes.split_at(at);
        assert_eq!(hear(&[before, after]).1, Heard::Detach, "{text} cut at {at}");
    }
    let mut keys = keys();
    let mut out = Vec::new();
    let each: Vec<_> = bytes.iter().map(|byte| keys.hear(&[*byte], &mut out)).collect();
    assert_eq!((each.last(), out), (Some(&Heard::Detach), passed.to_vec()), "{text} byte by byte");
}

/// Checks what is passed on in the end, whole and cut at every byte, where nothing detaches.
#[track_caller]
fn passes(bytes: &[u8], passed: &[u8]) {
    let text = bytes.escape_ascii();
    let expected = (passed.escape_ascii().to_string(), Heard::Passed);
    let shown = |(out, heard): (Vec<u8>, Heard)| (out.escape_ascii().to_string(), heard);
    assert_eq!(shown(hear(&[bytes])), expected, "{text}");
    for at in 1..bytes.len() {
        let (before, after) = bytes.split_at(at);
        assert_eq!(shown(hear(&[before, after])), expected, "{text} cut at {at}");
    }
}

#[test]
fn the_detach_keys_are_heard_in_every_shape() {
    for first in [
        "\x1d",
        "\x1b[93;5u",
        "\x1b[93;5:1u",
        "\x1b[93:125;5u",
        "\x1b[93;69u",
        "\x1b[93;133u",
        "\x1b[93;197:1u",
        "\x1b[27;5;93~",
        // A layout on which that key has another letter.
        "\x1b[1098::93;5u",
        // With releases, and the keys held down beside it told as well.
        "\x1b[57442;5u\x1b[93;5u\x1b[93;5:3u\x1b[57442;1:3u",
    ] {
        let begin = if first.contains("57442;5u") { "\x1b[57442;5u" } else { "" };
        for second in ["d", "D", "\x1b[100u", "\x1b[100;1:1u", "\x1b[100;65u", "\x1b[100;2u"] {
            detaches(format!("{first}{second}").as_bytes(), begin.as_bytes());
        }
    }
    for single in [
        "\x1a",
        "\x1b[122;5u",
        "\x1b[122;5:1u",
        "\x1b[122:90;5u",
        "\x1b[122;133u",
        "\x1b[122;69u",
        "\x1b[27;5;122~",
        "\x1b[27;5;90~",
    ] {
        detaches(single.as_bytes(), b"");
        detaches(format!("ls{single}").as_bytes(), b"ls");
    }
    detaches(b"\x1b\x1a", b"\x1b");
    detaches(b"\x1d\x1b[A\x1dd", b"\x1d\x1b[A");
    detaches("ä\x1dd".as_bytes(), "ä".as_bytes());
    detaches(b"\xff\xfe\x1dd", b"\xff\xfe");
    detaches(b"\x1b[200~x\x1dd\x1b[201~\x1dd", b"\x1b[200~x\x1dd\x1b[201~");
}

#[test]
fn everything_else_passes_untouched() {
    for same in [
        &b"hello\r"[..],
        b"\x1b",
        b"\x1b\x1b",
        b"\x1b[",
        b"\x1bOP\x1b[[A\x1b[15;5~\x1b[1;5C",
        b"\x1dx",
        b"\x1d\x1b[A",
        b"\x1d\x1bd",
        b"\x1d\x1b[100;5u",
        b"\x1b[93;5ux",
        // Not those keys: with more held down, or only let go of.
        b"\x1b[122;6u",
        b"\x1b[122;7u",
        b"\x1b[122;5:3u",
        b"\x1b[27;6;90~",
        b"\x1b[93;5:3ud",
        b"z\x1b[122u",
        // Pasted.
        b"\x1b[200~\x1a\x1dd\x1b[122;5u\x1b[201~",
        b"\x1b[200~\x1b[201\x1b[201\x1dd\x1a",
        // Bytes of no meaning.
        b"\xff\x80\x9b\xc3",
        b"\x1b[1\xff;2~",
        b"\x1b]10;rgb:1d/1d/1d\x07\x1bP>|x(1)\x1b\\",
        b"\x1b[M !d",
        b"\x1b[I\x1b[O\x1b[?62;c",
    ] {
        passes(same, same);
    }
}

#[test]
fn twice_the_first_key_is_that_key_once() {
    passes(b"\x1d\x1dd", b"\x1dd");
    passes(b"\x1d\x1d\x1d\x1dx", b"\x1d\x1dx");
    detaches(b"\x1d\x1d\x1dd", b"\x1d");
    let (press, release) = ("\x1b[93;5:1u", "\x1b[93;5:3u");
    let twice = format!("{press}{release}{press}{release}");
    assert_eq!(hear(&[twice.as_bytes()]).0, format!("{press}{release}").into_bytes());
    // What a key was held back for is passed on in its order, releases included.
    let other = format!("{press}{release}x");
    assert_eq!(hear(&[other.as_bytes()]).0, other.into_bytes());
}

#[test]
fn what_a_terminal_tells_by_itself_runs_past_a_key_that_is_held_back() {
    assert_eq!(hear(&[b"\x1d\x1b[<35;10;5Mx"]).0, b"\x1b[<35;10;5M\x1dx");
    detaches(b"\x1d\x1b[<35;10;5Md", b"\x1b[<35;10;5M");
    detaches(b"\x1d\x1b[M ddd", b"\x1b[M dd");
    detaches(b"\x1d\x1b[O\x1b[Id", b"\x1b[O\x1b[I");
}

#[test]
fn an_escape_does_not_wait_for_what_may_follow() {
    for key in [&b"\x1b"[..], b"\x1b[", b"\x1bO", b"\x1d\x1b"] {
        let (mut keys, mut out) = (keys(), Vec::new());
        assert_eq!(keys.hear(key, &mut out), Heard::Passed);
        keys.pause(&mut out);
        assert_eq!(out.escape_ascii().to_string(), key.escape_ascii().to_string());
    }
    // Half of a sequence is no key, and the program does not see half of one that is meant for us.
    assert_eq!(hear(&[b"\x1b[12", b"2;5u"]), (Vec::new(), Heard::Detach));
}

#[test]
fn what_is_held_back_is_bounded() {
    let held = |bytes: &[u8]| bytes.len() - hear(&[bytes]).0.len();
    let digits = [&b"\x1b["[..], &b"1".repeat(ATTACH_KEYS_BYTES_MAX)].concat();
    assert_eq!(held(&digits[..ATTACH_KEYS_BYTES_MAX]), ATTACH_KEYS_BYTES_MAX);
    assert_eq!(held(&digits), 0);
    let releases = [&b"\x1d"[..], &b"\x1b[97;1:3u".repeat(ATTACH_KEYS_BYTES_MAX)].concat();
    assert!(held(&releases) <= ATTACH_KEYS_BYTES_MAX);
    detaches(&[&releases[..], b"d"].concat(), &releases[..releases.len() - held(&releases)]);
}

/// Pieces that mean something, and bytes that do not.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"\x1d",
        b"d",
        b"\x1a",
        b"\x1b",
        b"[",
        b"\x1b[",
        b"\x1b[93;5u",
        b"\x1b[93;5:3u",
        b"\x1b[100u",
        b"\x1b[200~",
        b"\x1b[201~",
        b"\x1b[<0;1;1M",
        b"\x1b[M",
        b"\x1b]",
        b"\x07",
        b"\x1b\\",
        b"\x1bO",
        b"\x1b[57442;5u",
        b"122;5u",
        b"\xff",
    ];
    prop_oneof![
        3 => prop::sample::select(known).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ]
}

/// Hears bytes in chunks, with pauses where told, and returns what was passed on, and how many were heard
/// before it detached.
fn in_chunks(bytes: &[u8], chunks: &[(usize, bool)]) -> (Vec<u8>, Option<usize>) {
    let (mut keys, mut out) = (keys(), Vec::new());
    let (mut at, mut chunks) = (0, chunks.iter().cycle());
    while at < bytes.len() {
        let (n_bytes, pauses) = *chunks.next().unwrap_or(&(1, false));
        let end = bytes.len().min(at + n_bytes.max(1));
        for byte in &bytes[at..end] {
            at += 1;
            if keys.hear(&[*byte], &mut out) == Heard::Detach {
                return (out, Some(at));
            }
        }
        if pauses {
            keys.pause(&mut out);
        }
    }
    // Nothing is lost: what is held back comes first, then what is still coming.
    out.append(&mut keys.held);
    keys.pass(&mut out);
    (out, None)
}

proptest! {
    #[test]
    fn where_bytes_are_cut_changes_nothing(
        pieces in prop::collection::vec(piece(), 0..12),
        chunks in prop::collection::vec((1_usize..5, any::<bool>()), 1..6),
    ) {
        let bytes = pieces.concat();
        let (whole, detached) = in_chunks(&bytes, &[(bytes.len(), false)]);
        let without_pauses: Vec<_> = chunks.iter().map(|(n_bytes, _)| (*n_bytes, false)).collect();
        prop_assert_eq!(in_chunks(&bytes, &without_pauses), (whole.clone(), detached));
        prop_assert_eq!(in_chunks(&bytes, &chunks).1, detached);
        if detached.is_none() {
            // Only the first of two equal keys is left out, and what nobody typed runs ahead.
            prop_assert!(whole.len() <= bytes.len());
        }
    }

    #[test]
    fn what_does_not_detach_comes_out_as_it_went_in(
        pieces in prop::collection::vec(piece(), 0..12),
        chunks in prop::collection::vec((1_usize..5, any::<bool>()), 1..6),
    ) {
        // Without the first key nothing is ever held back behind it.
        let pieces = pieces.into_iter().map(|piece| match piece.as_slice() {
            b"\x1b[93;5u" => b"\x1b[94;5u".to_vec(),
            _ => piece.into_iter().filter(|byte| *byte != 0x1d).collect(),
        });
        let bytes = pieces.collect::<Vec<_>>().concat();
        let (out, detached) = in_chunks(&bytes, &chunks);
        if detached.is_none() {
            prop_assert_eq!(out, bytes);
        }
    }
}
