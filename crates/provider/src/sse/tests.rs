//! The decoder against whole streams, and against every way to cut them.

use proptest::prelude::*;

use super::*;

fn decode(chunks: &[&[u8]]) -> Vec<Event> {
    let (mut decoder, mut out) = (Decoder::default(), Vec::new());
    for chunk in chunks {
        decoder.feed(chunk, &mut out).expect("small");
    }
    out.extend(decoder.finish());
    out
}

fn check(stream: &[u8], expected: &[(&str, &str)]) {
    let events = decode(&[stream]);
    let seen: Vec<_> = events.iter().map(|e| (e.name.as_str(), e.data.as_str())).collect();
    assert_eq!(seen, expected, "{}", String::from_utf8_lossy(stream));
    for at in 0..=stream.len() {
        assert_eq!(decode(&[&stream[..at], &stream[at..]]), events, "cut at {at}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(decode(&bytes), events, "byte by byte");
}

#[test]
fn streams_decode_the_same_however_they_are_cut() {
    check(b"data: a\n\ndata:b\r\n\r\ndata: c\r\r", &[("", "a"), ("", "b"), ("", "c")]);
    check(b"\xEF\xBB\xBFevent: x\ndata: 1\ndata\ndata:  2\n\n", &[("x", "1\n\n 2")]);
    check(b": ping\n\n:\nevent: lost\n\nid: 7\nretry: 3\nother: y\ndata: z\n\n", &[("", "z")]);
    check("data: Grüße 🌍\n\n".as_bytes(), &[("", "Grüße 🌍")]);
    check(b"data: one\n\ndata: [DONE]", &[("", "one"), ("", "[DONE]")]);
    check(b"", &[]);
    check(b"\r\n\r\n\n\n", &[]);
}

#[test]
fn lines_and_events_are_bounded() {
    let mut out = Vec::new();
    let mut decoder = Decoder::with_limits(10, 12);
    assert_eq!(decoder.feed(b"data: 123456", &mut out), Err(TooLarge { limit: 10 }));
    let mut decoder = Decoder::with_limits(10, 6);
    assert_eq!(decoder.feed(b"data:1234\ndata:5678\n", &mut out), Err(TooLarge { limit: 6 }));
    let mut decoder = Decoder::default();
    let line = vec![b'x'; SSE_LINE_BYTES_MAX];
    assert_eq!(decoder.feed(&line, &mut out), Ok(()));
    assert_eq!(decoder.feed(b"x", &mut out), Err(TooLarge { limit: SSE_LINE_BYTES_MAX }));
    let mut decoder = Decoder::default();
    let line = format!("data:{}\n", "x".repeat(SSE_EVENT_BYTES_MAX / 4));
    for _ in 0..3 {
        assert_eq!(decoder.feed(line.as_bytes(), &mut out), Ok(()));
    }
    let end = decoder.feed(line.as_bytes(), &mut out);
    assert_eq!(end, Err(TooLarge { limit: SSE_EVENT_BYTES_MAX }));
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_give_the_same_events(
        stream in proptest::collection::vec(
            prop_oneof![
                Just(b"data:".to_vec()), Just(b"event: e".to_vec()), Just(b"\r".to_vec()),
                Just(b"\n".to_vec()), Just(b": c".to_vec()), Just(b"\xEF\xBB\xBF".to_vec()),
                proptest::collection::vec(any::<u8>(), 0..4),
            ],
            0..40,
        ),
        size in 1usize..9,
    ) {
        let stream = stream.concat();
        let pieces: Vec<&[u8]> = stream.chunks(size).collect();
        prop_assert_eq!(decode(&pieces), decode(&[&stream]));
    }
}
