//! The byte string after which another terminal shows the same and goes on the same.
//!
//! Its order is half of it. A saved cursor that is about to wrap comes before the picture, since only a
//! printed character makes one; any other comes after it, since some terminals let a saved cursor scroll
//! along with the text. Tab stops, margins and origin mode come before the cursor, since they move
//! it. Autowrap and insert mode come after it, since they change how text is printed. The unfinished
//! sequence is last.

use std::ops::Range;

use alacritty_terminal::{
    grid::{Cursor, Grid},
    index::{Column, Line},
    term::cell::{Cell, Flags},
};

use crate::{
    mirror::Mirror,
    modes::Mode,
    paint::Painter,
    resets::{self, Levels, PLAIN},
    terminal::{Shift, Terminal},
};

/// How much of a terminal a snapshot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The screens alone; the other terminal's scrollback is left as it is.
    Screen,
    /// Scrollback too, below what the other terminal has already.
    History,
    /// Scrollback too, in place of the other terminal's.
    Replace,
}

impl Mirror {
    /// Returns what rebuilds this terminal in another one of the same size.
    pub fn snapshot(&self, depth: Depth) -> Vec<u8> {
        let mut out = Vec::new();
        self.terminal.write_screens(depth, &mut out);
        self.terminal.write_rest(&mut out);
        out.extend_from_slice(self.tail.pending());
        out
    }
}

impl Terminal {
    fn write_screens(&self, depth: Depth, out: &mut Vec<u8>) {
        resets::write(Levels::UNKNOWN, out);
        out.extend_from_slice(b"\x1b[H\x1b[2J");
        if depth == Depth::Replace {
            out.extend_from_slice(b"\x1b[3J");
        }
        let (main, saved) = match &self.below {
            None => (&self.grid, self.saved),
            Some(below) => (&below.grid, below.saved),
        };
        let is_wrapping = main.saved_cursor.input_needs_wrap;
        if is_wrapping {
            self.write_saved(&main.saved_cursor, saved, out);
        }
        let mut painter = Painter::default();
        if depth != Depth::Screen {
            self.history.each_line(|line| {
                out.extend_from_slice(line);
                out.extend_from_slice(b"\r\n");
            });
            let (open, writer) = self.history.open();
            out.extend_from_slice(open);
            painter = writer;
        }
        self.write_grid(main, painter, out);
        if !is_wrapping {
            self.write_saved(&main.saved_cursor, saved, out);
        }
        self.keyboards[0].write(out);
        if let Some(below) = &self.below {
            // Some terminals keep tab stops for each screen.
            self.write_tabs(out);
            // Entering saves the cursor, so it has to stand where it was saved.
            let cursor = if below.entered_by == 1049 { &main.saved_cursor } else { &main.cursor };
            write_cursor(cursor, below.saved, Some(main), 0..self.n_lines(), out);
            let entered_by = below.entered_by;
            out.extend_from_slice(format!("\x1b[?{entered_by}h\x1b[?6l{PLAIN}").as_bytes());
            out.extend_from_slice(b"\x1b]8;;\x1b\\\x1b[H\x1b[2J");
            self.write_saved(&self.grid.saved_cursor, self.saved, out);
            self.write_grid(&self.grid, Painter::default(), out);
            self.keyboards[1].write(out);
        }
    }

    /// Fills the saved cursor. One that is about to wrap leaves a blank where it is.
    fn write_saved(&self, cursor: &Cursor<Cell>, shift: Shift, out: &mut Vec<u8>) {
        write_cursor(cursor, shift, None, 0..self.n_lines(), out);
        out.extend_from_slice(b"\x1b7\x1b[?6l");
        out.extend_from_slice(PLAIN.as_bytes());
        out.extend_from_slice(b"\x1b]8;;\x1b\\\x1b[H");
    }

    /// Paints a screen from its first line to its last, so that whatever was written before has scrolled
    /// away when it is done.
    fn write_grid(&self, grid: &Grid<Cell>, mut painter: Painter, out: &mut Vec<u8>) {
        let n_lines = self.n_lines();
        for line in 0..n_lines {
            let is_last = line + 1 == n_lines;
            let next = (!is_last).then(|| &grid[Line::from(line + 1)]);
            painter.row(&grid[Line::from(line)], next, out);
            if !is_last && !painter.is_inside_line() {
                out.extend_from_slice(b"\r\n");
            }
        }
        painter.end_line(out);
    }

    /// Writes the tab stops, even if they are the usual ones, as not every terminal can be told to take those.
    fn write_tabs(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[3g");
        for column in (0..self.n_columns()).filter(|column| self.frame.tabs[*column]) {
            out.extend_from_slice(format!("\x1b[{}G\x1bH", column + 1).as_bytes());
        }
    }

    /// Writes everything that is not on the screens.
    fn write_rest(&self, out: &mut Vec<u8>) {
        self.labels.write(out);
        self.write_tabs(out);
        let region = self.frame.region.clone();
        if region != (0..self.n_lines()) {
            out.extend_from_slice(format!("\x1b[{};{}r", region.start + 1, region.end).as_bytes());
        }
        write_cursor(&self.grid.cursor, self.shift(), Some(&self.grid), region, out);
        if !self.modes.has(Mode::Wrap) {
            out.extend_from_slice(b"\x1b[?7l");
        }
        if self.modes.has(Mode::Insert) {
            out.extend_from_slice(b"\x1b[4h");
        }
        self.modes.write(out);
    }
}

/// Brings a cursor to its place, with its pen and its character sets. Margins are those of `region`,
/// and everything else stands as when fresh.
fn write_cursor(
    cursor: &Cursor<Cell>,
    shift: Shift,
    grid: Option<&Grid<Cell>>,
    region: Range<usize>,
    out: &mut Vec<u8>,
) {
    let mut line = usize::try_from(cursor.point.line.0).unwrap_or(0);
    let column = cursor.point.column.0;
    if shift.origin {
        out.extend_from_slice(b"\x1b[?6h");
        line = line.saturating_sub(region.start);
    }
    let mut painter = Painter::default();
    let before = glyph_before(cursor, grid);
    match before {
        Some((start, cell)) => {
            // It is printed again: a full row is about to wrap only after that, and a terminal that is
            // told to repeat its last character repeats this one.
            out.extend_from_slice(format!("\x1b[{};{}H", line + 1, start + 1).as_bytes());
            painter.again(&cell, out);
        }
        None => {
            out.extend_from_slice(format!("\x1b[{};{}H", line + 1, column + 1).as_bytes());
        }
    }
    shift.sets.write(out);
    painter.take_pen(&cursor.template, out);
}

/// Returns the glyph to be printed again before a cursor, and its column.
///
/// Where nothing is painted yet a blank one stands in for the last of a full row.
fn glyph_before(cursor: &Cursor<Cell>, grid: Option<&Grid<Cell>>) -> Option<(usize, Cell)> {
    let column = cursor.point.column.0;
    let Some(grid) = grid else {
        return cursor.input_needs_wrap.then(|| (column, Cell::default()));
    };
    let end = column + usize::from(cursor.input_needs_wrap);
    let row = &grid[cursor.point.line];
    let mut start = end.checked_sub(1)?;
    if row[Column(start)].flags.contains(Flags::WIDE_CHAR_SPACER) {
        start = start.checked_sub(1)?;
    }
    let cell = row[Column(start)].clone();
    if cell.flags.contains(Flags::WIDE_CHAR) && end < start + 2 {
        return None;
    }
    // A blank before the cursor was most likely never printed, and a wide glyph at the start of a line
    // would lose, in alacritty, the blank that it left behind at the margin.
    let is_wide_at_start = start == 0 && cell.flags.contains(Flags::WIDE_CHAR);
    let is_needed = cursor.input_needs_wrap || (cell != Cell::default() && !is_wide_at_start);
    is_needed.then_some((start, cell))
}
