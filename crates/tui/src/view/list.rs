//! The list: headings and rows, of which only those in sight are looked at.

use api::job::{JobRow, RowKind};
use ratatui_core::style::{Modifier, Style};
use vocab::job::JobState;

use super::{Page, ago, place};
use crate::{
    clean,
    list::{Entry, since},
    msg::Link,
    state::State,
    text,
};

/// Where the columns begin and how wide they are.
struct Columns {
    name: usize,
    detail: usize,
    dir: usize,
}

/// Cells before the name: the mark, the pin, the id.
const BEFORE: usize = 12;
/// Cells of the age, with the blank before it.
const AGE: usize = 5;
/// The narrowest terminal that shows directories.
const DIR_COLUMNS: usize = 72;

impl Columns {
    fn of(columns: usize) -> Self {
        let rest = columns.saturating_sub(BEFORE + AGE);
        let name = (rest * 35 / 100).clamp(10, 36);
        let dir = if columns < DIR_COLUMNS { 0 } else { (rest * 27 / 100).clamp(10, 36) };
        let gaps = if dir == 0 { 1 } else { 2 };
        Self { name, dir, detail: rest.saturating_sub(name + dir + gaps) }
    }
}

/// Draws the rows in sight.
pub(super) fn draw(page: &mut Page<'_>, state: &State) {
    let list = &state.list;
    if list.entries().is_empty() {
        nothing(page, state);
        return;
    }
    let columns = Columns::of(state.size.columns);
    let selected = list.selected().map(|row| row.id.as_str());
    let in_sight = list.entries().iter().skip(list.top()).take(state.list_lines());
    for (idx, entry) in in_sight.enumerate() {
        let y = idx + 1;
        match entry {
            Entry::Gap => {}
            Entry::Heading(group, n_rows) => {
                let style = page.palette.group(*group);
                let text = format!("{} ({n_rows})", group.heading());
                page.put((1, y), state.size.columns - 1, &text, style);
            }
            Entry::Row(idx) => {
                let Some(shown) = list.row(*idx) else { continue };
                let is_selected = selected == Some(shown.id.as_str());
                row(page, state, y, &columns, shown);
                if is_selected {
                    page.put((0, y), 1, ">", Style::new());
                    page.mark(y, state.size.columns, Style::new().add_modifier(Modifier::REVERSED));
                }
            }
        }
    }
}

fn row(page: &mut Page<'_>, state: &State, y: usize, columns: &Columns, row: &JobRow) {
    let plain = Style::new();
    if row.pinned {
        page.put((1, y), 1, "*", plain);
    }
    page.put((3, y), 8, &short_id(row), page.palette.aside());
    let mut x = BEFORE;
    page.put((x, y), columns.name, &clean::line(&row.name), plain);
    x += columns.name + 1;
    let is_bad = matches!(row.state, JobState::Failed);
    let style = if is_bad { page.palette.color(ratatui_core::style::Color::Red) } else { plain };
    page.put((x, y), columns.detail, &detail(row), style);
    x += columns.detail + 1;
    if 0 < columns.dir {
        let shown = text::cut_front(&place(state, row), columns.dir);
        page.put((x, y), columns.dir, &shown, page.palette.aside());
    }
    let age = ago(state, since(row));
    let x = state.size.columns.saturating_sub(text::width(&age) + 1);
    page.put((x, y), AGE, &age, page.palette.aside());
}

/// Returns what people type of an id: of a session its random end.
pub(super) fn short_id(row: &JobRow) -> String {
    let id = clean::line(&row.id);
    match row.kind {
        RowKind::Job => id,
        RowKind::Session => {
            id.len().checked_sub(8).and_then(|at| id.get(at..)).unwrap_or(&id).to_owned()
        }
    }
}

/// Says what a row is, and the most important thing about it.
pub(super) fn detail(row: &JobRow) -> String {
    let what = match row.kind {
        RowKind::Session => "session",
        RowKind::Job => row
            .command
            .first()
            .map_or("job", |program| program.rsplit('/').next().unwrap_or(program)),
    };
    let how = match (&row.waiting_for, &row.status) {
        // The heading says that it waits.
        (Some(waits_for), _) if row.state == JobState::Blocked => waits_for.clone(),
        (Some(waits_for), _) if row.kind == RowKind::Session => format!("waits: {waits_for}"),
        (Some(waits_for), _) => format!("waits for {waits_for}"),
        (None, Some(status)) => status.clone(),
        (None, None) if row.state == JobState::Working => "runs".to_owned(),
        (None, None) => row.state.to_string(),
    };
    clean::line(&format!("{what} · {how}"))
}

/// Says why the list is empty, and what to do.
fn nothing(page: &mut Page<'_>, state: &State) {
    let room = state.size.columns.saturating_sub(4);
    let lines: &[&str] = match (&state.link, state.list.filter().is_empty()) {
        (Link::Live, _)
            if state.rows == crate::state::Flight::Busy && state.list.rows().is_empty() =>
        {
            &["…"]
        }
        (_, false) => &["nothing matches; Esc shows everything"],
        (Link::Live, true) => &[
            "nothing runs, and nothing has ended in the last two days",
            "",
            "n  begins something: a prompt for a session,",
            "   or ! and a command, which gets a terminal that outlives yours",
        ],
        (Link::Connecting, true) => &["connecting to the daemon …"],
        (Link::Lost { .. }, true) => &["the daemon does not answer"],
    };
    for (idx, line) in lines.iter().take(state.list_lines()).enumerate() {
        page.put((3, idx + 2), room, line, Style::new());
    }
}
