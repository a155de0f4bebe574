//! What a terminal says when it is asked, in place of the one that nobody has open.
//!
//! While a client is attached its terminal answers, and nothing is said here. Clipboard, window titles
//! and fonts are never told: what is asked for them comes from text that anyone may have printed.

use alacritty_terminal::vte::ansi::Rgb;
use vocab::limits::{SCREEN_ANSWER_BYTES_MAX, SCREEN_REQUEST_BYTES_MAX};

use crate::{
    events::{Event, Events, Query},
    labels::{self, BACKGROUND, CURSOR, FOREGROUND},
    modes::Mode,
    sgr,
    terminal::Terminal,
};

/// Who hears a program's questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Audience {
    /// Nobody is attached: the mirror answers.
    #[default]
    Nobody,
    /// A client is attached: its terminal answers, the mirror only tells that something was asked.
    Client,
}

/// The terminal that a program believes to be in, as the last client told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Persona {
    /// The parameters of its primary attributes (DA1).
    pub attributes: String,
    /// The parameters of its secondary attributes (DA2).
    pub version: String,
    /// Its name and version (XTVERSION).
    pub name: String,
    /// A cell's width and height in pixels.
    pub cell: (u16, u16),
    /// The color of text.
    pub foreground: (u8, u8, u8),
    /// The color behind it.
    pub background: (u8, u8, u8),
}

impl Persona {
    /// Returns a dark terminal under our own name, for jobs that no client has seen yet.
    pub fn unseen() -> Self {
        Self {
            // A VT220 with colors: what every terminal can do.
            attributes: "62;22".to_owned(),
            version: "1;10;0".to_owned(),
            name: concat!("Stead ", env!("CARGO_PKG_VERSION")).to_owned(),
            cell: (10, 20),
            foreground: (0xd8, 0xd8, 0xd8),
            background: (0x18, 0x18, 0x18),
        }
    }

    /// Returns the same without what a terminal could not have meant. These texts come from a client and
    /// are typed into a program.
    pub(crate) fn checked(self) -> Self {
        let numbers = |text: String| {
            let is_known = text.len() <= SCREEN_REQUEST_BYTES_MAX
                && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b';');
            if is_known { text } else { String::new() }
        };
        let mut name: String = self.name.chars().filter(|c| !c.is_control()).collect();
        name.truncate(name.floor_char_boundary(SCREEN_REQUEST_BYTES_MAX));
        Self { attributes: numbers(self.attributes), version: numbers(self.version), name, ..self }
    }
}

/// What waits to be taken, and who it is said to.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) audience: Audience,
    pub(crate) persona: Persona,
    pub(crate) events: Events,
    pub(crate) answers: Vec<u8>,
}

impl Default for Outbox {
    fn default() -> Self {
        let (audience, persona) = (Audience::default(), Persona::unseen());
        Self { audience, persona, events: Events::default(), answers: Vec::new() }
    }
}

impl Outbox {
    pub(crate) fn tell(&mut self, event: Event) {
        self.events.push(event);
    }

    fn answer(&mut self, text: &str) {
        let n_bytes = self.answers.len() + text.len();
        if self.audience == Audience::Nobody && n_bytes <= SCREEN_ANSWER_BYTES_MAX {
            self.answers.extend_from_slice(text.as_bytes());
        }
    }
}

impl Terminal {
    fn answer(&mut self, query: Query, text: &str) {
        self.asked(query);
        self.outbox.answer(text);
    }

    pub(crate) fn answer_attributes(&mut self, kind: Option<u8>) {
        let text = match kind {
            None => format!("\x1b[?{}c", self.outbox.persona.attributes),
            Some(b'>') => format!("\x1b[>{}c", self.outbox.persona.version),
            Some(_) => "\x1bP!|00000000\x1b\\".to_owned(),
        };
        self.answer(Query::Attributes, &text);
    }

    pub(crate) fn answer_status(&mut self, kind: &str, number: u16) {
        let text = match (kind, number) {
            ("", 5) => "\x1b[0n".to_owned(),
            (_, 6) => format!("\x1b[{kind}{};{}R", self.told_line() + 1, self.column() + 1),
            // No printer, no locked keys, a keyboard of unknown country.
            ("?", 15) => "\x1b[?13n".to_owned(),
            ("?", 25) => "\x1b[?20n".to_owned(),
            ("?", 26) => "\x1b[?27;1;0;0n".to_owned(),
            ("?", 996) => {
                let (r, g, b) = self.outbox.persona.background;
                let is_dark = u16::from(r) + u16::from(g) + u16::from(b) < 3 * 128;
                format!("\x1b[?997;{}n", if is_dark { 1 } else { 2 })
            }
            _ => return,
        };
        self.answer(Query::Status, &text);
    }

    pub(crate) fn answer_mode(&mut self, kind: &str, number: u16) {
        let state = match (kind, number) {
            ("", _) => self.modes.ansi(number),
            (_, 47 | 1047 | 1049) => Some(self.below.is_some()),
            _ => self.modes.private(number),
        };
        let state = state.map_or(0, |on| if on { 1 } else { 2 });
        self.answer(Query::Mode, &format!("\x1b[{kind}{number};{state}$y"));
    }

    pub(crate) fn answer_keyboard(&mut self) {
        let flags = self.keyboard().current();
        self.answer(Query::Keyboard, &format!("\x1b[?{flags}u"));
    }

    pub(crate) fn answer_other_keys(&mut self) {
        let level = self.modes.other_keys;
        self.answer(Query::Keyboard, &format!("\x1b[>4;{level}m"));
    }

    pub(crate) fn answer_version(&mut self) {
        let text = format!("\x1bP>|{}\x1b\\", self.outbox.persona.name);
        self.answer(Query::Version, &text);
    }

    /// Says that what a program says of its state is read here.
    pub(crate) fn answer_program_status(&mut self) {
        self.answer(Query::ProgramStatus, "\x1b]7501;?\x1b\\");
    }

    pub(crate) fn answer_size(&mut self, number: u16) {
        let (lines, columns) =
            (u32::from(self.frame.size.lines()), u32::from(self.frame.size.columns()));
        let (width, height) = self.outbox.persona.cell;
        let (width, height) = (u32::from(width), u32::from(height));
        let text = match number {
            14 => format!("\x1b[4;{};{}t", lines * height, columns * width),
            16 => format!("\x1b[6;{height};{width}t"),
            18 => format!("\x1b[8;{lines};{columns}t"),
            _ => return,
        };
        self.answer(Query::Size, &text);
    }

    /// Tells the size without being asked, to a program that wants that (mode 2048).
    pub(crate) fn answer_in_band_size(&mut self) {
        let (lines, columns) =
            (u32::from(self.frame.size.lines()), u32::from(self.frame.size.columns()));
        let (width, height) = self.outbox.persona.cell;
        let (height, width) = (lines * u32::from(height), columns * u32::from(width));
        self.outbox.answer(&format!("\x1b[48;{lines};{columns};{height};{width}t"));
    }

    pub(crate) fn answer_color(&mut self, index: u16, end: &str) {
        let rgb = |(r, g, b)| Rgb { r, g, b };
        let color = self.labels.colors.get(&index).copied().unwrap_or_else(|| match index {
            FOREGROUND | CURSOR => rgb(self.outbox.persona.foreground),
            BACKGROUND => rgb(self.outbox.persona.background),
            index => usual(index),
        });
        let code = match index {
            FOREGROUND => "10".to_owned(),
            BACKGROUND => "11".to_owned(),
            CURSOR => "12".to_owned(),
            index => format!("4;{index}"),
        };
        self.answer(Query::Color, &format!("\x1b]{code};{}{end}", labels::spelled(color)));
    }

    /// Answers a question that came as a control string: a setting (`$q`) or a capability (`+q`).
    pub(crate) fn answer_request(&mut self, request: &[u8]) {
        let text = match request {
            [b'$', setting @ ..] => {
                let told = match setting {
                    b"m" => Some(format!("{}m", sgr::told(&self.grid.cursor.template))),
                    b"r" => {
                        let region = &self.frame.region;
                        Some(format!("{};{}r", region.start + 1, region.end))
                    }
                    b" q" => Some(format!("{} q", self.modes.cursor_style())),
                    _ => None,
                };
                told.map_or("\x1bP0$r\x1b\\".to_owned(), |told| format!("\x1bP1$r{told}\x1b\\"))
            }
            // No capability is known; the name comes back, so that the program can tell which.
            [b'+', names @ ..]
                if names.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b';') =>
            {
                format!("\x1bP0+r{}\x1b\\", String::from_utf8_lossy(names))
            }
            _ => return,
        };
        self.answer(Query::Setting, &text);
    }

    /// Says again what changes with the size, to a program that wants to be told.
    pub(crate) fn size_changed(&mut self) {
        if self.modes.has(Mode::InBandSize) {
            self.answer_in_band_size();
        }
    }
}

/// Returns one of the 256 indexed colors as xterm has it: red, green, blue.
pub fn usual_color(index: u8) -> (u8, u8, u8) {
    let Rgb { r, g, b } = usual(index.into());
    (r, g, b)
}

fn usual(index: u16) -> Rgb {
    const BASE: [(u8, u8, u8); 16] = [
        (0x00, 0x00, 0x00),
        (0xcd, 0x00, 0x00),
        (0x00, 0xcd, 0x00),
        (0xcd, 0xcd, 0x00),
        (0x00, 0x00, 0xee),
        (0xcd, 0x00, 0xcd),
        (0x00, 0xcd, 0xcd),
        (0xe5, 0xe5, 0xe5),
        (0x7f, 0x7f, 0x7f),
        (0xff, 0x00, 0x00),
        (0x00, 0xff, 0x00),
        (0xff, 0xff, 0x00),
        (0x5c, 0x5c, 0xff),
        (0xff, 0x00, 0xff),
        (0x00, 0xff, 0xff),
        (0xff, 0xff, 0xff),
    ];
    if let Some((r, g, b)) = BASE.get(usize::from(index)) {
        return Rgb { r: *r, g: *g, b: *b };
    }
    let level = |step: u16| u8::try_from(if step == 0 { 0 } else { 55 + 40 * step }).unwrap_or(255);
    match index {
        16..=231 => {
            let step = index - 16;
            Rgb { r: level(step / 36), g: level(step / 6 % 6), b: level(step % 6) }
        }
        _ => {
            let gray = u8::try_from(8 + 10 * index.saturating_sub(232)).unwrap_or(255);
            Rgb { r: gray, g: gray, b: gray }
        }
    }
}
