//! What a terminal sends, as messages: bytes in, keys and pasted texts out.
//!
//! It takes the sequences that terminals send unasked. No I/O and no clock: whoever reads says when nothing
//! more has come.

use vocab::limits::VIEW_LINE_BYTES_MAX;

use crate::msg::{Key, Msg};

const ESCAPE: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";
/// The longest sequence of a key; what is longer is none.
const SEQUENCE_BYTES_MAX: usize = 32;

/// The state between two reads.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// What has come and is not understood yet.
    held: Vec<u8>,
    /// The text that is being pasted.
    paste: Option<Vec<u8>>,
}

/// What stands at the beginning of some bytes.
enum Found {
    /// A key of so many bytes.
    Key(Key, usize),
    /// So many bytes that mean nothing here.
    Nothing(usize),
    /// A pasted text begins behind so many bytes.
    Paste(usize),
    /// The rest has yet to come.
    Unfinished,
}

impl Parser {
    /// Takes the next bytes and appends what they say.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Msg>) {
        self.held.extend_from_slice(bytes);
        loop {
            if self.paste.is_some() {
                if !self.go_on_pasting(out) {
                    return;
                }
                continue;
            }
            let n_bytes = match found(&self.held) {
                Found::Unfinished => return,
                Found::Nothing(n_bytes) => n_bytes,
                Found::Key(key, n_bytes) => {
                    out.push(Msg::Key(key));
                    n_bytes
                }
                Found::Paste(n_bytes) => {
                    self.paste = Some(Vec::new());
                    n_bytes
                }
            };
            self.held.drain(..n_bytes);
        }
    }

    /// Tells whether something has begun that the next bytes may complete.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.held.is_empty() && self.paste.is_none()
    }

    /// Takes what has begun for what it is alone, since nothing more has come.
    pub(crate) fn lapse(&mut self, out: &mut Vec<Msg>) {
        if self.is_waiting() {
            if self.held == [ESCAPE] {
                out.push(Msg::Key(Key::Esc));
            }
            self.held.clear();
        }
    }

    /// Takes what is pasted; false when its end has yet to come.
    fn go_on_pasting(&mut self, out: &mut Vec<Msg>) -> bool {
        let Some(paste) = &mut self.paste else { return false };
        let end = self.held.windows(PASTE_END.len()).position(|bytes| bytes == PASTE_END);
        // The end may be cut in the middle.
        let n_bytes = end.unwrap_or(self.held.len().saturating_sub(PASTE_END.len() - 1));
        let room = VIEW_LINE_BYTES_MAX.saturating_sub(paste.len());
        paste.extend(self.held.drain(..n_bytes).take(room));
        if end.is_some() {
            self.held.drain(..PASTE_END.len());
            let text = String::from_utf8_lossy(paste).into_owned();
            self.paste = None;
            out.push(Msg::Paste(text));
        }
        end.is_some()
    }
}

fn found(bytes: &[u8]) -> Found {
    match bytes {
        [] => Found::Unfinished,
        [ESCAPE] => Found::Unfinished,
        [ESCAPE, b'[', rest @ ..] => sequence(rest),
        [ESCAPE, b'O'] => Found::Unfinished,
        [ESCAPE, b'O', last, ..] => {
            key_of_letter(*last).map_or(Found::Nothing(3), |key| Found::Key(key, 3))
        }
        // Nothing here is done with Alt, so Escape was pressed, and then something else.
        [ESCAPE, ..] => Found::Key(Key::Esc, 1),
        [b'\r' | b'\n', ..] => Found::Key(Key::Enter, 1),
        [b'\t', ..] => Found::Key(Key::Tab, 1),
        [0x08 | 0x7f, ..] => Found::Key(Key::Backspace, 1),
        [control @ 1..=0x1a, ..] => Found::Key(Key::Ctrl(char::from(control + b'a' - 1)), 1),
        [0..=0x1f, ..] => Found::Nothing(1),
        _ => character(bytes),
    }
}

/// Finds a character; bytes that are none mean nothing.
fn character(bytes: &[u8]) -> Found {
    let first = &bytes[..bytes.len().min(4)];
    let text = match std::str::from_utf8(first) {
        Ok(text) => text,
        Err(error) if 0 < error.valid_up_to() => {
            std::str::from_utf8(&first[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => {
            return error.error_len().map_or(Found::Unfinished, Found::Nothing);
        }
    };
    match text.chars().next() {
        Some(c) if c.is_control() => Found::Nothing(c.len_utf8()),
        Some(c) => Found::Key(Key::Char(c), c.len_utf8()),
        None => Found::Unfinished,
    }
}

/// Understands what follows `ESC [`: numbers, then a byte that says what they are.
fn sequence(rest: &[u8]) -> Found {
    let is_parameter = |byte: &&u8| matches!(byte, 0x20..=0x3f);
    let at = rest.iter().take(SEQUENCE_BYTES_MAX).take_while(is_parameter).count();
    let last = match rest.get(at) {
        Some(last) if matches!(last, 0x40..=0x7e) && at < SEQUENCE_BYTES_MAX => *last,
        None if at < SEQUENCE_BYTES_MAX => return Found::Unfinished,
        // What cannot be one is let go, without what made it so.
        _ => return Found::Nothing(2 + at),
    };
    let n_bytes = 2 + at + 1;
    let numbers = std::str::from_utf8(&rest[..at]).unwrap_or_default();
    if numbers.starts_with(['<', '=', '>', '?']) {
        return Found::Nothing(n_bytes);
    }
    let number = numbers.split(';').next().unwrap_or_default();
    let key = match (last, number) {
        (b'~', "200") => return Found::Paste(n_bytes),
        (b'~', "1" | "7") => Some(Key::Home),
        (b'~', "4" | "8") => Some(Key::End),
        (b'~', "3") => Some(Key::Delete),
        (b'~', "5") => Some(Key::PageUp),
        (b'~', "6") => Some(Key::PageDown),
        (letter, _) => key_of_letter(letter).filter(|key| *key != Key::Enter),
    };
    key.map_or(Found::Nothing(n_bytes), |key| Found::Key(key, n_bytes))
}

fn key_of_letter(letter: u8) -> Option<Key> {
    match letter {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        b'H' => Some(Key::Home),
        b'F' => Some(Key::End),
        b'M' => Some(Key::Enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
