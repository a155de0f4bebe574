//! A screen as the text of a file: what a person would copy.

use screen::Mirror;

/// Returns the screen shown, without blank lines at its end.
pub(crate) fn of(mirror: &Mirror) -> String {
    let mut lines = mirror.screen_text();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}
