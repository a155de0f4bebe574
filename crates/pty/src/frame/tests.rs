//! Streams cut and joined in every way.

use proptest::prelude::*;

use super::*;

/// The longest payload, as a head tells it.
fn longest() -> u32 {
    u32::try_from(FRAME_BYTES_MAX).unwrap()
}

fn raw(number: u8, n_bytes: u32, payload: &[u8]) -> Vec<u8> {
    [&[number][..], &n_bytes.to_be_bytes(), payload].concat()
}

/// Reads a stream in chunks and returns its frames, and the length of one that was refused.
fn read(chunks: &[&[u8]]) -> (Vec<Frame>, Option<usize>) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for chunk in chunks {
        decoder.push(chunk);
        loop {
            match decoder.take() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(refused) => {
                    assert_eq!(decoder.take(), Err(refused), "it does not go on after it");
                    return (frames, Some(refused.n_bytes));
                }
            }
        }
    }
    (frames, None)
}

#[track_caller]
fn check(chunks: &[&[u8]], frames: &[(Kind, &str)], refused: Option<usize>) {
    let (read, why) = read(chunks);
    let read: Vec<_> =
        read.iter().map(|f| (f.kind, std::str::from_utf8(&f.payload).unwrap())).collect();
    assert_eq!((read.as_slice(), why), (frames, refused), "{chunks:?}");
}

#[test]
fn frames_are_found_however_the_stream_is_cut() {
    let hello = raw(1, 2, b"{}");
    let data = raw(2, 3, b"abc");
    let empty = raw(2, 0, b"");
    let unknown = raw(77, 4, b"what");
    let joined = [&hello[..], &data, &empty].concat();
    check(&[], &[], None);
    check(&[&hello], &[(Kind::Hello, "{}")], None);
    let all: [(Kind, &str); 3] = [(Kind::Hello, "{}"), (Kind::Data, "abc"), (Kind::Data, "")];
    check(&[&joined], &all, None);
    let bytes: Vec<&[u8]> = joined.chunks(1).collect();
    check(&bytes, &all, None);
    check(&[&data[..2], &data[2..7]], &[], None);
    check(&[&data[..7], &data[7..], &hello], &[(Kind::Data, "abc"), (Kind::Hello, "{}")], None);
    check(&[&unknown, &data], &[(Kind::Data, "abc")], None);
    check(&[&unknown[..3], &unknown[3..6], &unknown[6..], &data], &[(Kind::Data, "abc")], None);
    check(&[&raw(0, 0, b""), &raw(11, 0, b""), &data], &[(Kind::Data, "abc")], None);
}

#[test]
fn frames_beyond_the_limit_are_refused() {
    let data = raw(2, 3, b"abc");
    let over = FRAME_BYTES_MAX + 1;
    for number in [1, 2, 77] {
        let long = [&data[..], &raw(number, longest() + 1, b"x")].concat();
        check(&[&long], &[(Kind::Data, "abc")], Some(over));
    }
    check(&[&raw(2, u32::MAX, b"")], &[], Some(usize::try_from(u32::MAX).unwrap()));
    // The longest one is taken, and what is longer is sent in several.
    let payload = vec![b'x'; over];
    let (frames, refused) = read(&[&encode(Kind::Data, &payload)]);
    assert_eq!(refused, None);
    assert_eq!(
        frames.iter().map(|frame| frame.payload.len()).collect::<Vec<_>>(),
        [FRAME_BYTES_MAX, 1]
    );
}

#[test]
fn an_unknown_frame_is_not_kept() {
    let mut decoder = Decoder::default();
    decoder.push(&raw(200, longest(), b""));
    assert_eq!(decoder.take(), Ok(None));
    for _ in 0..FRAME_BYTES_MAX >> 16 {
        decoder.push(&[0; 1 << 16]);
        assert_eq!(decoder.take(), Ok(None));
        assert_eq!(decoder.buffer.capacity(), 0);
    }
    assert!(decoder.is_between());
}

proptest! {
    #[test]
    fn what_is_encoded_is_read_back(
        frames in prop::collection::vec((0usize..10, prop::collection::vec(any::<u8>(), 0..40)), 0..8),
        cuts in prop::collection::vec(1usize..20, 1..40),
    ) {
        let frames: Vec<_> = frames
            .into_iter()
            .map(|(kind, payload)| Frame { kind: Kind::ALL[kind], payload })
            .collect();
        let stream: Vec<u8> =
            frames.iter().flat_map(|frame| encode(frame.kind, &frame.payload)).collect();
        let (mut rest, mut chunks) = (&stream[..], Vec::new());
        for cut in cuts.iter().cycle().take(stream.len()) {
            let (chunk, after) = rest.split_at(rest.len().min(*cut));
            chunks.push(chunk);
            rest = after;
        }
        prop_assert_eq!(read(&chunks), (frames, None));
    }

    #[test]
    fn garbage_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&[&bytes]);
    }
}
