//! Commands to the terminal's surroundings (OSC): titles, links, colors, progress, notifications,
//! what a program says of its state.
//!
//! The clipboard, pointer shapes and everything private to one vendor are ignored.

use base64::{Engine, engine::general_purpose::STANDARD};
use vocab::limits::{SCREEN_DIRECTORY_BYTES_MAX, SCREEN_NOTICE_BYTES_MAX, SCREEN_TITLE_BYTES_MAX};

use crate::{
    events::{Event, Progress, PromptMark},
    labels::{self, BACKGROUND, CURSOR, FOREGROUND},
    terminal::Terminal,
};

impl Terminal {
    pub(crate) fn command(&mut self, params: &[&[u8]], end: &str) {
        let texts: Vec<String> =
            params.iter().map(|param| String::from_utf8_lossy(param).into_owned()).collect();
        let parts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let [number, rest @ ..] = parts.as_slice() else { return };
        match (*number, rest) {
            ("0" | "2", [_, ..]) => self.set_title(cut(&rest.join(";"), SCREEN_TITLE_BYTES_MAX)),
            ("7", [_, ..]) => {
                let directory = rest.join(";");
                if directory.len() <= SCREEN_DIRECTORY_BYTES_MAX {
                    self.labels.directory = cut(&directory, SCREEN_DIRECTORY_BYTES_MAX);
                    self.outbox.tell(Event::Directory(self.labels.directory.clone()));
                }
            }
            ("8", [params, address @ ..]) => self.open_link(params, &address.join(";")),
            ("4", pairs) => {
                for pair in pairs.chunks_exact(2) {
                    if let Ok(index) = pair[0].parse::<u8>() {
                        self.color(u16::from(index), pair[1], end);
                    }
                }
            }
            ("10" | "11" | "12", colors) => {
                let first = number.parse::<u16>().unwrap_or(10) - 10 + FOREGROUND;
                for (index, color) in (first..=CURSOR).zip(colors) {
                    self.color(index, color, end);
                }
            }
            ("104", [] | [""]) => self.labels.colors.retain(|index, _| 255 < *index),
            ("104", indexes) => {
                for index in indexes.iter().filter_map(|index| index.parse::<u8>().ok()) {
                    self.labels.colors.remove(&u16::from(index));
                }
            }
            ("110", _) => _ = self.labels.colors.remove(&FOREGROUND),
            ("111", _) => _ = self.labels.colors.remove(&BACKGROUND),
            ("112", _) => _ = self.labels.colors.remove(&CURSOR),
            ("7501", ["?"]) => self.answer_program_status(),
            ("9" | "99" | "777" | "133" | "7501", _) => self.told(number, rest),
            _ => (),
        }
    }

    /// Hears what the program tells its surroundings.
    fn told(&mut self, number: &str, rest: &[&str]) {
        match (number, rest) {
            ("9", ["4", state, percent @ ..]) => {
                let percent = percent.first().copied().unwrap_or_default();
                if let Some(progress) = Progress::parse(state, percent) {
                    self.labels.progress = progress;
                    self.outbox.tell(Event::Progress(progress));
                }
            }
            ("9", [_, ..]) => self.notify(None, &rest.join(";")),
            ("777", ["notify", title, body @ ..]) => self.notify(Some(title), &body.join(";")),
            ("99", [params, body @ ..]) => self.kitty_notify(params, &body.join(";")),
            ("133", [mark, rest @ ..]) => {
                let code = rest.first().and_then(|code| code.parse().ok());
                let mark = match *mark {
                    "A" => PromptMark::Prompt,
                    "B" => PromptMark::Input,
                    "C" => PromptMark::Output,
                    "D" => PromptMark::End(code),
                    _ => return,
                };
                self.outbox.tell(Event::Prompt(mark));
                if mark == PromptMark::Prompt && self.labels.statuses.drop_the_running() {
                    self.tell_status();
                }
            }
            ("7501", [_, ..]) if self.labels.statuses.take(&rest.join(";")) => self.tell_status(),
            _ => (),
        }
    }

    fn tell_status(&mut self) {
        self.outbox.tell(Event::Status(self.labels.statuses.foremost().cloned()));
    }

    pub(crate) fn set_title(&mut self, title: String) {
        if self.labels.title != title {
            self.labels.title = title;
            self.outbox.tell(Event::Title(self.labels.title.clone()));
        }
    }

    fn notify(&mut self, title: Option<&str>, body: &str) {
        let title = title.map(|title| cut(title, SCREEN_NOTICE_BYTES_MAX));
        let body = cut(body, SCREEN_NOTICE_BYTES_MAX);
        self.outbox.tell(Event::Notification { title, body });
    }

    /// Hears kitty's notifications: each piece is told by itself, questions and commands are not.
    fn kitty_notify(&mut self, params: &str, payload: &str) {
        let value = |key: &str| {
            params.split(':').find_map(|param| param.strip_prefix(key)?.strip_prefix('='))
        };
        let decoded = match value("e") {
            Some("1") => STANDARD.decode(payload).ok().and_then(|it| String::from_utf8(it).ok()),
            _ => Some(payload.to_owned()),
        };
        let Some(text) = decoded.filter(|text| !text.is_empty()) else { return };
        match value("p") {
            None | Some("title") => self.notify(Some(&text), ""),
            Some("body") => self.notify(None, &text),
            Some(_) => (),
        }
    }

    fn open_link(&mut self, params: &str, address: &str) {
        let id = params.split(':').find_map(|param| param.strip_prefix("id=")).unwrap_or_default();
        let link = if address.is_empty() {
            None
        } else {
            let grids =
                std::iter::once(&self.grid).chain(self.below.as_ref().map(|below| &below.grid));
            self.links.intern(&printable(id), &printable(address), grids)
        };
        self.grid.cursor.template.set_hyperlink(link);
    }

    fn color(&mut self, index: u16, text: &str, end: &str) {
        if text == "?" {
            self.answer_color(index, end);
        } else if let Some(color) = labels::parse_color(text) {
            self.labels.colors.insert(index, color);
        }
    }
}

/// Returns a text without what could end the sequence that carries it.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Cuts a text at a character's boundary.
fn cut(text: &str, n_bytes_max: usize) -> String {
    let mut text = printable(text);
    if n_bytes_max < text.len() {
        text.truncate(text.floor_char_boundary(n_bytes_max));
    }
    text
}
