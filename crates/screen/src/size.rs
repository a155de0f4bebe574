//! How large a terminal is.
//!
//! Sizes come from clients and may be nonsense; a [`Size`] is always one that a grid can have.

use vocab::limits::{SCREEN_COLUMNS_MAX, SCREEN_LINES_MAX};

/// Columns that a wide character needs; a narrower grid could not hold it.
const COLUMNS_MIN: u16 = 2;

/// A size in cells, within bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    columns: u16,
    lines: u16,
}

impl Size {
    /// Returns the size nearest to what was asked for.
    pub fn clamped(columns: u16, lines: u16) -> Self {
        Self {
            columns: columns.clamp(COLUMNS_MIN, SCREEN_COLUMNS_MAX),
            lines: lines.clamp(1, SCREEN_LINES_MAX),
        }
    }

    /// Returns the number of columns.
    pub fn columns(self) -> u16 {
        self.columns
    }

    /// Returns the number of lines.
    pub fn lines(self) -> u16 {
        self.lines
    }

    pub(crate) fn n_columns(self) -> usize {
        usize::from(self.columns)
    }

    pub(crate) fn n_lines(self) -> usize {
        usize::from(self.lines)
    }
}
