//! A mirror's screen on a terminal of another size: as much of it as there is room for, where the cursor is.
//!
//! Only the picture is cut. What decides how the terminal tells keys, the mouse and pastes is set as it is for
//! a terminal of the same size. Not here: scrollback, and where the mouse is on the larger screen.

use alacritty_terminal::{
    grid::Row,
    index::{Column, Line},
    term::cell::{Cell, Flags},
};

use crate::{
    mirror::Mirror,
    paint::Painter,
    resets::{self, Levels},
    size::Size,
    terminal::Terminal,
};

/// So that a terminal which knows that shows all of it at once.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
/// Clears what a shorter row leaves of a line.
const TO_THE_MARGIN: &[u8] = b"\x1b[K";

/// A terminal that shows a part.
#[derive(Debug)]
pub struct Window {
    size: Size,
    /// None before the first picture.
    shown: Option<Shown>,
}

/// What the terminal was told last.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shown {
    is_alternate: bool,
    labels: Vec<u8>,
    settings: Vec<u8>,
    lines: Vec<Vec<u8>>,
    cursor: Vec<u8>,
}

impl Window {
    /// Returns a terminal of that size that may show anything yet. Its own title lies on its stack, where the
    /// client has put it with [`crate::KEEP_TITLE`].
    pub fn new(size: Size) -> Self {
        Self { size, shown: None }
    }

    /// Returns what makes the terminal show the mirror's screen as it is now; nothing where it does.
    pub fn paint(&mut self, mirror: &Mirror) -> Vec<u8> {
        let next = Shown::of(&mirror.terminal, self.size);
        if self.shown.as_ref() == Some(&next) {
            return Vec::new();
        }
        let mut out = BEGIN.to_vec();
        let shown = self.shown.take().unwrap_or_else(|| {
            resets::write(Levels::UNKNOWN, &mut out);
            out.extend_from_slice(&resets::retitle());
            // Both end the frame that was begun.
            out.extend_from_slice(BEGIN);
            out.extend_from_slice(b"\x1b[H\x1b[2J");
            Shown::default()
        });
        next.write(&shown, &mut out);
        out.extend_from_slice(END);
        self.shown = Some(next);
        out
    }
}

impl Shown {
    fn of(terminal: &Terminal, size: Size) -> Self {
        let is_alternate = terminal.below.is_some();
        let (mut labels, mut settings) = (Vec::new(), Vec::new());
        terminal.labels.write(&mut labels);
        terminal.keyboards[usize::from(is_alternate)].write(&mut settings);
        terminal.modes.write(&mut settings);
        let top = corner(terminal.line(), size.n_lines(), terminal.n_lines());
        let left = corner(terminal.column(), size.n_columns(), terminal.n_columns());
        let lines = (top..top + size.n_lines()).map(|line| match line < terminal.n_lines() {
            true => row(&terminal.grid[Line::from(line)], left, size.n_columns()),
            false => TO_THE_MARGIN.to_vec(),
        });
        let (line, column) = (terminal.line() - top, terminal.column() - left);
        let cursor = format!("\x1b[{};{}H", line + 1, column + 1).into_bytes();
        Self { is_alternate, labels, settings, lines: lines.collect(), cursor }
    }

    /// Writes what differs from what the terminal was told before.
    fn write(&self, before: &Self, out: &mut Vec<u8>) {
        let has_changed = self.is_alternate != before.is_alternate;
        if has_changed {
            out.extend_from_slice(if self.is_alternate { b"\x1b[?1049h" } else { b"\x1b[?1049l" });
            out.extend_from_slice(b"\x1b[H\x1b[2J");
        }
        if self.labels != before.labels {
            out.extend_from_slice(&resets::retitle());
            out.extend_from_slice(BEGIN);
            out.extend_from_slice(resets::LABELS.as_bytes());
            out.extend_from_slice(&self.labels);
        }
        if has_changed || self.settings != before.settings {
            resets::write_switches(out);
            out.extend_from_slice(&self.settings);
        }
        for (at, line) in self.lines.iter().enumerate() {
            if has_changed || before.lines.get(at) != Some(line) {
                out.extend_from_slice(format!("\x1b[{};1H", at + 1).as_bytes());
                out.extend_from_slice(line);
            }
        }
        out.extend_from_slice(&self.cursor);
    }
}

/// Returns where the part of a screen begins in which the cursor is seen: at its beginning if it can be, else
/// so that half a window of text is passed before it moves on.
fn corner(cursor: usize, n_window: usize, n_screen: usize) -> usize {
    let Some(beyond) = cursor.checked_sub(n_window) else { return 0 };
    let step = (n_window / 2).max(1);
    ((beyond / step + 1) * step).min(n_screen.saturating_sub(n_window))
}

/// Returns so many cells of a row, from the margin to the margin.
fn row(row: &Row<Cell>, left: usize, n_columns: usize) -> Vec<u8> {
    let right = row.len().min(left + n_columns);
    let (mut painter, mut out) = (Painter::default(), Vec::new());
    for column in left..right {
        let cell = &row[Column(column)];
        let is_half = (column == left && cell.flags.contains(Flags::WIDE_CHAR_SPACER))
            || (column + 1 == right && cell.flags.contains(Flags::WIDE_CHAR));
        if is_half {
            // Half of a wide character cannot be shown.
            let flags = cell.flags.difference(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER);
            painter.again(&Cell { c: ' ', flags, extra: None, ..cell.clone() }, &mut out);
        } else {
            painter.again(cell, &mut out);
        }
    }
    painter.end_line(&mut out);
    // Behind a row that reaches the margin this would clear its last cell.
    if right - left < n_columns {
        out.extend_from_slice(TO_THE_MARGIN);
    }
    out
}
