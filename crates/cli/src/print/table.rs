//! Columns that line up by display width, cut to the terminal.
//!
//! Cells are one line of clean text. Which rows there are is the caller's business.

use super::{Style, clean::clean_line, width};

/// Cells between two columns.
const GAP: usize = 2;

/// The narrowest that a column is cut to.
const COLUMN_MIN: usize = 6;

/// The heading of a column of paths.
pub(crate) const DIRECTORY: &str = "DIRECTORY";

/// A table that is being filled.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    /// The column of paths, which are cut at their beginnings.
    paths: Option<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Starts a table.
    pub(crate) fn new(head: &[&'static str]) -> Self {
        let paths = head.iter().position(|name| *name == DIRECTORY);
        Self { head: head.to_vec(), paths, rows: Vec::new() }
    }

    /// Adds a row; its cells are cleaned.
    pub(crate) fn row(&mut self, cells: &[&str]) {
        self.rows.push(cells.iter().map(|cell| clean_line(cell)).collect());
    }

    /// Lays the table out in at most `columns`. The widest column gives way first.
    pub(crate) fn render(&self, columns: usize, style: Style) -> String {
        let mut widths: Vec<usize> = self.head.iter().map(|name| width::of(name)).collect();
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width::of(cell));
            }
        }
        let gaps = GAP * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(columns);
        while excess > 0 {
            let second = widths.iter().copied().fold((0, 0), |(first, second), width| {
                if width > first { (width, first) } else { (first, second.max(width)) }
            });
            let (widest, next) = second;
            if widest <= COLUMN_MIN {
                break;
            }
            // Down to the second widest at once; the last steps are single cells.
            let step = widest.saturating_sub(next.max(COLUMN_MIN)).clamp(1, excess);
            if let Some(column) = widths.iter_mut().find(|width| **width == widest) {
                *column -= step;
                excess -= step;
            }
        }
        let mut out = String::new();
        let head: Vec<String> = self.head.iter().map(|name| (*name).to_owned()).collect();
        out.push_str(&style.dim(&self.line(&head, &widths)));
        out.push('\n');
        for row in &self.rows {
            out.push_str(&self.line(row, &widths));
            out.push('\n');
        }
        out
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut out = String::new();
        for (idx, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let is_path = self.paths == Some(idx) && cell != DIRECTORY;
            let shown =
                if is_path { width::cut_path(cell, *width) } else { width::cut(cell, *width) };
            let used = width::of(&shown);
            out.push_str(&shown);
            out.extend(std::iter::repeat_n(' ', width.saturating_sub(used) + GAP));
        }
        out.truncate(out.trim_end().len());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[&[&str]], columns: usize, expected: &str) {
        let mut table = Table::new(&["ID", "TITLE", "STATE"]);
        for row in rows {
            table.row(row);
        }
        let text = table.render(columns, Style(false));
        assert_eq!(text, expected, "{columns} columns:\n{text}");
        assert!(text.lines().all(|line| width::of(line) <= columns));
    }

    #[test]
    fn columns_line_up_by_cells_and_the_widest_gives_way() {
        let rows: &[&[&str]] =
            &[&["a1", "漢字の題", "idle"], &["b22", "a long title here", "done"]];
        let whole = "ID   TITLE              STATE\na1   漢字の題           idle\nb22  a long title here  done\n";
        check(rows, 80, whole);
        check(rows, 22, "ID   TITLE       STATE\na1   漢字の題    idle\nb22  a long ti…  done\n");
        check(
            &[&["a", "two\nlines \x1b[2J", ""]],
            40,
            "ID  TITLE           STATE\na   two lines ␛[2J\n",
        );
    }
}
