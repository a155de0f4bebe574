//! Edits of one text. Files are changed in the tests at the boundary.

use proptest::prelude::*;

use super::*;

fn edit(from: (usize, usize), to: (usize, usize), text: &str) -> Value {
    let at = |(line, character): (usize, usize)| json!({"line": line, "character": character});
    json!({"range": {"start": at(from), "end": at(to)}, "newText": text})
}

#[test]
fn edits_are_placed_in_any_order_and_overlaps_are_refused() {
    let apply = |list: &[Value]| apply(b"one two\r\nthree", list, Encoding::Utf16);
    let list = [edit((1, 0), (1, 5), "3"), edit((0, 0), (0, 3), "1"), edit((0, 3), (0, 3), "!")];
    assert_eq!(apply(&list).unwrap(), b"1! two\r\n3");
    assert_eq!(apply(&[edit((0, 0), (2, 0), "")]).unwrap(), b"");
    assert_eq!(
        apply(&[edit((0, 0), (0, 4), ""), edit((0, 3), (0, 5), "")]),
        Err("two edits overlap")
    );
    let nowhere = Err("the server names a place that is not there");
    assert_eq!(apply(&[edit((0, 3), (0, 0), "")]), nowhere);
    assert_eq!(apply(&[edit((3, 0), (3, 0), "")]), nowhere);
    assert_eq!(apply(&[json!({"newText": ""})]), nowhere);
}

proptest! {
    #[test]
    fn what_no_edit_names_stays(text in "[ab\u{1d11e}\r\n]{0,20}", line in 0_usize..4, units in 0_usize..6) {
        let list = [edit((line, units), (line, units), "#")];
        if let Ok(new) = apply(text.as_bytes(), &list, Encoding::Utf16) {
            prop_assert_eq!(String::from_utf8(new).unwrap().replace('#', ""), text);
        }
    }
}
