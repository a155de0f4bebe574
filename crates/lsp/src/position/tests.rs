//! Lines and columns in three encodings.

use proptest::prelude::*;

use super::*;

#[test]
fn positions_lead_to_bytes_and_back() {
    let text = "a\u{f6}\u{1d11e}b\r\n\rx\n";
    let lines = Lines::new(text);
    assert_eq!(lines.count(), 4);
    let all: Vec<_> = (0..5).map(|idx| lines.line(idx)).collect();
    assert_eq!(all, [Some("a\u{f6}\u{1d11e}b"), Some(""), Some("x"), Some(""), None]);
    for (encoding, units) in [(Encoding::Utf8, 7), (Encoding::Utf16, 4), (Encoding::Utf32, 3)] {
        assert_eq!(lines.offset(0, units, encoding), Some(7));
        assert_eq!(lines.position(7, encoding), json!({"line": 0, "character": units}));
        assert_eq!(lines.column(0, units, encoding), 4);
        // Beyond the end is the end.
        assert_eq!(lines.offset(0, 99, encoding), Some(8));
        assert_eq!(lines.offset(4, 0, encoding), None);
    }
    // Inside of a character is nowhere.
    assert_eq!(lines.offset(0, 3, Encoding::Utf16), None);
    assert_eq!(lines.offset(0, 2, Encoding::Utf8), None);
    assert_eq!(Encoding::chosen(Some("utf-7")), None);
}

#[test]
fn a_name_is_found_as_a_word_before_it_is_found_in_one() {
    for (line, name, wanted) in [
        ("xx = x", "x", Some(5)),
        ("xx", "x", Some(0)),
        ("f\u{f6}o o", "o", Some(5)),
        ("a->b", "->", Some(1)),
        ("y", "x", None),
    ] {
        assert_eq!(find(line, name), wanted, "{line} {name}");
    }
}

proptest! {
    #[test]
    fn every_place_between_characters_survives(text in "[a\u{f6}\u{1d11e}\r\n]{0,30}", at in 0_usize..31) {
        let lines = Lines::new(&text);
        let offset = text.char_indices().map(|(idx, _)| idx).chain([text.len()]).nth(at).unwrap_or(0);
        // Between the two characters of a line end there is no position.
        prop_assume!(!(text[..offset].ends_with('\r') && text[offset..].starts_with('\n')));
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let position = lines.position(offset, encoding);
            let (line, units) = place(&position).unwrap();
            prop_assert_eq!(lines.offset(line, units, encoding), Some(offset));
        }
    }
}
