//! The last two lines: what is being written, asked or said, and which keys mean something now.

use api::job::RowKind;
use ratatui_core::{layout::Position, style::Style};

use super::{Page, Palette, dir};
use crate::{
    clean,
    editor::Editor,
    msg::Link,
    state::{Look, Mode, State},
    text,
};

/// Draws both lines; returns where the cursor stands while something is being written.
pub(super) fn draw(page: &mut Page<'_>, state: &State) -> Option<Position> {
    let columns = state.size.columns;
    let (y_line, y_keys) = (state.size.lines - 2, state.size.lines - 1);
    let written: Option<(String, &Editor)> = match &state.mode {
        Mode::Filter(editor) => Some(("show only: ".to_owned(), editor)),
        Mode::New(editor) => Some((format!("new in {}: ", dir(state, &state.place.cwd)), editor)),
        Mode::Reply { to, kind, editor } => {
            let verb = match kind {
                RowKind::Job => "type into",
                RowKind::Session => "say to",
            };
            Some((format!("{verb} {}: ", clean::line(&to.name)), editor))
        }
        Mode::Rename { editor, .. } => Some(("new name: ".to_owned(), editor)),
        Mode::Answer(asking) => {
            asking.reason.as_ref().map(|editor| ("no, because: ".to_owned(), editor))
        }
        Mode::Normal | Mode::Confirm { .. } | Mode::Opening(_) | Mode::Help => None,
    };
    let refused = state.notice.as_ref().filter(|notice| notice.is_failure && written.is_some());
    match refused {
        // The line itself is taken by what was refused, and is there to be sent again.
        Some(notice) => _ = page.put((1, y_keys), columns - 1, &notice.text, page.palette.alarm()),
        None => keys(page, state, y_keys),
    }
    if let Some((label, editor)) = written {
        // A long name leaves room for what is written.
        let label = text::cut(&label, columns / 2);
        let x = 1 + page.put((1, y_line), columns - 1, &label, Palette::strong());
        let (shown, at) = editor.shown(columns - x - 1);
        page.put((x, y_line), columns - x, &shown, Style::new());
        let (x, y) = (u16::try_from(x + at).ok()?, u16::try_from(y_line).ok()?);
        return Some(Position { x, y });
    }
    let (text, style) = match (&state.mode, &state.notice, &state.link) {
        (Mode::Confirm { question, .. }, ..) => (clean::line(question), page.palette.alarm()),
        (Mode::Opening(_), None, Link::Live) => {
            ("what it asks is being read".to_owned(), Style::new())
        }
        (Mode::Answer(asking), ..) if asking.is_over => {
            ("it needs no answer any more".to_owned(), page.palette.alarm())
        }
        (_, Some(notice), _) if notice.is_failure => (notice.text.clone(), page.palette.alarm()),
        (_, Some(notice), _) => (notice.text.clone(), Style::new()),
        (_, None, Link::Lost { why }) => {
            let why = clean::line(why);
            (format!("trying again (or: stead daemon start) · {why}"), page.palette.alarm())
        }
        (_, None, Link::Connecting | Link::Live) => match &state.memory.way_back {
            Some(way_back) => (way_back.clone(), Style::new()),
            None => return None,
        },
    };
    page.put((1, y_line), columns - 1, &text, style);
    None
}

/// The keys that mean something, most important ones first: what does not fit is left out.
fn keys(page: &mut Page<'_>, state: &State, y: usize) {
    let list: &[(&str, &str)] = match (&state.mode, state.look) {
        (Mode::Help, _) => &[("any key", "back")],
        (Mode::Confirm { .. }, _) => &[("y", "yes"), ("n", "no")],
        (Mode::Opening(_), _) => &[("Esc", "later")],
        (Mode::Answer(asking), _) if asking.is_over => &[("Enter", "back")],
        (Mode::Filter(_), _) => &[("Enter", "keep"), ("↑↓", "move"), ("Esc", "show everything")],
        (Mode::New(_), _) => &[("Enter", "begin"), ("!", "command"), ("Esc", "give up")],
        (Mode::Reply { .. } | Mode::Rename { .. }, _) => &[("Enter", "send"), ("Esc", "give up")],
        (Mode::Answer(asking), _) if asking.reason.is_some() => {
            &[("Enter", "refuse"), ("Esc", "back")]
        }
        (Mode::Answer(asking), _) if !asking.is_read => {
            &[("PgDn", "read on"), ("n", "refuse"), ("N", "with a reason"), ("Esc", "later")]
        }
        (Mode::Answer(_), _) => &[
            ("y", "allow"),
            ("n", "refuse"),
            ("N", "with a reason"),
            ("↑↓", "scroll"),
            ("Esc", "later"),
        ],
        (Mode::Normal, Look::Full) => &[
            ("Esc", "back"),
            ("a", "reply"),
            ("↑↓", "scroll"),
            ("s", "stop"),
            ("x", "remove"),
            ("R", "again"),
            ("?", "help"),
        ],
        (Mode::Normal, Look::Closed | Look::Peek) => &[
            ("Enter", "go in"),
            ("Space", "peek"),
            ("a", "reply"),
            ("n", "new"),
            ("s", "stop"),
            ("/", "filter"),
            ("?", "help"),
            ("q", "leave"),
            ("r", "rename"),
            ("p", "pin"),
            ("x", "remove"),
            ("R", "again"),
        ],
    };
    let columns = state.size.columns;
    let mut x = 1;
    for (key, about) in list {
        let cells = text::width(key) + 1 + text::width(about);
        if columns <= x + cells {
            break;
        }
        x += page.put((x, y), columns, key, Palette::strong()) + 1;
        x += page.put((x, y), columns, about, page.palette.aside()) + 2;
    }
}
