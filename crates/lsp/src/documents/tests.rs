//! A difference leads from one text to the next.

use proptest::prelude::*;

use super::*;

/// Applies a change as a server does.
fn applied(old: &str, change: &Value, encoding: Encoding) -> String {
    let range = Lines::new(old).range(&change["range"], encoding).unwrap();
    format!("{}{}{}", &old[..range.start], change["text"].as_str().unwrap(), &old[range.end..])
}

proptest! {
    #[test]
    fn a_difference_leads_from_the_old_text_to_the_new(
        old in "[ab\u{f6}\u{1d11e}\r\n]{0,12}", new in "[ab\u{f6}\u{1d11e}\r\n]{0,12}",
    ) {
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let change = difference(&old, &new, encoding);
            prop_assert_eq!(applied(&old, &change, encoding), new.clone());
        }
    }
}

#[test]
fn a_difference_is_small() {
    let change = difference("one two three", "one 2 three", Encoding::Utf16);
    assert_eq!(change["text"], "2");
    assert_eq!(change["range"]["start"], json!({"line": 0, "character": 4}));
    assert_eq!(change["range"]["end"], json!({"line": 0, "character": 7}));
}
