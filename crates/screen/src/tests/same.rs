//! Tells how two mirrors differ, down to the cell and to what cannot be seen.

use alacritty_terminal::{
    grid::{Dimensions, Grid},
    index::{Column, Line},
    term::cell::{Cell, Flags},
};

use crate::{mirror::Mirror, modes::Mode, paint, size::Size};

pub(super) const SMALL: (u16, u16) = (20, 6);

pub(super) fn mirror((columns, lines): (u16, u16)) -> Mirror {
    Mirror::new(Size::clamped(columns, lines))
}

/// Returns a mirror in which another program has left everything in disorder.
pub(super) fn dirty(size: (u16, u16)) -> Mirror {
    let mut mirror = mirror(size);
    mirror.feed(
        b"old text \x1b[31;44;7mand colors\r\nmore\x1b[3g\x1b[2;4r\x1b[?6h\x1b[?7l\x1b[4h\x1b[20h\x1b[?1;5;1003;1016;2031h\
          \x1b(0\x1b)0\x0e\x1b7\x1b[>5u\x1b[>7u\x1b[>4;2m\x1b]4;3;#123456\x1b\\\x1b]11;#ffffff\x1b\\\x1b[5 q\
          \x1b]8;;http://old\x1b\\link\x1b[?1049h\x1b[2;3rother\x1b[>1u\x1b[32m\x1b]9;4;3\x07\x1b[?2",
    );
    mirror
}

/// Returns what differs between two mirrors, or nothing.
pub(super) fn difference(left: &Mirror, right: &Mirror) -> Option<String> {
    let (a, b) = (history(left), history(right));
    let in_history = (a != b).then(|| format!("history:\n  {a}\n  {b}"));
    in_history.or_else(|| difference_of_screens(left, right))
}

/// Returns what differs between two mirrors of which one was resized, or nothing.
///
/// Lines that left the screen at another width are laid out as that width asked: where text with a
/// background wraps elsewhere, a terminal fills the rest of the row with it. Their letters must be equal.
pub(super) fn difference_of_letters(left: &Mirror, right: &Mirror) -> Option<String> {
    let letters = |mirror: &Mirror| mirror.history_text().concat().replace(' ', "");
    let (a, b) = (letters(left), letters(right));
    let in_history = (a != b).then(|| format!("history:\n  {a}\n  {b}"));
    in_history.or_else(|| difference_of_screens(left, right))
}

fn difference_of_screens(left: &Mirror, right: &Mirror) -> Option<String> {
    let (a, b) = (&left.terminal, &right.terminal);
    let mut found = Vec::new();
    let mut look = |what: &str, left: String, right: String| {
        if left != right {
            found.push(format!("{what}:\n  {left}\n  {right}"));
        }
    };
    grids(&a.grid, &b.grid, &mut look);
    match (&a.below, &b.below) {
        (Some(a), Some(b)) => {
            grids(&a.grid, &b.grid, &mut |what, left, right| {
                look(&format!("main {what}"), left, right)
            });
            look("main saved", format!("{:?}", a.saved), format!("{:?}", b.saved));
            look("entered by", a.entered_by.to_string(), b.entered_by.to_string());
        }
        (a, b) => look("alternate", a.is_some().to_string(), b.is_some().to_string()),
    }
    look("frame", format!("{:?}", a.frame), format!("{:?}", b.frame));
    look("shift", format!("{:?}", a.shift()), format!("{:?}", b.shift()));
    look("saved", format!("{:?}", a.saved), format!("{:?}", b.saved));
    let modes = |modes: &crate::modes::Modes| {
        let mut modes = modes.clone();
        modes.put(Mode::Synchronized, false);
        format!("{modes:?}")
    };
    look("modes", modes(&a.modes), modes(&b.modes));
    look("keyboards", format!("{:?}", a.keyboards), format!("{:?}", b.keyboards));
    look("labels", format!("{:?}", a.labels), format!("{:?}", b.labels));
    look("request", format!("{:?}", a.request), format!("{:?}", b.request));
    let pending = |mirror: &Mirror| mirror.tail.pending().escape_ascii().to_string();
    look("pending", pending(left), pending(right));
    (!found.is_empty()).then(|| found.join("\n"))
}

fn history(mirror: &Mirror) -> String {
    let mut text = Vec::new();
    mirror.terminal.history.each_line(|line| {
        text.extend_from_slice(line);
        text.push(b'\n');
    });
    // Where the open line goes on is part of it: a wide glyph there may have left room at the margin.
    let (open, mut painter) = mirror.terminal.history.open();
    text.extend_from_slice(open);
    let terminal = &mirror.terminal;
    let main = terminal.below.as_ref().map_or(&terminal.grid, |below| &below.grid);
    let next = (1 < main.screen_lines()).then(|| &main[Line(1)]);
    painter.row(&main[Line(0)], next, &mut text);
    text.escape_ascii().to_string()
}

fn grids(a: &Grid<Cell>, b: &Grid<Cell>, look: &mut dyn FnMut(&str, String, String)) {
    look("cursor", format!("{:?}", a.cursor), format!("{:?}", b.cursor));
    look("saved cursor", format!("{:?}", a.saved_cursor), format!("{:?}", b.saved_cursor));
    for line in 0..a.screen_lines().min(b.screen_lines()) {
        for column in 0..a.columns().min(b.columns()) {
            let (left, right) = (cell(a, line, column), cell(b, line, column));
            if left != right {
                look(&format!("cell {line},{column}"), format!("{left:?}"), format!("{right:?}"));
            }
        }
    }
}

/// Returns a cell; a blank at the margin that makes room for nothing is a blank.
fn cell(grid: &Grid<Cell>, line: usize, column: usize) -> Cell {
    let mut cell = grid[Line::from(line)][Column(column)].clone();
    if cell.flags.contains(Flags::LEADING_WIDE_CHAR_SPACER) {
        let makes_room = line + 1 < grid.screen_lines()
            && paint::makes_room(&cell, &grid[Line::from(line + 1)][Column(0)]);
        if !makes_room {
            cell.flags.remove(Flags::LEADING_WIDE_CHAR_SPACER);
        }
    }
    cell
}
