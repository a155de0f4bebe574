//! Rows of cells as text with escapes.
//!
//! What is written contains no cursor movement: a row goes on in the next one exactly where the program's
//! text did, so that whoever reads it may wrap it at another width.

use alacritty_terminal::{
    grid::Row,
    index::Column,
    term::cell::{Cell, Flags},
    vte::ansi::{Color, NamedColor},
};

use crate::sgr::{self, Pen};

/// Writes rows one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Painter {
    pen: Pen,
    /// How the row before ended.
    joint: Joint,
}

/// How two rows hang together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Joint {
    /// The program ended the line.
    #[default]
    Ended,
    /// The text went on at the margin.
    Wrapped,
    /// It went on before the margin, since a wide glyph came.
    WrappedEarly,
}

impl Painter {
    /// Tells whether the next row continues the one before.
    pub(crate) fn is_inside_line(&self) -> bool {
        self.joint != Joint::Ended
    }

    /// Makes sure that the next row will begin at the margin, whatever its first cell has become since.
    pub(crate) fn join(&mut self, first: &Cell, out: &mut Vec<u8>) {
        if self.joint == Joint::WrappedEarly && !first.flags.contains(Flags::WIDE_CHAR) {
            out.push(b' ');
            self.joint = Joint::Wrapped;
        }
    }

    /// Writes a row. The one after it tells what the last cell of this one is for.
    pub(crate) fn row(&mut self, row: &Row<Cell>, next: Option<&Row<Cell>>, out: &mut Vec<u8>) {
        self.join(&row[Column(0)], out);
        let last = &row[Column(row.len() - 1)];
        let wraps = last.flags.contains(Flags::WRAPLINE);
        let is_tinted = self.is_inside_line() && !has_usual_background(&row[Column(0)]);
        let mut n_cells = n_occupied(row);
        if wraps {
            n_cells = row.len();
        } else if self.is_inside_line() {
            // Only a character takes the cursor over the margin, be it a blank one.
            n_cells = n_cells.max(1);
        }
        self.cells(&row[..Column(n_cells.min(row.len() - 1))], next, out);
        let n_bytes_before_last = out.len();
        if n_cells == row.len() {
            self.cells(std::slice::from_ref(last), next, out);
        }
        if wraps {
            let is_early = out.len() == n_bytes_before_last && is_spacer(last);
            self.joint = if is_early { Joint::WrappedEarly } else { Joint::Wrapped };
            return;
        }
        self.end_line(out);
        // A terminal that scrolled at the margin has filled the new row with the pen's background.
        if is_tinted && n_cells < row.len() {
            out.extend_from_slice(b"\x1b[K");
        }
    }

    fn cells(&mut self, mut cells: &[Cell], next: Option<&Row<Cell>>, out: &mut Vec<u8>) {
        // Nearly every cell of a flood is a letter drawn like the one before.
        loop {
            let n_alike = self.pen.n_alike(cells);
            let (alike, rest) = cells.split_at(n_alike);
            out.extend(alike.iter().map(|cell| cell.c as u8));
            let Some((other, rest)) = rest.split_first() else { return };
            self.cell(other, next, out);
            cells = rest;
        }
    }

    fn cell(&mut self, cell: &Cell, next: Option<&Row<Cell>>, out: &mut Vec<u8>) {
        if cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
            return;
        }
        if next.map_or(is_spacer(cell), |next| makes_room(cell, &next[Column(0)])) {
            return;
        }
        self.pen.change(cell, out);
        push(cell.c, out);
        for mark in cell.zerowidth().into_iter().flatten() {
            push(*mark, out);
        }
    }

    /// Writes letters of a line as the row that they were drawn into would be written. `n_blanks` counts what
    /// may yet turn out to be the row's blank end.
    pub(crate) fn letters(
        &mut self,
        letters: &[u8],
        pen: &Cell,
        n_blanks: &mut usize,
        out: &mut Vec<u8>,
    ) {
        let is_letter = |byte: &u8| *byte != b' ' || !is_blank(pen);
        let n_kept = letters.iter().rposition(is_letter).map_or(0, |last| last + 1);
        if 0 < n_kept {
            let n_before = std::mem::take(n_blanks);
            if 0 < n_before {
                self.pen.lay_down(out);
                out.resize(out.len() + n_before, b' ');
            }
            self.pen.change(pen, out);
            out.extend_from_slice(&letters[..n_kept]);
        }
        *n_blanks += letters.len() - n_kept;
    }

    /// Writes one cell again where the cursor stands.
    pub(crate) fn again(&mut self, cell: &Cell, out: &mut Vec<u8>) {
        self.cell(
            &Cell { flags: cell.flags.difference(Flags::WRAPLINE), ..cell.clone() },
            None,
            out,
        );
    }

    /// Takes a cell's attributes without writing it.
    pub(crate) fn take_pen(&mut self, cell: &Cell, out: &mut Vec<u8>) {
        self.pen.change(cell, out);
    }

    /// Ends a line wherever it is. Blanks that only led over the margin lead nowhere now.
    pub(crate) fn break_line(&mut self, out: &mut Vec<u8>) {
        if self.joint == Joint::WrappedEarly {
            out.push(b' ');
        }
        if self.is_inside_line() && self.pen == Pen::default() {
            let n_blanks = out.iter().rev().take_while(|byte| **byte == b' ').count();
            out.truncate(out.len() - n_blanks);
        }
        self.end_line(out);
    }

    /// Lays the pen down, as every line begins with a fresh one.
    pub(crate) fn end_line(&mut self, out: &mut Vec<u8>) {
        self.joint = Joint::Ended;
        self.pen.lay_down(out);
    }
}

fn is_spacer(cell: &Cell) -> bool {
    cell.flags.contains(Flags::WRAPLINE | Flags::LEADING_WIDE_CHAR_SPACER)
}

/// Tells whether a cell at the margin is blank only because a wide glyph had no room there: printing the
/// glyph leaves the same cell again.
pub(crate) fn makes_room(cell: &Cell, glyph: &Cell) -> bool {
    is_spacer(cell) && glyph.flags.contains(Flags::WIDE_CHAR) && sgr::is_same_pen(cell, glyph)
}

fn push(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

pub(crate) fn has_usual_background(cell: &Cell) -> bool {
    matches!(cell.bg, Color::Named(NamedColor::Background))
}

/// Tells whether a cell is as a fresh row's.
fn is_blank(cell: &Cell) -> bool {
    (cell.c == ' ')
        & cell.flags.is_empty()
        & cell.extra.is_none()
        & has_usual_background(cell)
        & matches!(cell.fg, Color::Named(NamedColor::Foreground))
}

/// Returns how many cells of a row differ from a fresh one's, counted to the last.
pub(crate) fn n_occupied(row: &Row<Cell>) -> usize {
    let cells = &row[..];
    // Most rows are short, and eight blanks are seen faster than one by one.
    let blocks = cells.rchunks_exact(8);
    let is_all_blank = |block: &&[Cell]| block.iter().fold(true, |all, cell| all & is_blank(cell));
    let n_blank = blocks.take_while(is_all_blank).count() * 8;
    let begun = &cells[..cells.len() - n_blank];
    begun.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1)
}
