//! What is watched: a job's screen, a session's conversation, a question.

use ratatui_core::style::{Color, Style};

use super::{Page, Palette, dir, list, place};
use crate::{
    call, clean,
    list::session_state,
    question,
    state::{Asking, Content, State, Watched},
    text,
    transcript::{Line, Tone, Transcript},
};

/// Draws what is watched, from a line on.
pub(super) fn watched(page: &mut Page<'_>, state: &State, y: usize) {
    let Some(watched) = &state.watched else { return };
    let (columns, n_lines) = (state.text_columns(), state.pane_lines());
    let below = match watched.up {
        0 => String::new(),
        up => format!("{up} more below"),
    };
    rule(page, state, y, (&title(state, watched), &below));
    let plain = |text: &str| Line { text: text.to_owned(), tone: Tone::Plain };
    let lines = match &watched.content {
        Content::Loading => vec![Line { text: "…".to_owned(), tone: Tone::Aside }],
        Content::Failed(why) => vec![Line { text: clean::line(why), tone: Tone::Alarm }],
        Content::Screen(lines) => {
            let end = lines.len().saturating_sub(watched.up);
            let begin = end.saturating_sub(n_lines);
            lines.iter().take(end).skip(begin).map(|line| plain(line)).collect()
        }
        Content::Transcript(transcript) => conversation(transcript, columns, n_lines, watched.up),
    };
    for (idx, line) in lines.iter().take(n_lines).enumerate() {
        let style = tone(page.palette, line.tone);
        page.put((1, y + 1 + idx), columns, &line.text, style);
    }
}

/// Returns the lines of a conversation, below them what it waits for.
fn conversation(transcript: &Transcript, columns: usize, n_lines: usize, up: usize) -> Vec<Line> {
    let asks = transcript.questions.first().map(|block| {
        let about = clean::line(&call::subject(&block.tool, &block.input));
        let text = format!("? {} wants to run: {about}", clean::line(&block.tool));
        let text = format!("{} · a answers", text::cut(&text, columns.saturating_sub(12)));
        Line { text, tone: Tone::Alarm }
    });
    let room = n_lines.saturating_sub(usize::from(asks.is_some()));
    let mut lines = transcript.lines(columns, room, up);
    if asks.is_some() && lines.last().is_some_and(|line| line.text.is_empty()) {
        lines.pop();
    }
    lines.extend(asks);
    lines
}

fn title(state: &State, watched: &Watched) -> String {
    let name = clean::line(&watched.who.name);
    let mut facts = vec![name];
    if let Some(transcript) = watched.transcript() {
        facts.push(session_state(&transcript.state));
        facts.extend(transcript.model.iter().map(|model| clean::line(model)));
        facts.push(dir(state, &transcript.cwd));
    } else if let Some(row) = state.list.find(&watched.who.id) {
        facts.push(list::detail(row));
        facts.push(place(state, row));
    }
    facts.retain(|fact| !fact.is_empty());
    facts.join(" · ")
}

/// Draws a question that fills the screen.
pub(super) fn question(page: &mut Page<'_>, state: &State, asking: &Asking) {
    let (columns, n_lines) = (state.text_columns(), state.question_lines());
    let lines = question::wrapped(&asking.lines, columns);
    let n_below = lines.len().saturating_sub(asking.top + n_lines);
    let below = match n_below {
        0 => String::new(),
        n => format!("{n} more below"),
    };
    let title = format!("{} asks", clean::line(&asking.session.name));
    rule(page, state, 1, (&title, &below));
    for (idx, line) in lines.iter().skip(asking.top).take(n_lines).enumerate() {
        let style = match line.chars().next() {
            Some('+') => page.palette.color(Color::Green),
            Some('-') => page.palette.color(Color::Red),
            _ if asking.top + idx == 0 => Palette::strong(),
            _ => Style::new(),
        };
        page.put((1, 2 + idx), columns, line, style);
    }
}

/// Draws a line across the screen, with a title in it, and a word at its end.
fn rule(page: &mut Page<'_>, state: &State, y: usize, (title, end): (&str, &str)) {
    let columns = state.size.columns;
    page.put((0, y), columns, &"─".repeat(columns), page.palette.aside());
    let end = if end.is_empty() { String::new() } else { format!(" {end} ") };
    let room = columns.saturating_sub(text::width(&end) + 6);
    let title = format!(" {} ", text::cut(title, room.saturating_sub(2)));
    page.put((2, y), room, &title, Palette::strong());
    let x = columns.saturating_sub(text::width(&end) + 2);
    page.put((x, y), text::width(&end), &end, page.palette.alarm());
}

fn tone(palette: Palette, tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Person | Tone::Call => Palette::strong(),
        Tone::Aside => palette.aside(),
        Tone::Alarm => palette.alarm(),
    }
}
