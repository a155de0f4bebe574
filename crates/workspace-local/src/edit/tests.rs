//! Replacing text in memory. Files are edited in `tools::tests::edit`.

use super::*;
use proptest::prelude::*;

fn edit(old: &str, new: &str) -> Edit {
    Edit { old: old.into(), new: new.into() }
}

fn check(content: &str, edits: &[(&str, &str)], result: &str) {
    let edits: Vec<Edit> = edits.iter().map(|(old, new)| edit(old, new)).collect();
    let found = apply(content.as_bytes(), &edits, &|| true).map(|edited| edited.bytes);
    assert_eq!(found.as_deref(), Ok(result.as_bytes()), "{content:?}");
}

fn refused(content: &str, edits: &[(&str, &str)], code: &str, text: &str) {
    let edits: Vec<Edit> = edits.iter().map(|(old, new)| edit(old, new)).collect();
    let failure = Failure::from(apply(content.as_bytes(), &edits, &|| true).unwrap_err());
    let told = format!("{} {}", failure.message, failure.hint.unwrap_or_default());
    assert_eq!(failure.code, code, "{content:?}");
    assert!(told.contains(text), "{told}");
}

#[test]
fn exact_texts_are_replaced_in_the_original() {
    check("abc", &[("b", "x")], "axc");
    check("a\nb\nc\n", &[("a", "b"), ("b", "a")], "b\na\nc\n");
    check("a\nb\n", &[("b\n", "")], "a\n");
    check("x", &[("x", "")], "");
    check("ab", &[("a", "1"), ("b", "2")], "12");
    check("say “hi” and \"hi\"", &[("\"hi\"", "x")], "say “hi” and x");
}

#[test]
fn line_ends_marks_and_odd_bytes_survive() {
    check("a\r\nb\r\nc\n", &[("a\nb", "a\nx\nb")], "a\r\nx\r\nb\r\nc\n");
    check("a\r\nb\nc\n", &[("c", "c\nd")], "a\r\nb\nc\nd\n");
    check("a\r\nb\nc\n", &[("a", "a\nd")], "a\r\nd\r\nb\nc\n");
    check("a\r\nb", &[("b", "b\nc")], "a\r\nb\r\nc");
    check("a\nb\r\nc", &[("a\nb\nc", "1\n2\n3")], "1\n2\r\n3");
    check("a\r\n", &[("a\r\n", "b\r\n")], "b\r\n");
    check("a\n", &[("a\r\n", "b\r\n")], "b\n");
    check("\u{feff}a\n", &[("a", "b")], "\u{feff}b\n");
    check("a\r\n\r\nb", &[("a\n\nb", "a\nb")], "a\r\nb");
    let edited = apply(b"\xff\xfe a \xff\r\n", &[edit("a", "b")], &|| true).unwrap();
    assert_eq!(edited.bytes, b"\xff\xfe b \xff\r\n");
    let edited =
        apply(b"\xff\n\xe2\x80\x9ca\xe2\x80\x9d \n", &[edit("\"a\"", "b")], &|| true).unwrap();
    assert_eq!(edited.bytes, b"\xff\nb \n");
}

#[test]
fn near_texts_touch_only_what_they_cover() {
    check("“a” – “b”  \nrest “q”\n", &[("\"b\"", "c")], "“a” – c  \nrest “q”\n");
    check("“a” – “b”  \nrest “q”\n", &[("\"a\" - \"b\"\nrest", "x\nrest")], "x\nrest “q”\n");
    check("a  \r\nb\r\n", &[("a\nb", "c\nb")], "c\r\nb\r\n");
    check("a  \r\nb “ \r\n", &[("a\nb \"", "c\nb")], "c\r\nb \r\n");
    check("ＡＢＣ d\n", &[("ABC", "x")], "x d\n");
    check("ﬁx “a”\n", &[("ix \"a\"", "y")], "fy\n");
    check("a\u{a0}b\n", &[("a b", "ab")], "ab\n");
    check("foobar\nfoo\n", &[("foo ", "x ")], "foobar\nx \n");
}

#[test]
fn what_cannot_be_placed_is_refused_with_its_own_code() {
    refused("a", &[("", "b")], "edit_old_text_empty", "edits[0]");
    refused("a\nb\na\nc a", &[("a", "x")], "edit_ambiguous", "3 times, on lines 1, 3, 4");
    refused("aaa", &[("aa", "x")], "edit_ambiguous", "2 times");
    refused("abc", &[("ab", "x"), ("bc", "y")], "edit_overlap", "edits[0] and edits[1]");
    refused("abc", &[("b", "b")], "edit_no_change", "as it is");
    refused("a\r\n", &[("a\n", "a\r\n")], "edit_no_change", "as it is");
    refused(
        "x\n  let value = compute(1);\n",
        &[("let value = compute(2);", "")],
        "edit_not_found",
        "line 2: \"  let value = compute(1);\"",
    );
    refused("“a” “a”", &[("\"a\"", "x")], "edit_ambiguous", "2 times");
    refused("", &[("a", "x")], "edit_not_found", "copy the text exactly");
    refused("a", &[("  ", "x")], "edit_not_found", "");
    let many = "a\n".repeat(100);
    refused(&many, &[("a", "x")], "edit_ambiguous", "100 times, on lines 1, 2, 3");
}

#[test]
fn the_places_of_an_ambiguous_text_are_listed_up_to_a_bound() {
    let many = "a\n".repeat(100);
    let EditError::Ambiguous { lines, .. } =
        apply(many.as_bytes(), &[edit("a", "x")], &|| true).unwrap_err()
    else {
        panic!("not ambiguous")
    };
    assert_eq!(lines.split(", ").count(), vocab::limits::EDIT_PLACES_SHOWN_MAX + 1);
}

/// Applies an edit; returns why it failed and how often it asked whether to go on.
fn asks(content: &str, old: &str) -> (EditError, usize) {
    let asked = std::cell::Cell::new(0);
    let alive = || {
        asked.set(asked.get() + 1);
        true
    };
    let error = apply(content.as_bytes(), &[edit(old, "x")], &alive).unwrap_err();
    (error, asked.get())
}

#[test]
fn work_grows_with_the_bytes_and_not_with_the_places() {
    // It asks once per so many bytes looked at, so that asking counts the work.
    const PIECE: usize = vocab::limits::EDIT_UNASKED_BYTES_MAX;
    let content = "a".repeat(2 * PIECE);
    for old in ["a".into(), "a".repeat(PIECE / 4), "a".repeat(PIECE), "ab".repeat(PIECE / 4)] {
        let (error, asked) = asks(&content, &old);
        let count = if let EditError::Ambiguous { count, .. } = error { count } else { 0 };
        let expected = if old.contains('b') { 0 } else { content.len() - old.len() + 1 };
        assert_eq!(count, expected);
        assert!((2..=20).contains(&asked), "{asked} asks for {} bytes", old.len());
    }
    // Near places, which are led back line by line where there is only one.
    let (error, asked) = asks(&"“".repeat(PIECE / 4), &"\"".repeat(PIECE / 16));
    assert_eq!(error.code(), "edit_ambiguous");
    assert!((1..=20).contains(&asked), "{asked} asks");
}

#[test]
fn of_many_places_only_those_are_kept_that_are_told() {
    let watch = Watch::new(&|| true);
    let found = find::places(&[b'a'; 10_000], b"aa", |_| true, &watch).unwrap();
    assert_eq!((found.count, found.kept.len()), (9_999, vocab::limits::EDIT_PLACES_SHOWN_MAX));
    assert_eq!(found.kept.last(), Some(&(19..21)));
}

#[test]
fn an_edit_that_nobody_waits_for_ends_within_its_work() {
    const PIECE: usize = vocab::limits::EDIT_UNASKED_BYTES_MAX;
    let exact = "a".repeat(4 * PIECE);
    let near = format!("“{exact}");
    for (content, old, asks) in [(&exact, "a", 0), (&exact, "aa", 2), (&near, "\"a", 4)] {
        let left = std::cell::Cell::new(asks);
        let alive = || {
            let before: usize = left.get();
            left.set(before.saturating_sub(1));
            before > 0
        };
        let stopped = apply(content.as_bytes(), &[edit(old, "x")], &alive);
        assert_eq!(stopped.map(|_| ()), Err(EditError::Stopped), "{asks}");
    }
}

proptest! {
    #[test]
    fn every_place_is_found_overlapping_ones_too(hay in "[ab]{0,40}", needle in "[ab]{1,6}") {
        let watch = Watch::new(&|| true);
        let found = find::places(hay.as_bytes(), needle.as_bytes(), |_| true, &watch).unwrap();
        let all: Vec<_> = (0..hay.len())
            .filter(|at| hay[*at..].starts_with(&needle))
            .map(|at| at..at + needle.len())
            .collect();
        prop_assert_eq!(found.count, all.len());
        prop_assert!(all.starts_with(&found.kept));
    }

    #[test]
    fn bytes_outside_the_touched_ranges_stay(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("a"), Just("b“"), Just("\r\n"), Just("\n"), Just(" "), Just("é"), Just("\r"),
                Just("ﬁ"), Just("\u{feff}"),
            ],
            1..40,
        ),
        from in 0_usize..40,
        len in 1_usize..10,
        new in "[a-c“\n ]{0,6}",
    ) {
        let content = pieces.concat();
        let from = from.min(pieces.len() - 1);
        let old = pieces[from..(from + len).min(pieces.len())].concat();
        let edits = [edit(&old.replace("\r\n", "\n").replace('“', "\""), &new)];
        if let Ok(edited) = apply(content.as_bytes(), &edits, &|| true) {
            let span = edited.touched[0].clone();
            let (before, after) = (&content.as_bytes()[..span.start], &content.as_bytes()[span.end..]);
            prop_assert!(edited.bytes.starts_with(before));
            prop_assert!(edited.bytes.ends_with(after));
            prop_assert!(edited.bytes.len() >= before.len() + after.len());
            let middle = &edited.bytes[before.len()..edited.bytes.len() - after.len()];
            let middle = String::from_utf8(middle.to_vec()).unwrap().replace("\r\n", "\n");
            // Where the match could not be divided from its line, the line's rest is written again.
            prop_assert!(middle.contains(new.as_str()), "{middle:?} {new:?}");
        }
    }
}
