//! What is drawn: the cells of the screen as a function of the state.
//!
//! Pure, and the only place that knows of places and colors. Texts of others are cleaned here or before.

mod line;
mod list;
mod pane;

use api::job::JobRow;
use ratatui_core::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::{Color, Modifier, Style},
};

use crate::{
    clean,
    list::Group,
    msg::Link,
    state::{Look, Mode, SIZE_MIN, State},
    text,
};

/// How things are drawn: in colors, or without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Palette {
    /// Whether the terminal shows colors and the person wants them.
    pub(crate) has_colors: bool,
}

impl Palette {
    /// Returns a style with one of the colors that every terminal has.
    fn color(self, color: Color) -> Style {
        if self.has_colors { Style::new().fg(color) } else { Style::new() }
    }

    fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn aside(self) -> Style {
        // Some terminals draw faint text so that nobody can read it; without colors nothing stands back.
        if self.has_colors { Style::new().add_modifier(Modifier::DIM) } else { Style::new() }
    }

    fn alarm(self) -> Style {
        self.color(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn group(self, group: Group) -> Style {
        let color = match group {
            Group::NeedsYou => Color::Yellow,
            Group::Working => Color::Cyan,
            Group::Done => Color::Green,
            Group::Failed => Color::Red,
        };
        self.color(color).add_modifier(Modifier::BOLD)
    }
}

/// A page to draw on.
struct Page<'a> {
    buffer: &'a mut Buffer,
    palette: Palette,
}

impl Page<'_> {
    /// Writes a text of one line into so many cells from a place on, and returns the cells that it took.
    fn put(&mut self, (x, y): (usize, usize), columns: usize, text: &str, style: Style) -> usize {
        let shown = text::cut(text, columns);
        let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else { return 0 };
        let is_inside = x < self.buffer.area.width && y < self.buffer.area.height;
        if is_inside {
            self.buffer.set_stringn(x, y, &shown, columns, style);
        }
        text::width(&shown)
    }

    /// Draws all of a line in another style as well.
    fn mark(&mut self, y: usize, columns: usize, style: Style) {
        let (Ok(y), Ok(width)) = (u16::try_from(y), u16::try_from(columns)) else { return };
        let area = Rect { x: 0, y, width, height: 1 }.intersection(self.buffer.area);
        self.buffer.set_style(area, style);
    }
}

/// Draws the state; returns where the cursor stands while something is being written.
pub(crate) fn draw(state: &State, palette: Palette, buffer: &mut Buffer) -> Option<Position> {
    let columns = state.size.columns;
    let mut page = Page { buffer, palette };
    if !state.is_drawable() {
        let least = format!("at least {} × {} cells", SIZE_MIN.columns, SIZE_MIN.lines);
        page.put((0, 0), columns, &least, Style::new());
        return None;
    }
    head(&mut page, state);
    match (&state.mode, state.look) {
        (Mode::Help, _) => help(&mut page, state),
        (Mode::Answer(asking), _) => pane::question(&mut page, state, asking),
        (_, Look::Full) => pane::watched(&mut page, state, 1),
        (_, Look::Peek) => {
            list::draw(&mut page, state);
            pane::watched(&mut page, state, 1 + state.list_lines());
        }
        (_, Look::Closed) => list::draw(&mut page, state),
    }
    line::draw(&mut page, state)
}

/// The first line: how many of what there are, and whether it is still true.
fn head(page: &mut Page<'_>, state: &State) {
    let columns = state.size.columns;
    let (link, link_style) = match &state.link {
        Link::Connecting => ("connecting", page.palette.aside()),
        Link::Live => ("live", page.palette.aside()),
        Link::Lost { .. } => ("no daemon", page.palette.alarm()),
    };
    let right = columns.saturating_sub(text::width(link) + 1);
    let mut x = 1;
    x += page.put(
        (x, 0),
        right,
        if state.place.is_alone { "stead" } else { "stead view" },
        Palette::strong(),
    );
    if !state.place.is_alone {
        for group in Group::ALL {
            let n_rows = state.list.count(group);
            if n_rows == 0 {
                continue;
            }
            let word = match group {
                Group::NeedsYou => "blocked",
                Group::Working => "working",
                Group::Done => "done",
                Group::Failed => "failed",
            };
            let room = right.saturating_sub(x + 1);
            x += page.put((x, 0), room, " · ", page.palette.aside());
            let style = page.palette.group(group);
            x += page.put((x, 0), right.saturating_sub(x + 1), &format!("{n_rows} {word}"), style);
        }
        if !state.list.filter().is_empty() {
            let filter = format!(" · only “{}”", clean::line(state.list.filter()));
            page.put((x, 0), right.saturating_sub(x + 1), &filter, Style::new());
        }
    }
    page.put((right, 0), columns.saturating_sub(right), link, link_style);
}

/// What keys mean, for those who ask.
const HELP: &[(&str, &str)] = &[
    ("↑ ↓  j k", "move; PgUp PgDn Home End"),
    ("Enter", "go in: to a job's terminal, or to a session; Ctrl-] d comes back"),
    ("Space", "peek at the screen or the conversation; Ctrl-u Ctrl-d scroll it"),
    ("a", "answer a question, or say something to it"),
    ("n", "begin something new: a prompt, or ! and a command"),
    ("s", "stop it: end the program, or the run of a session"),
    ("R", "start an ended job again"),
    ("x", "remove it with all it left"),
    ("r  p", "rename a job, pin it to the top of its group"),
    ("/", "show only what holds a text; Esc shows everything"),
    ("Esc", "close the peek"),
    ("q", "leave; everything goes on without this view"),
];

fn help(page: &mut Page<'_>, state: &State) {
    let columns = state.size.columns;
    let word = HELP.iter().map(|(keys, _)| text::width(keys)).max().unwrap_or(0);
    for (idx, (keys, about)) in HELP.iter().take(state.body_lines().saturating_sub(1)).enumerate() {
        let y = idx + 2;
        page.put((2, y), word, keys, Palette::strong());
        let x = word + 4;
        page.put((x, y), columns.saturating_sub(x), about, Style::new());
    }
}

/// Says in few letters how long ago something was.
fn ago(state: &State, at: &str) -> String {
    let Some(at) = stdx::clock::Timestamp::parse(at) else { return String::new() };
    match state.now.since(at).as_secs() {
        0..=59 => "now".to_owned(),
        seconds @ 60..=3_599 => format!("{}m", seconds / 60),
        seconds @ 3_600..=86_399 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// Says where a row works. Of a worktree, people know its repository and its branch; its path is of our making.
fn place(state: &State, row: &JobRow) -> String {
    match &row.worktree {
        Some(tree) => format!("{} · {}", dir(state, &tree.repository), clean::line(&tree.branch)),
        None => dir(state, &row.cwd),
    }
}

/// Writes a directory as people do.
fn dir(state: &State, path: &str) -> String {
    let path = clean::line(path);
    let home = state.place.home.as_deref().filter(|home| 1 < home.len());
    match home.and_then(|home| path.strip_prefix(home)) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => path,
    }
}

#[cfg(test)]
mod tests;
