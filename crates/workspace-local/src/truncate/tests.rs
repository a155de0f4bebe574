//! Where a long text is cut.

use super::*;

const SMALL: Bounds = Bounds { lines: 3, bytes: 10 };

/// What the next test shrinks to be met by a few words is what the table says for every tool.
#[test]
fn the_usual_bounds_are_those_of_the_table() {
    let Bounds { lines, bytes } = Bounds::TOOL;
    assert_eq!((lines, bytes), (TOOL_TEXT_LINES_MAX, TOOL_TEXT_BYTES_MAX));
    assert_eq!(Bounds::LIST.bytes, TOOL_TEXT_BYTES_MAX);
    let long = "x\n".repeat(TOOL_TEXT_LINES_MAX + 1);
    for cut in [head, tail] {
        let (text, facts) = cut(&long, Bounds::TOOL);
        assert_eq!((text.lines().count(), facts.by), (TOOL_TEXT_LINES_MAX, Some(Cut::Lines)));
    }
}

#[test]
fn truncate_stops_at_whichever_limit_comes_first() {
    let check_head = |text: &str, kept: &str, by: Option<Cut>, lines: u64| {
        let (found, facts) = head(text, SMALL);
        assert_eq!((found, facts.by, facts.output_lines), (kept, by, lines), "{text:?}");
        assert_eq!(facts.output_bytes, kept.len() as u64);
        assert_eq!(facts.total_bytes, text.len() as u64);
    };
    check_head("", "", None, 0);
    check_head("a\nb\nc\n", "a\nb\nc\n", None, 3);
    check_head("a\nb\nc\nd", "a\nb\nc", Some(Cut::Lines), 3);
    check_head("aaaa\nbbbb\ncccc", "aaaa\nbbbb", Some(Cut::Bytes), 2);
    check_head("aaaaaaaaaaa\nb", "", Some(Cut::Bytes), 0);
    assert!(head("aaaaaaaaaaa\nb", SMALL).1.first_line_exceeds);

    let check_tail = |text: &str, kept: &str, by: Option<Cut>, lines: u64, partial: bool| {
        let (found, facts) = tail(text, SMALL);
        assert_eq!((found, facts.by, facts.output_lines), (kept, by, lines), "{text:?}");
        assert_eq!(facts.last_line_partial, partial);
    };
    check_tail("", "", None, 0, false);
    check_tail("a\nb\nc\n", "a\nb\nc\n", None, 3, false);
    check_tail("a\nb\nc\nd\n", "b\nc\nd\n", Some(Cut::Lines), 3, false);
    check_tail("aaaa\nbbbb\ncccc\n", "bbbb\ncccc\n", Some(Cut::Bytes), 2, false);
    check_tail("a\naaaaaaaaééééé", "ééééé", Some(Cut::Bytes), 1, true);
    check_tail("aaaaaaaaééééé1", "éééé1", Some(Cut::Bytes), 1, true);
}

#[test]
fn lines_are_cut_between_characters_and_sizes_are_readable() {
    assert_eq!(line("ééé", 2), ("éé", true));
    assert_eq!(line("éé", 2), ("éé", false));
    let sizes: Vec<String> = [0, 1023, 1024, 1536, 51_200, 1 << 20, 5 << 30].map(size).into();
    assert_eq!(sizes, ["0B", "1023B", "1.0KB", "1.5KB", "50.0KB", "1.0MB", "5.0GB"]);
    assert_eq!(count_lines(b"a\nb"), 2);
    assert_eq!(count_lines(b"a\n"), 1);
}
