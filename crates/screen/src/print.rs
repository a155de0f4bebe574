//! How characters enter the screen.
//!
//! Text is read here and not by the parser, which hands over one character at a time: most of what
//! programs write are runs of plain letters, and a run is written into its row at once.

use alacritty_terminal::{
    index::{Column, Line, Point},
    term::cell::{Cell, Flags},
};
use unicode_width::UnicodeWidthChar;
use vocab::limits::SCREEN_MARKS_MAX;

use crate::{
    edit::{self, MARGIN},
    modes::Mode,
    sets::Set,
    terminal::Terminal,
};

impl Terminal {
    /// Reads text and control characters.
    pub(crate) fn text(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            let kind = Kind::of(*first);
            let n_bytes = match kind {
                Kind::Plain => n_plain(rest),
                Kind::Control | Kind::Other => {
                    rest.iter().position(|byte| Kind::of(*byte) != kind).unwrap_or(rest.len())
                }
            };
            let (run, later) = rest.split_at(n_bytes);
            rest = later;
            match kind {
                Kind::Plain => self.plain(run),
                Kind::Control => run.iter().for_each(|byte| self.control(*byte)),
                Kind::Other => self.other(run),
            }
        }
    }

    /// Writes printable ASCII.
    fn plain(&mut self, mut run: &[u8]) {
        if self.sets.current() != Set::Ascii || self.modes.has(Mode::Insert) {
            return run.iter().for_each(|byte| self.put(char::from(*byte)));
        }
        while !run.is_empty() {
            if self.grid.cursor.input_needs_wrap && self.modes.has(Mode::Wrap) {
                self.wrap(Flags::WRAPLINE);
            }
            let n_cells = run.len().min(self.n_columns() - self.column());
            let (now, later) = run.split_at(n_cells);
            run = later;
            self.plain_cells(now);
            self.advance(n_cells);
        }
    }

    /// Writes letters into cells of one row.
    fn plain_cells(&mut self, letters: &[u8]) {
        let Point { line, column } = self.grid.cursor.point;
        let end = column + letters.len();
        for edge in [column, end - 1] {
            let flags = self.grid[line][edge].flags;
            if flags.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER) {
                self.free_other_half(line, edge, flags);
            }
        }
        let pen = &self.grid.cursor.template;
        let pen =
            Cell { c: ' ', fg: pen.fg, bg: pen.bg, flags: pen.flags, extra: pen.extra.clone() };
        let cells = &mut self.grid[line][column..end];
        for (cell, letter) in cells.iter_mut().zip(letters) {
            cell.c = char::from(*letter);
            cell.fg = pen.fg;
            cell.bg = pen.bg;
            cell.flags = pen.flags;
            if cell.extra.is_some() || pen.extra.is_some() {
                cell.extra.clone_from(&pen.extra);
            }
        }
    }

    /// Writes everything that is not ASCII; what is malformed is shown as such.
    fn other(&mut self, run: &[u8]) {
        for chunk in run.utf8_chunks() {
            for character in chunk.valid().chars() {
                self.put(character);
            }
            // Single bytes that were control characters before UTF-8 are no text either.
            if !matches!(chunk.invalid(), [] | [0x80..=0x9f]) {
                self.put(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Writes a character at the cursor.
    pub(crate) fn put(&mut self, character: char) {
        let n_cells = match character {
            ' '..='~' => 1,
            _ => match character.width() {
                None => return,
                Some(0) => return self.mark(character),
                Some(n_cells) => n_cells,
            },
        };
        let wraps = self.modes.has(Mode::Wrap);
        if self.grid.cursor.input_needs_wrap && wraps {
            self.wrap(Flags::WRAPLINE);
        }
        let n_columns = self.n_columns();
        if n_cells == 2 && n_columns <= self.column() + 1 {
            if !wraps {
                self.grid.cursor.input_needs_wrap = true;
                return;
            }
            // A wide glyph does not fit into the last cell: that one stays empty and belongs to it.
            self.write(' ', Flags::empty());
            self.wrap(MARGIN);
        }
        if self.modes.has(Mode::Insert) && self.column() + n_cells < n_columns {
            self.insert_cells(n_cells);
        }
        if n_cells == 2 {
            self.write(character, Flags::WIDE_CHAR);
            self.grid.cursor.point.column += 1;
            self.write(' ', Flags::WIDE_CHAR_SPACER);
        } else {
            self.write(self.sets.current().map(character), Flags::empty());
        }
        self.advance(1);
    }

    /// Moves behind what was written; behind the last cell is still on it, and about to wrap.
    fn advance(&mut self, n_cells: usize) {
        let column = self.column() + n_cells;
        let last = self.n_columns() - 1;
        self.grid.cursor.point.column = Column(column.min(last));
        self.grid.cursor.input_needs_wrap = last < column;
    }

    /// Adds a mark to the glyph before the cursor.
    fn mark(&mut self, mark: char) {
        let mut column = self.column();
        if !self.grid.cursor.input_needs_wrap {
            column = column.saturating_sub(1);
        }
        let line = self.grid.cursor.point.line;
        let row = &mut self.grid[line];
        if row[Column(column)].flags.contains(Flags::WIDE_CHAR_SPACER) {
            column = column.saturating_sub(1);
        }
        let cell = &mut row[Column(column)];
        if cell.zerowidth().map_or(0, <[char]>::len) < SCREEN_MARKS_MAX {
            cell.push_zerowidth(mark);
        }
    }

    /// Writes one cell with the pen as it is, and frees the other half of a wide glyph that stood there.
    fn write(&mut self, character: char, kind: Flags) {
        let Point { line, column } = self.grid.cursor.point;
        let old = self.grid[line][column].flags;
        if old.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER) {
            self.free_other_half(line, column, old);
        }
        let pen = &self.grid.cursor.template;
        let (fg, bg, flags, extra) = (pen.fg, pen.bg, pen.flags, pen.extra.clone());
        let cell = &mut self.grid[line][column];
        cell.c = character;
        cell.fg = fg;
        cell.bg = bg;
        cell.flags = flags | kind;
        cell.extra = extra;
    }

    fn free_other_half(&mut self, line: Line, column: Column, old: Flags) {
        let row = &mut self.grid[line];
        if old.contains(Flags::WIDE_CHAR) && column.0 + 1 < row.len() {
            row[column + 1].flags.remove(Flags::WIDE_CHAR_SPACER);
        } else if old.contains(Flags::WIDE_CHAR_SPACER) && 0 < column.0 {
            edit::clear_glyph(&mut row[column - 1]);
        }
    }

    /// Goes on at the next line, and remembers that the line was not ended by the program.
    fn wrap(&mut self, margin: Flags) {
        let line = self.line();
        let scrolls = line + 1 == self.frame.region.end;
        if scrolls && self.frame.region.len() == 1 {
            // It becomes history at once.
            self.grid.cursor_cell().flags.insert(margin);
        }
        self.line_feed();
        // The row that was left stands one above now, unless it had no room to go: in a region of one
        // line, and below the region, where nothing scrolls, it goes on nowhere.
        let has_moved = if scrolls { 1 < self.frame.region.len() } else { line < self.line() };
        if has_moved {
            let last = Column(self.n_columns() - 1);
            let above = Line::from(self.line() - 1);
            let row = &mut self.grid[above];
            row[last].flags.insert(margin);
        }
        self.grid.cursor.point.column = Column(0);
        self.grid.cursor.input_needs_wrap = false;
    }
}

/// Returns how many of the first bytes are printable ASCII.
pub(crate) fn n_plain(bytes: &[u8]) -> usize {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
    // Sixteen are looked at together.
    let is_all_plain = |block: &&[u8]| block.iter().fold(true, |all, byte| all & is_plain(byte));
    let n_together = bytes.chunks_exact(16).take_while(is_all_plain).count() * 16;
    n_together + bytes[n_together..].iter().take_while(|byte| is_plain(byte)).count()
}

/// What a byte of text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Control,
    Other,
}

impl Kind {
    fn of(byte: u8) -> Self {
        match byte {
            b' '..=b'~' => Self::Plain,
            0..=0x1f | 0x7f => Self::Control,
            0x80..=0xff => Self::Other,
        }
    }
}
