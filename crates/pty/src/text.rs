//! A screen as the text of a file: what a person would copy.

use screen::Mirror;

/// Returns the screen shown, row by row, without blank lines at its end.
pub(crate) fn of(mirror: &Mirror) -> String {
    text(mirror.screen_text())
}

/// Returns the screen shown as what was written: rows that the terminal has broken are one line again.
pub(crate) fn whole(mirror: &Mirror) -> String {
    text(mirror.whole_screen_text())
}

/// Returns lines as a text, without blank ones at its end.
pub(crate) fn text(mut lines: Vec<String>) -> String {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}
