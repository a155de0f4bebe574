//! What changes many cells at once: scrolling, erasing, inserting and deleting.
//!
//! Half a wide glyph is never left behind: no sequence could draw it again elsewhere.

use std::ops::Range;

use alacritty_terminal::{
    grid::{Dimensions, Grid, Row},
    index::{Column, Line},
    term::cell::{Cell, Flags},
};

use crate::terminal::Terminal;

/// What the last cell of a row tells about the next row.
pub(crate) const MARGIN: Flags = Flags::WRAPLINE.union(Flags::LEADING_WIDE_CHAR_SPACER);

impl Terminal {
    /// Moves the region's text up. Rows that leave the main screen at its top become history.
    pub(crate) fn scroll_up(&mut self, n_lines: usize) {
        let region = self.frame.region.clone();
        let n_lines = n_lines.min(region.len());
        if region.start == 0 && self.below.is_none() {
            for line in 0..n_lines {
                self.capture(line);
            }
        }
        if region.start != 0 {
            self.part_before(region.start);
        }
        self.move_up(region, n_lines);
    }

    /// Hands a row that is about to leave to the history.
    pub(crate) fn capture(&mut self, line: usize) {
        let line = Line::from(line);
        let has_next =
            line.0 + 1 < i32::from(self.frame.size.lines()) && 1 < self.frame.region.len();
        let next = has_next.then(|| &self.grid[line + 1]);
        self.history.push(&self.grid[line], next);
    }

    pub(crate) fn scroll_down(&mut self, n_lines: usize) {
        self.move_down(self.frame.region.clone(), n_lines);
    }

    fn move_up(&mut self, lines: Range<usize>, n_lines: usize) {
        let n_lines = n_lines.min(lines.len());
        if 0 < n_lines {
            if n_lines < lines.len() {
                self.part_before(lines.end);
            }
            self.grid.scroll_up(&grid_lines(&lines), n_lines);
        }
    }

    fn move_down(&mut self, lines: Range<usize>, n_lines: usize) {
        let n_lines = n_lines.min(lines.len());
        if 0 < n_lines {
            self.part_before(lines.start);
            self.part_before(lines.end - n_lines);
            self.part_before(lines.end);
            self.grid.scroll_down(&grid_lines(&lines), n_lines);
        }
    }

    /// Ends the line above, since what it went on with will stand elsewhere.
    fn part_before(&mut self, line: usize) {
        match line.checked_sub(1) {
            Some(above) => {
                let last = Column(self.n_columns() - 1);
                self.grid[Line::from(above)][last].flags.remove(MARGIN);
            }
            None if self.below.is_none() => self.history.end_line(),
            None => (),
        }
    }

    /// Inserts lines at the cursor; the region's last ones fall out.
    pub(crate) fn insert_lines(&mut self, n_lines: usize) {
        if self.frame.region.contains(&self.line()) {
            self.move_down(self.line()..self.frame.region.end, n_lines);
        }
    }

    /// Deletes lines at the cursor. They are no history, since the program took them away itself.
    pub(crate) fn delete_lines(&mut self, n_lines: usize) {
        if self.frame.region.contains(&self.line()) {
            self.part_before(self.line());
            self.move_up(self.line()..self.frame.region.end, n_lines);
        }
    }

    /// Makes room at the cursor; what is pushed over the margin is lost.
    pub(crate) fn insert_cells(&mut self, n_cells: usize) {
        let (start, end) = (self.column(), self.n_columns());
        let n_cells = n_cells.min(end - start);
        self.with_row(|row, blank| {
            row[Column(start)..Column(end)].rotate_right(n_cells);
            fill(row, start..start + n_cells, blank);
        });
    }

    /// Deletes cells at the cursor and draws the rest of the line up.
    pub(crate) fn delete_cells(&mut self, n_cells: usize) {
        let (start, end) = (self.column(), self.n_columns());
        let n_cells = n_cells.min(end - start);
        self.with_row(|row, blank| {
            row[Column(start)..Column(end)].rotate_left(n_cells);
            fill(row, end - n_cells..end, blank);
        });
    }

    pub(crate) fn erase_cells(&mut self, n_cells: usize) {
        let start = self.column();
        let end = (start + n_cells).min(self.n_columns());
        self.with_row(|row, blank| fill(row, start..end, blank));
    }

    /// Erases in the cursor's line: what is right of it, left of it, or all.
    pub(crate) fn erase_line(&mut self, what: u16) {
        let (column, n_columns) = (self.column(), self.n_columns());
        let columns = match what {
            // A cursor that is about to wrap stands behind the last cell.
            0 if self.grid.cursor.input_needs_wrap => return,
            0 => column..n_columns,
            1 => 0..column + 1,
            2 => 0..n_columns,
            _ => return,
        };
        self.with_row(|row, blank| fill(row, columns, blank));
    }

    /// Erases on the screen: below the cursor, above it, all, or the scrollback.
    ///
    /// Text that is erased does not become history: programs that draw frames on the main screen would
    /// fill it with copies of themselves.
    pub(crate) fn erase_screen(&mut self, what: u16) {
        let (line, n_lines) = (self.line(), self.n_lines());
        match what {
            0 => {
                let columns = self.column()..self.n_columns();
                self.with_row(|row, blank| fill(row, columns, blank));
                self.erase_lines(line + 1..n_lines);
            }
            1 => {
                self.erase_line(1);
                self.erase_lines(0..line);
            }
            2 => self.erase_lines(0..n_lines),
            3 => self.history.clear(),
            _ => (),
        }
    }

    fn erase_lines(&mut self, lines: Range<usize>) {
        if !lines.is_empty() {
            self.grid.reset_region(grid_lines(&lines));
        }
    }

    /// Fills the screen with the letter E (DECALN).
    pub(crate) fn fill_with_e(&mut self) {
        for line in 0..self.n_lines() {
            let row = &mut self.grid[Line::from(line)];
            for column in 0..row.len() {
                row[Column(column)] = Cell { c: 'E', ..Cell::default() };
            }
        }
        self.frame.region = 0..self.n_lines();
        self.place(0, 0);
    }

    /// Changes the cursor's row and mends what the change has torn apart.
    fn with_row(&mut self, change: impl FnOnce(&mut Row<Cell>, &Cell)) {
        let blank = Cell { bg: self.grid.cursor.template.bg, ..Cell::default() };
        let line = self.grid.cursor.point.line;
        let row = &mut self.grid[line];
        change(row, &blank);
        mend(row);
    }
}

fn fill(row: &mut Row<Cell>, columns: Range<usize>, blank: &Cell) {
    row[Column(columns.start)..Column(columns.end)].fill(blank.clone());
}

fn grid_lines(lines: &Range<usize>) -> Range<Line> {
    Line::from(lines.start)..Line::from(lines.end)
}

/// Blanks halves of wide glyphs, and takes away marks of the margin that are no longer at it.
pub(crate) fn mend(row: &mut Row<Cell>) {
    let n_columns = row.len();
    for column in 0..n_columns {
        let flags = row[Column(column)].flags;
        let is_last = column + 1 == n_columns;
        if flags.intersects(MARGIN) && !(is_last && flags.contains(Flags::WRAPLINE)) {
            row[Column(column)].flags.remove(MARGIN);
        }
        if flags.contains(Flags::WIDE_CHAR) {
            let has_spacer =
                !is_last && row[Column(column + 1)].flags.contains(Flags::WIDE_CHAR_SPACER);
            if !has_spacer {
                clear_glyph(&mut row[Column(column)]);
            }
        } else if flags.contains(Flags::WIDE_CHAR_SPACER) {
            let has_glyph = 0 < column && row[Column(column - 1)].flags.contains(Flags::WIDE_CHAR);
            if !has_glyph {
                row[Column(column)].flags.remove(Flags::WIDE_CHAR_SPACER);
            }
        }
    }
}

/// Takes a wide glyph and its marks out of a cell, and leaves how the cell is drawn.
pub(crate) fn clear_glyph(cell: &mut Cell) {
    let (underline, link) = (cell.underline_color(), cell.hyperlink());
    cell.c = ' ';
    cell.flags.remove(Flags::WIDE_CHAR);
    cell.extra = None;
    cell.set_underline_color(underline);
    cell.set_hyperlink(link);
}

/// Mends every row of a screen and of the history above it.
pub(crate) fn mend_all(grid: &mut Grid<Cell>) {
    for line in grid.topmost_line().0..=grid.bottommost_line().0 {
        let row = &mut grid[Line(line)];
        mend(row);
        // A row remembers how far it was written to, and later clears no more. A resize leaves cells
        // behind that mark; reaching for the last one moves it.
        let n_columns = row.len();
        _ = &mut row[Column(n_columns - 1)];
    }
}
