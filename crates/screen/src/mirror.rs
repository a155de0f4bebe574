//! The mirror as its host sees it: bytes in; text, snapshots, answers and events out.
//!
//! It does nothing by itself and at no time of its own.

use alacritty_terminal::vte::Parser;

use crate::{
    answers::{Audience, Persona},
    events::{Event, Progress},
    flood::Graphics,
    modes::Mode,
    resets::Levels,
    size::Size,
    tail::{ESC, Tail},
    terminal::Terminal,
};

/// How much is read before it is looked where the parser stands. A control string may grow by so much
/// beyond its limit.
const CHUNK_BYTES: usize = 4_096;

/// A terminal that nobody has to look at.
pub struct Mirror {
    pub(crate) terminal: Terminal,
    pub(crate) tail: Tail,
    parser: Parser,
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirror").field("size", &self.size()).finish_non_exhaustive()
    }
}

impl Mirror {
    /// Returns a fresh terminal.
    pub fn new(size: Size) -> Self {
        Self { terminal: Terminal::new(size), tail: Tail::default(), parser: Parser::new() }
    }

    /// Reads what the program wrote. Chunks may be cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = &rest[self.flood(rest)..];
            let (chunk, later) = rest.split_at(rest.len().min(CHUNK_BYTES));
            rest = later;
            let mut joined = self.tail.take_half_character();
            if joined.is_empty() {
                self.read(chunk);
            } else {
                joined.extend_from_slice(chunk);
                self.read(&joined);
            }
        }
    }

    /// Takes the lines that have left the screen once all of this is read, and returns how many bytes they were.
    fn flood(&mut self, bytes: &[u8]) -> usize {
        // A line takes two bytes at least.
        if bytes.len() < 2 * self.terminal.n_lines() || !self.tail.is_idle() {
            return 0;
        }
        // It begins with a line.
        let mut n_begun = 0;
        if self.terminal.column() != 0 {
            let newline = memchr::memchr(b'\n', &bytes[..bytes.len().min(CHUNK_BYTES)]);
            n_begun = newline.map_or(0, |newline| newline + 1);
            self.read(&bytes[..n_begun]);
        }
        let n_flooded = match self.tail.is_idle() {
            true => self.terminal.flood(&bytes[n_begun..]),
            false => 0,
        };
        n_begun + n_flooded
    }

    fn read(&mut self, chunk: &[u8]) {
        let n_surplus = self.tail.n_surplus(chunk);
        let (surplus, chunk) = chunk.split_at(n_surplus);
        self.tail.swallow(surplus.len());
        if chunk.is_empty() {
            return;
        }
        if self.tail.is_broken() {
            // The parser ends its string only with these bytes; what it then has is not to be believed.
            self.parser = Parser::new();
            self.parser.advance(&mut self.terminal, self.tail.pending());
        }
        let mut rest = chunk;
        while !rest.is_empty() {
            if self.tail.is_ground() {
                let n_text = memchr::memchr(ESC, rest).unwrap_or(rest.len());
                let (text, sequence) = rest.split_at(n_text);
                rest = sequence;
                if rest.is_empty() {
                    self.terminal.text(self.tail.keep_half_character(text));
                    return;
                }
                self.terminal.text(text);
                // Most sequences change the pen, and need no parser that knows them all.
                if let Some(graphics) = rest.strip_prefix(b"\x1b[").and_then(Graphics::read) {
                    graphics.apply(&mut self.terminal.grid.cursor.template);
                    rest = &rest[2 + graphics.n_bytes()..];
                    continue;
                }
            }
            let n_bytes = self.tail.follow(rest);
            self.parser.advance(&mut self.terminal, &rest[..n_bytes]);
            rest = &rest[n_bytes..];
        }
    }

    /// Takes a new size; text of the main screen is wrapped anew.
    pub fn resize(&mut self, size: Size) {
        if size != self.size() {
            self.terminal.resize(size);
            self.terminal.size_changed();
        }
    }

    /// Returns the size.
    pub fn size(&self) -> Size {
        self.terminal.frame.size
    }

    /// Sets who hears the program's questions from now on.
    pub fn set_audience(&mut self, audience: Audience) {
        self.terminal.outbox.audience = audience;
    }

    /// Sets the terminal that the program believes to be in.
    pub fn set_persona(&mut self, persona: Persona) {
        self.terminal.outbox.persona = persona.checked();
    }

    /// Returns the terminal that the program believes to be in.
    pub fn persona(&self) -> &Persona {
        &self.terminal.outbox.persona
    }

    /// Takes the answers to be written to the program.
    pub fn take_answers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.terminal.outbox.answers)
    }

    /// Takes what the program told since the last time.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.terminal.outbox.events.take()
    }

    /// Returns the title, or an empty text.
    pub fn title(&self) -> &str {
        &self.terminal.labels.title
    }

    /// Returns the working directory that the program told, as a URL, or an empty text.
    pub fn directory(&self) -> &str {
        &self.terminal.labels.directory
    }

    /// Returns how far the program says it is.
    pub fn progress(&self) -> Progress {
        self.terminal.labels.progress
    }

    /// Tells whether the alternate screen is shown.
    pub fn is_alternate(&self) -> bool {
        self.terminal.below.is_some()
    }

    /// Tells whether the program wants to know when its terminal gains or loses the focus.
    pub fn wants_focus(&self) -> bool {
        self.terminal.modes.has(Mode::Focus)
    }

    /// Tells whether the program is in the middle of drawing a frame (synchronized output).
    pub fn is_drawing(&self) -> bool {
        self.terminal.modes.has(Mode::Synchronized)
    }

    /// Returns what a client's terminal has to give back when it leaves.
    pub fn levels(&self) -> Levels {
        Levels::held(&self.terminal)
    }
}
