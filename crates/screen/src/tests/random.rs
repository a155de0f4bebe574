//! Streams that no program writes: whatever comes, a rebuilt terminal is the same and goes on the same.

use proptest::{collection::vec, prelude::*};

use super::same::{difference, difference_of_letters, dirty, mirror};
use crate::{size::Size, snapshot::Depth};

/// One thing that a program might write.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![Just(String::new()), (0_u16..30).prop_map(|n| n.to_string())];
    let text = prop_oneof![
        "[a-z ]{1,12}",
        "[中文e\u{301}\u{200d}\u{1f469}\u{fe0f}─]{1,6}",
        Just("0123456789012345678901234567890123456789".to_owned()),
    ];
    let control = "[\n\r\t\u{8}\u{e}\u{f}\u{7}]{1,4}";
    let moves = (number(), number(), "[A-HIZdfegrGsuabe`]")
        .prop_map(|(a, b, action)| format!("\x1b[{a};{b}{action}"));
    let edits = (number(), "[@PXLMSTJK]").prop_map(|(n, action)| format!("\x1b[{n}{action}"));
    let colors = vec(
        prop_oneof![
            (0_u16..110).prop_map(|n| n.to_string()),
            (0_u8..6).prop_map(|n| format!("4:{n}")),
            any::<(u8, u8, u8)>().prop_map(|(r, g, b)| format!("38;2;{r};{g};{b}")),
            any::<(u8, u8, u8)>().prop_map(|(r, g, b)| format!("58:2::{r}:{g}:{b}")),
            any::<u8>().prop_map(|n| format!("48;5;{n}")),
        ],
        0..4,
    )
    .prop_map(|codes| format!("\x1b[{}m", codes.join(";")));
    let numbers = prop::sample::select(vec![
        1, 5, 6, 7, 9, 12, 25, 47, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 1047,
        1048, 1049, 2004, 2026, 2027, 2031, 2048,
    ]);
    let modes = (numbers, "[hl]").prop_map(|(number, on)| format!("\x1b[?{number}{on}"));
    prop_oneof![
        5 => text.prop_map(String::into_bytes),
        3 => control.prop_map(String::into_bytes),
        3 => moves.prop_map(String::into_bytes),
        2 => edits.prop_map(String::into_bytes),
        2 => colors.prop_map(String::into_bytes),
        2 => modes.prop_map(String::into_bytes),
        2 => escape().prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 1..6),
    ]
}

/// One of the sequences that have no number to be varied.
fn escape() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "\x1b7",
        "\x1b8",
        "\x1b=",
        "\x1b>",
        "\x1bD",
        "\x1bE",
        "\x1bH",
        "\x1bM",
        "\x1bc",
        "\x1b(0",
        "\x1b(B",
        "\x1b)0",
        "\x1b*0",
        "\x1bn",
        "\x1bo",
        "\x1b#8",
        "\x1b[!p",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b[20h",
        "\x1b[20l",
        "\x1b[>5u",
        "\x1b[<u",
        "\x1b[=3;2u",
        "\x1b[>4;2m",
        "\x1b[5 q",
        "\x1b[22t",
        "\x1b[23t",
        "\x1b[?5W",
        "\x1b]8;;http://a\x07",
        "\x1b]8;id=x;b\x1b\\",
        "\x1b]8;;\x07",
        "\x1b]2;title\x07",
        "\x1b]2;\x07",
        "\x1b]4;1;#123456\x07",
        "\x1b]104\x07",
        "\x1b]11;#ffffff\x07",
        "\x1b]9;4;1;50\x07",
        "\x1b]7501;state=working:id=a\x07",
        "\x1b]7501;state=clear\x07",
        "\x1b]7;file:///x\x07",
        "\x1bP$qm\x1b\\",
        "\x1b_apc\x1b\\",
        "\x1bPq#0~\u{9c}",
    ])
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

fn size() -> impl Strategy<Value = (u16, u16)> {
    (2_u16..30, 1_u16..9)
}

fn check(
    size: (u16, u16),
    before: &[u8],
    resized: Option<(u16, u16)>,
    after: &[u8],
) -> Result<(), TestCaseError> {
    let mut left = mirror(size);
    left.feed(before);
    let size = resized.unwrap_or(size);
    left.resize(Size::clamped(size.0, size.1));
    let snapshot = left.snapshot(Depth::Replace);
    let mut right = dirty(size);
    right.feed(&snapshot);
    for after in [&b""[..], after] {
        left.feed(after);
        right.feed(after);
        let difference = match resized {
            None => difference(&left, &right),
            Some(_) => difference_of_letters(&left, &right),
        };
        if let Some(difference) = difference {
            return Err(TestCaseError::fail(format!(
                "{difference}\nbefore: {}\nafter: {}\nsnapshot: {}",
                before.escape_ascii(),
                after.escape_ascii(),
                snapshot.escape_ascii()
            )));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_stream_can_be_cut_anywhere(
        size in size(), stream in stream(), cut in any::<prop::sample::Index>(),
    ) {
        let (before, after) = stream.split_at(cut.index(stream.len() + 1));
        check(size, before, None, after)?;
    }

    #[test]
    fn a_resized_terminal_can_be_rebuilt(
        sizes in (size(), size()), before in stream(), after in stream(),
    ) {
        check(sizes.0, &before, Some(sizes.1), &after)?;
    }

    #[test]
    fn chunks_make_no_difference(
        size in size(), stream in stream(), n_bytes in 1_usize..9,
    ) {
        let (mut whole, mut pieces) = (mirror(size), mirror(size));
        whole.feed(&stream);
        for chunk in stream.chunks(n_bytes) {
            pieces.feed(chunk);
        }
        let difference = difference(&whole, &pieces);
        prop_assert!(difference.is_none(), "{:?}\n{}", stream.escape_ascii().to_string(), difference.unwrap_or_default());
    }

    #[test]
    fn no_bytes_do_harm(
        sizes in vec(size(), 1..5), streams in vec(vec(any::<u8>(), 0..300), 1..5),
    ) {
        let mut mirror = mirror(sizes[0]);
        for (size, stream) in sizes.iter().zip(&streams) {
            mirror.feed(stream);
            mirror.resize(Size::clamped(size.0, size.1));
            mirror.feed(stream);
            prop_assert!(!mirror.snapshot(Depth::History).is_empty());
        }
    }
}
