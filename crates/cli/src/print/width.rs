//! How many columns a text takes on a terminal, and how it is cut to fit.
//!
//! Wide are the East Asian and emoji blocks that terminals draw in two cells; without width are
//! combining marks and joiners. Sequences that draw as one cluster are counted by their parts.

/// Ranges that take no cell.
const ZERO: &[(u32, u32)] = &[
    (0x0300, 0x036f),
    (0x0483, 0x0489),
    (0x0591, 0x05bd),
    (0x0610, 0x061a),
    (0x064b, 0x065f),
    (0x0e34, 0x0e3a),
    (0x0e47, 0x0e4e),
    (0x1ab0, 0x1aff),
    (0x1dc0, 0x1dff),
    (0x200b, 0x200f),
    (0x20d0, 0x20ff),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
    (0xfeff, 0xfeff),
    (0xe0100, 0xe01ef),
];

/// Ranges that take two cells.
const WIDE: &[(u32, u32)] = &[
    (0x1100, 0x115f),
    (0x231a, 0x231b),
    (0x23e9, 0x23ec),
    (0x25fd, 0x25fe),
    (0x2614, 0x2615),
    (0x26a1, 0x26a1),
    (0x2705, 0x2705),
    (0x270a, 0x270b),
    (0x2728, 0x2728),
    (0x274c, 0x274c),
    (0x2753, 0x2757),
    (0x2795, 0x2797),
    (0x2b50, 0x2b50),
    (0x2e80, 0x303e),
    (0x3041, 0x33ff),
    (0x3400, 0x4dbf),
    (0x4e00, 0x9fff),
    (0xa000, 0xa4cf),
    (0xa960, 0xa97f),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1f300, 0x1f64f),
    (0x1f680, 0x1f6ff),
    (0x1f7e0, 0x1f7eb),
    (0x1f900, 0x1f9ff),
    (0x1fa70, 0x1faff),
    (0x20000, 0x3fffd),
];

/// Returns the cells of one character.
pub(crate) fn of_char(c: char) -> usize {
    let code = u32::from(c);
    let within = |ranges: &[(u32, u32)]| {
        let at = ranges.partition_point(|(_, last)| *last < code);
        ranges.get(at).is_some_and(|(first, _)| *first <= code)
    };
    if code < 0x300 {
        return usize::from(!c.is_control());
    }
    if within(ZERO) {
        return 0;
    }
    if within(WIDE) { 2 } else { 1 }
}

/// Returns the cells of a text of one line without colors.
pub(crate) fn of(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

/// Cuts a text of one line to at most `columns`, with an ellipsis where something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        // One cell stays for the ellipsis.
        if used + of_char(c) + 1 > columns {
            break;
        }
        used += of_char(c);
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Cuts a path to at most `columns`, with an ellipsis in place of its beginning: the end tells more. Whole names
/// are kept where there is room for one.
pub(crate) fn cut_path(path: &str, columns: usize) -> String {
    if of(path) <= columns {
        return path.to_owned();
    }
    let fits = |at: &usize| of(&path[*at..]) < columns;
    let mut places = path.char_indices().skip(1).map(|(at, _)| at).filter(fits);
    let first = places.next();
    let whole = first.filter(|at| path[*at..].starts_with('/'));
    let whole = whole.or_else(|| places.find(|at| path[*at..].starts_with('/')));
    match whole.or(first) {
        Some(at) => format!("…{}", &path[at..]),
        None => cut(path, columns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_are_in_order() {
        for ranges in [ZERO, WIDE] {
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }

    #[test]
    fn cells_are_counted_as_terminals_draw_them() {
        for (text, cells) in
            [("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("✓ 🎉", 4), ("", 0), ("한글", 4)]
        {
            assert_eq!(of(text), cells, "{text}");
        }
    }

    #[test]
    fn of_a_path_the_end_is_kept() {
        for (columns, shown) in [
            (20, "/home/me/src/web"),
            (15, "…/me/src/web"),
            (9, "…/src/web"),
            (8, "…/web"),
            (4, "…web"),
            (3, "…eb"),
            (1, "…"),
            (0, ""),
        ] {
            assert_eq!(cut_path("/home/me/src/web", columns), shown, "{columns}");
        }
        assert_eq!(cut_path("漢字/漢字", 6), "…/漢字");
    }

    #[test]
    fn a_cut_text_fits_and_says_that_it_was_cut() {
        for text in ["plain words", "漢字漢字漢字", "e\u{301}e\u{301}e\u{301}e\u{301}"] {
            for columns in 0..14 {
                let shown = cut(text, columns);
                assert!(of(&shown) <= columns, "{shown:?} in {columns}");
                assert!(shown == text || columns == 0 || shown.ends_with('…'), "{shown:?}");
            }
        }
    }
}
