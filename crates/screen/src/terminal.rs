//! The state of a terminal, its cursor and its two screens.
//!
//! The grid is alacritty's: rows, cells, rotation, reflow. Everything that a sequence can change lies
//! open here, since what is private cannot be rebuilt. A grid keeps no history of its own: a row that
//! leaves the main screen is handed to [`History`] before it goes.

use std::ops::Range;

use alacritty_terminal::{
    grid::Grid,
    index::{Column, Line, Point},
    term::cell::{Cell, Flags},
};

use crate::{
    answers::Outbox,
    edit::MARGIN,
    history::History,
    keyboard::Keyboard,
    labels::Labels,
    links::Links,
    modes::{Mode, Modes},
    sets::Sets,
    size::Size,
};

/// Blinking text: the one flag of a cell that the grid leaves free.
pub(crate) const BLINK: Flags = Flags::from_bits_retain(0x8000);

/// Where text goes within the size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) size: Size,
    /// The lines that scroll.
    pub(crate) region: Range<usize>,
    /// Whether a column is a tab stop.
    pub(crate) tabs: Vec<bool>,
}

/// What a saved cursor holds besides what the grid saves with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shift {
    /// The character sets.
    pub(crate) sets: Sets,
    /// Whether positions count from the scrolling region.
    pub(crate) origin: bool,
}

/// The main screen while the alternate one is shown.
#[derive(Debug)]
pub(crate) struct Below {
    pub(crate) grid: Grid<Cell>,
    pub(crate) saved: Shift,
    /// The number of the switch that entered: 47, 1047 or 1049.
    pub(crate) entered_by: u16,
}

/// A terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) frame: Frame,
    pub(crate) grid: Grid<Cell>,
    pub(crate) below: Option<Below>,
    pub(crate) sets: Sets,
    pub(crate) saved: Shift,
    pub(crate) modes: Modes,
    /// The main and the alternate screen's.
    pub(crate) keyboards: [Keyboard; 2],
    pub(crate) links: Links,
    pub(crate) labels: Labels,
    pub(crate) history: History,
    pub(crate) outbox: Outbox,
    /// The question of a control string that is being read.
    pub(crate) request: Vec<u8>,
}

impl Terminal {
    pub(crate) fn new(size: Size) -> Self {
        Self {
            frame: Frame::new(size),
            grid: Grid::new(size.n_lines(), size.n_columns(), 0),
            below: None,
            sets: Sets::default(),
            saved: Shift::default(),
            modes: Modes::default(),
            keyboards: Default::default(),
            links: Links::default(),
            labels: Labels::default(),
            history: History::default(),
            outbox: Outbox::default(),
            request: Vec::new(),
        }
    }

    /// Returns the line of the cursor, counted from the top of the screen.
    pub(crate) fn line(&self) -> usize {
        usize::try_from(self.grid.cursor.point.line.0).unwrap_or(0)
    }

    pub(crate) fn column(&self) -> usize {
        self.grid.cursor.point.column.0
    }

    pub(crate) fn n_columns(&self) -> usize {
        self.frame.size.n_columns()
    }

    pub(crate) fn n_lines(&self) -> usize {
        self.frame.size.n_lines()
    }

    pub(crate) fn shift(&self) -> Shift {
        Shift { sets: self.sets, origin: self.modes.has(Mode::Origin) }
    }

    /// Returns the keyboard of the screen shown.
    pub(crate) fn keyboard(&mut self) -> &mut Keyboard {
        let shown = usize::from(self.below.is_some());
        &mut self.keyboards[shown]
    }

    /// Puts the cursor somewhere on the screen; what was about to wrap no longer is.
    pub(crate) fn place(&mut self, line: usize, column: usize) {
        let line = line.min(self.n_lines() - 1);
        let column = column.min(self.n_columns() - 1);
        self.grid.cursor.point = Point::new(Line::from(line), Column(column));
        self.grid.cursor.input_needs_wrap = false;
    }

    /// Goes one line down, scrolling at the end of the region.
    pub(crate) fn line_feed(&mut self) {
        let next = self.line() + 1;
        self.grid.cursor.input_needs_wrap = false;
        if next == self.frame.region.end {
            self.scroll_up(1);
        } else if next < self.n_lines() {
            self.grid.cursor.point.line += 1;
        }
    }

    /// Saves the cursor, its pen and its character sets.
    pub(crate) fn save_cursor(&mut self) {
        self.grid.saved_cursor = self.grid.cursor.clone();
        self.saved = self.shift();
    }

    /// Takes back what was saved.
    pub(crate) fn restore_cursor(&mut self) {
        self.grid.cursor = self.grid.saved_cursor.clone();
        self.sets = self.saved.sets;
        self.modes.put(Mode::Origin, self.saved.origin);
        if self.saved.origin {
            let Range { start, end } = self.frame.region;
            self.grid.cursor.point.line = Line::from(self.line().clamp(start, end - 1));
        }
        self.settle_wrap();
    }

    /// Makes the cursor's row one that has not wrapped, where the cursor is about to wrap: it has come there
    /// by another way than by printing, and the next character decides anew.
    pub(crate) fn settle_wrap(&mut self) {
        if self.grid.cursor.input_needs_wrap {
            self.grid.cursor_cell().flags.remove(MARGIN);
        }
    }

    /// Shows the alternate screen, empty.
    pub(crate) fn enter_alternate(&mut self, entered_by: u16) {
        if self.below.is_some() {
            return;
        }
        if entered_by == 1049 {
            self.save_cursor();
        }
        let (n_lines, n_columns) = (self.n_lines(), self.n_columns());
        let mut grid = Grid::new(n_lines, n_columns, 0);
        grid.cursor = self.grid.cursor.clone();
        grid.reset_region(..);
        let grid = std::mem::replace(&mut self.grid, grid);
        self.below = Some(Below { grid, saved: self.saved, entered_by });
        self.saved = Shift::default();
    }

    /// Shows the main screen again.
    pub(crate) fn leave_alternate(&mut self, left_by: u16) {
        let Some(below) = self.below.take() else { return };
        let alternate = std::mem::replace(&mut self.grid, below.grid);
        // The next program on it begins with its own.
        self.keyboards[1] = Keyboard::default();
        self.saved = below.saved;
        if left_by == 1049 {
            self.restore_cursor();
        } else {
            // The older switches exchange the picture and leave the cursor alone.
            self.grid.cursor = alternate.cursor;
            self.settle_wrap();
        }
    }

    /// Returns to the state of a fresh terminal; scrollback stays.
    pub(crate) fn reset(&mut self) {
        let fresh = Self::new(self.frame.size);
        let old = std::mem::replace(self, fresh);
        (self.history, self.outbox) = (old.history, old.outbox);
        self.history.end_line();
        if old.labels.statuses.foremost().is_some() {
            self.outbox.tell(crate::events::Event::Status(None));
        }
    }
}

impl Frame {
    pub(crate) fn new(size: Size) -> Self {
        Self { size, region: 0..size.n_lines(), tabs: tabs(0..size.n_columns()) }
    }

    /// Returns the same with a tab stop at every eighth column.
    pub(crate) fn with_usual_tabs(&self) -> Self {
        Self { tabs: tabs(0..self.size.n_columns()), ..self.clone() }
    }

    /// Takes a new size; the region is whole again, and new columns have tab stops as usual.
    pub(crate) fn resize(&mut self, size: Size) {
        self.size = size;
        self.region = 0..size.n_lines();
        let n_columns = self.tabs.len();
        self.tabs.truncate(size.n_columns());
        if n_columns < size.n_columns() {
            self.tabs.extend(tabs(n_columns..size.n_columns()));
        }
    }
}

fn tabs(columns: Range<usize>) -> Vec<bool> {
    columns.map(|column| column % 8 == 0).collect()
}
