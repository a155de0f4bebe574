//! Lines that scroll past faster than anybody could look: they become history without having been cells.
//!
//! Where a program has written more whole lines than the screen holds, all but the last of them have left it
//! once they are read. To draw them only to read them off again would cost several times as much.
//!
//! Only what nearly all of a flood consists of goes this way: lines of letters that fit into a row, with tabs
//! and colors. Everything else is drawn, and whatever comes out here is what drawing would have given.

use alacritty_terminal::{
    index::{Column, Line},
    term::cell::{Cell, Flags},
};

use crate::{modes::Mode, paint, print, sets::Set, sgr, tail::ESC, terminal::Terminal};

/// More numbers than programs write at once. A sequence of more is read by the parser.
const NUMBERS_MAX: usize = 16;

/// The numbers of a sequence that changes the pen.
#[derive(Debug, Default)]
pub(crate) struct Graphics {
    numbers: [u16; NUMBERS_MAX],
    n_numbers: usize,
    /// With its final letter.
    n_bytes: usize,
}

impl Graphics {
    /// Reads a sequence behind its introducer; none if it is not whole, not plain, or another one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut graphics = Self::default();
        for byte in bytes {
            graphics.n_bytes += 1;
            let number = graphics.numbers.get_mut(graphics.n_numbers)?;
            match byte {
                b'0'..=b'9' => {
                    *number = number.checked_mul(10)?.checked_add(u16::from(byte - b'0'))?;
                }
                b';' => graphics.n_numbers += 1,
                b'm' => {
                    graphics.n_numbers += 1;
                    return Some(graphics);
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns how many bytes it has.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Changes a pen.
    pub(crate) fn apply(&self, pen: &mut Cell) {
        sgr::apply(self.numbers[..self.n_numbers].chunks(1), pen);
    }
}

/// A part of a line.
enum Piece<'a> {
    Letters(&'a [u8], &'a Cell),
    /// So many cells that a tab has passed over.
    Untouched(usize),
}

impl Terminal {
    /// Takes the lines at the start of what was written that would have left the screen before all of it is
    /// read, and returns how many bytes they are. What follows them has to be read at once.
    pub(crate) fn flood(&mut self, bytes: &[u8]) -> usize {
        let n_kept = self.n_lines() - 1;
        if !self.can_flood() {
            return 0;
        }
        let Some(n_gone @ 1..) = self.n_plain_lines(bytes).checked_sub(n_kept) else { return 0 };
        for line in 0..n_kept {
            self.capture(line);
        }
        let mut n_bytes = 0;
        let pen = &mut self.grid.cursor.template;
        for _ in 0..n_gone {
            self.history.push_line(|painter, out| {
                let mut n_blanks = 0;
                let line = &bytes[n_bytes..];
                let show = |piece: Piece<'_>| match piece {
                    Piece::Letters(letters, pen) => {
                        painter.letters(letters, pen, &mut n_blanks, out);
                    }
                    Piece::Untouched(n_cells) => n_blanks += n_cells,
                };
                n_bytes += read_line(line, &self.frame.tabs, pen, show).unwrap_or(0);
            });
        }
        // The last ones are drawn on a screen that is empty again.
        self.grid.scroll_up(&(Line(0)..Line::from(n_kept + 1)), n_kept);
        self.place(0, 0);
        n_bytes
    }

    /// Tells whether the next line begins on an empty row at the end of a screen that scrolls as a whole.
    fn can_flood(&self) -> bool {
        let n_lines = self.n_lines();
        let is_at_end = self.below.is_none()
            && self.frame.region == (0..n_lines)
            && 1 < n_lines
            && self.line() + 1 == n_lines
            && self.column() == 0
            && !self.grid.cursor.input_needs_wrap;
        if !is_at_end || self.sets.current() != Set::Ascii || self.modes.has(Mode::Insert) {
            return false;
        }
        let last = Column(self.n_columns() - 1);
        let goes_on = self.grid[Line::from(n_lines - 2)][last].flags.contains(Flags::WRAPLINE);
        let is_fresh = paint::n_occupied(&self.grid[Line::from(n_lines - 1)]) == 0;
        !goes_on && is_fresh && paint::has_usual_background(&self.grid.cursor.template)
    }

    /// Returns how many of the first lines are plain ones.
    fn n_plain_lines(&self, bytes: &[u8]) -> usize {
        let mut pen = self.grid.cursor.template.clone();
        let (mut n_lines, mut rest) = (0, bytes);
        loop {
            let n_bytes = read_line(rest, &self.frame.tabs, &mut pen, |_| ());
            // Another background would fill the row that comes up.
            let Some(n_bytes) = n_bytes.filter(|_| paint::has_usual_background(&pen)) else {
                return n_lines;
            };
            n_lines += 1;
            rest = &rest[n_bytes..];
        }
    }
}

/// Reads a line of letters, tabs and colors that begins at the margin, and returns how many bytes it has; none
/// if it is not whole or not plain.
fn read_line(
    bytes: &[u8],
    tabs: &[bool],
    pen: &mut Cell,
    mut show: impl FnMut(Piece<'_>),
) -> Option<usize> {
    let (mut at, mut column) = (0, 0);
    loop {
        let n_letters = print::n_plain(&bytes[at..]);
        if 0 < n_letters {
            column += n_letters;
            if tabs.len() < column {
                return None;
            }
            show(Piece::Letters(&bytes[at..at + n_letters], pen));
            at += n_letters;
        }
        match &bytes[at..] {
            [b'\r', b'\n', ..] => return Some(at + 2),
            [b'\t', ..] => {
                // Where there is no other stop, the margin is one that is not passed.
                let n_cells = tabs.get(column + 1..)?.iter().position(|is_stop| *is_stop)? + 1;
                show(Piece::Untouched(n_cells));
                (at, column) = (at + 1, column + n_cells);
            }
            [ESC, b'[', sequence @ ..] => {
                let graphics = Graphics::read(sequence)?;
                graphics.apply(pen);
                at += 2 + graphics.n_bytes();
            }
            _ => return None,
        }
    }
}
