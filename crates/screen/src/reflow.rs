//! Another size: the main screen is wrapped anew together with its youngest history, the alternate one is
//! cut, since its program draws it again.
//!
//! Lines deeper in the history need nothing: they are stored unwrapped.

use alacritty_terminal::{
    grid::{Cursor, Dimensions, Grid},
    index::{Column, Line},
    term::cell::{Cell, Flags},
    vte::Parser,
};

use crate::{
    edit::{self, MARGIN},
    history::History,
    links::Links,
    sgr,
    size::Size,
    terminal::Terminal,
};

/// Rows of history that a grid may hold while it is being resized.
const ROWS_MAX: usize = 1 << 20;

impl Terminal {
    pub(crate) fn resize(&mut self, size: Size) {
        let old = self.frame.size;
        let blank = || Grid::new(1, 2, 0);
        match &mut self.below {
            None => {
                let grid = std::mem::replace(&mut self.grid, blank());
                self.grid = rewrap(grid, &mut self.history, &mut self.links, [old, size]);
            }
            Some(below) => {
                let is_saved = below.grid.saved_cursor == below.grid.cursor;
                let grid = std::mem::replace(&mut below.grid, blank());
                below.grid = rewrap(grid, &mut self.history, &mut self.links, [old, size]);
                // The cursor to come back to has moved with its text.
                if is_saved {
                    below.grid.saved_cursor = below.grid.cursor.clone();
                }
                self.grid.resize(false, size.n_lines(), size.n_columns());
                settle(&mut self.grid, size);
            }
        }
        self.frame.resize(size);
    }
}

/// Wraps a screen at a new size; what does not fit becomes history, and what fits again comes back from it.
fn rewrap(
    mut grid: Grid<Cell>,
    history: &mut History,
    links: &mut Links,
    [old, new]: [Size; 2],
) -> Grid<Cell> {
    let first = grid[Line(0)][Column(0)].clone();
    let lines = history.pop(old.n_lines().max(new.n_lines()), &first);
    let mut tall = with_history(old, &lines, &first, links);
    for line in 0..old.n_lines() {
        let line = Line::from(line);
        std::mem::swap(&mut tall[line], &mut grid[line]);
    }
    tall.cursor = grid.cursor;
    tall.saved_cursor = grid.saved_cursor;
    tall.resize(true, new.n_lines(), new.n_columns());
    edit::mend_all(&mut tall);
    tint_spacers(&mut tall);
    for above in (1..=tall.history_size()).rev() {
        let line = Line::from(0_usize) - above;
        history.push(&tall[line], Some(&tall[line + 1]));
    }
    tall.update_history(0);
    tall.truncate();
    settle(&mut tall, new);
    tall
}

/// Returns an empty screen with lines laid out above it.
fn with_history(size: Size, lines: &[u8], first: &Cell, links: &mut Links) -> Grid<Cell> {
    let mut scratch = Terminal::new(size);
    scratch.grid.update_history(ROWS_MAX);
    std::mem::swap(&mut scratch.links, links);
    let mut parser = Parser::new();
    let n_whole = memchr::memchr_iter(b'\n', lines).count();
    for (index, line) in lines.split(|byte| *byte == b'\n').enumerate() {
        parser.advance(&mut scratch, line);
        if index < n_whole {
            parser.advance(&mut scratch, b"\r\n");
        }
    }
    std::mem::swap(&mut scratch.links, links);
    if lines.last().is_some_and(|byte| *byte != b'\n') {
        // What goes on at the screen's top decides how the row above ends.
        let place = |scratch: &Terminal| scratch.grid.history_size() + scratch.line();
        let before = place(&scratch);
        scratch.grid.cursor.template = Cell { c: ' ', ..first.clone() };
        scratch.grid.cursor.template.flags = sgr::pen_flags(first.flags);
        scratch.put(first.c);
        if place(&scratch) == before {
            parser.advance(&mut scratch, b"\r\n");
        }
    }
    scratch.scroll_up(scratch.line());
    scratch.grid
}

/// Draws the blanks before wide glyphs as printing would have: wrapping anew has left them plain.
fn tint_spacers(grid: &mut Grid<Cell>) {
    let last = Column(grid.columns() - 1);
    for line in grid.topmost_line().0..grid.bottommost_line().0 {
        let glyph = &grid[Line(line + 1)][Column(0)];
        let flags = grid[Line(line)][last].flags;
        if flags.contains(Flags::LEADING_WIDE_CHAR_SPACER) && glyph.flags.contains(Flags::WIDE_CHAR)
        {
            let mut spacer = Cell { c: ' ', extra: None, ..glyph.clone() };
            spacer.set_underline_color(glyph.underline_color());
            spacer.set_hyperlink(glyph.hyperlink());
            spacer.flags = sgr::pen_flags(glyph.flags) | flags;
            grid[Line(line)][last] = spacer;
        }
    }
}

/// Makes sure of what the rest of the terminal relies on, whatever the resize has left.
fn settle(grid: &mut Grid<Cell>, size: Size) {
    edit::mend_all(grid);
    let last_line = Line::from(size.n_lines() - 1);
    let last_column = Column(size.n_columns() - 1);
    grid[last_line][last_column].flags.remove(MARGIN);
    let clamp = |cursor: &mut Cursor<Cell>| {
        cursor.point.line = cursor.point.line.max(Line(0)).min(last_line);
        cursor.point.column = cursor.point.column.min(last_column);
        cursor.input_needs_wrap &= cursor.point.column == last_column;
    };
    clamp(&mut grid.cursor);
    clamp(&mut grid.saved_cursor);
    if grid.cursor.input_needs_wrap {
        grid.cursor_cell().flags.remove(MARGIN);
    }
}
