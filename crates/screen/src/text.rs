//! The screen and its scrollback as plain text, for files, searches and rules.
//!
//! No colors, no positions: what a person would copy.

use alacritty_terminal::{
    grid::{Grid, Row},
    index::{Column, Line},
    term::cell::{Cell, Flags},
};

use crate::mirror::Mirror;

impl Mirror {
    /// Returns the lines of the screen shown, without blanks at their ends.
    pub fn screen_text(&self) -> Vec<String> {
        let n_lines = self.terminal.n_lines();
        (0..n_lines).map(|line| row_text(&self.terminal.grid, Line::from(line))).collect()
    }

    /// Returns the lines that have left the main screen, the oldest first.
    pub fn history_text(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.terminal.history.each_line(|line| lines.push(without_escapes(line)));
        let (open, _) = self.terminal.history.open();
        if !open.is_empty() {
            lines.push(without_escapes(open));
        }
        lines
    }

    /// Returns the screen shown as what was written: rows that the terminal has broken are one line again.
    pub fn whole_screen_text(&self) -> Vec<String> {
        let n_lines = self.terminal.n_lines();
        let mut lines = Vec::new();
        let mut line = String::new();
        for row in (0..n_lines).map(Line::from) {
            let row = &self.terminal.grid[row];
            row_letters(row, &mut line);
            let is_broken = row.last().is_some_and(|cell| cell.flags.contains(Flags::WRAPLINE));
            if !is_broken {
                lines.push(without_blanks(std::mem::take(&mut line)));
            }
        }
        if !line.is_empty() {
            lines.push(without_blanks(line));
        }
        lines
    }

    /// Returns everything that was written and is still kept, as [`Self::whole_screen_text`] does: what has left
    /// the main screen, then the screen shown.
    pub fn whole_text(&self) -> Vec<String> {
        self.styled_lines().iter().map(|line| without_escapes(line)).collect()
    }

    /// Returns all lines with their colors and links, as text with escapes: those that have left the main
    /// screen, then those of the screen shown. Each line begins and ends plain, and nothing in it moves the
    /// cursor.
    pub fn styled_lines(&self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let terminal = &self.terminal;
        terminal.history.each_line(|line| lines.push(line.to_vec()));
        let (open, mut painter) = terminal.history.open();
        let mut line = open.to_vec();
        if terminal.below.is_some() && painter.is_inside_line() {
            // What goes on from there is on the screen below.
            painter.break_line(&mut line);
            lines.push(std::mem::take(&mut line));
        }
        let n_lines = terminal.n_lines();
        for row in 0..n_lines {
            let next = (row + 1 < n_lines).then(|| &terminal.grid[Line::from(row + 1)]);
            painter.row(&terminal.grid[Line::from(row)], next, &mut line);
            if !painter.is_inside_line() {
                lines.push(std::mem::take(&mut line));
            }
        }
        if painter.is_inside_line() {
            painter.end_line(&mut line);
            lines.push(line);
        }
        lines
    }

    /// Returns how many lines have left the main screen and are still kept.
    pub fn n_history_lines(&self) -> usize {
        self.terminal.history.n_lines()
    }
}

fn row_text(grid: &Grid<Cell>, line: Line) -> String {
    let mut text = String::new();
    row_letters(&grid[line], &mut text);
    without_blanks(text)
}

/// Adds the letters of a row to a text, blanks at its end too.
fn row_letters(row: &Row<Cell>, text: &mut String) {
    for column in 0..row.len() {
        let cell = &row[Column(column)];
        let spacers = Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER;
        if !cell.flags.intersects(spacers) {
            text.push(cell.c);
            text.extend(cell.zerowidth().into_iter().flatten());
        }
    }
}

fn without_blanks(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    text
}

/// Takes the escapes out of a line of history, which holds attributes and links only.
fn without_escapes(line: &[u8]) -> String {
    let mut text = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = memchr::memchr(0x1b, rest) {
        text.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let n_escape = match rest.get(1) {
            Some(b'[') => {
                rest.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)).map(|n| n + 3)
            }
            _ => rest.windows(2).position(|pair| pair == b"\x1b\\").map(|n| n + 2),
        };
        rest = &rest[n_escape.unwrap_or(rest.len())..];
    }
    text.extend_from_slice(rest);
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text.truncate(text.trim_end().len());
    text
}
