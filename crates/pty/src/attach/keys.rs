//! Finds the keys that let go of a job in what a terminal sends, and lets everything else through
//! untouched.
//!
//! What has been understood so far and what has been passed on so far are two things. Understanding never
//! depends on how the bytes were cut. Passing on may run ahead of it: an escape whose rest has not come is
//! passed on when the terminal has nothing more to say, since it is a key of its own and no timer can know
//! better; if its rest comes after all, it is understood as one. A sequence with a number in it is no key
//! yet, so it is held until it is whole, and a program is not told half of a key that was meant for us.

use std::mem;

use vocab::limits::ATTACH_KEYS_BYTES_MAX;

use super::{
    chord::{Chord, Key},
    sequence::Meaning,
};

const ESCAPE: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// What was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Heard {
    /// Nothing for us.
    Passed,
    /// The keys that let go. Nothing after them is looked at.
    Detach,
}

/// Where in the stream it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Ground,
    Escape,
    Control,
    /// After `ESC O`: one more byte.
    Single,
    /// In an answer that ends with a control character.
    Text,
    /// In a mouse report, so many bytes before its end.
    Mouse(u8),
    /// In pasted text, of whose end so many bytes were seen last.
    Paste(usize),
}

/// One terminal's input.
#[derive(Debug)]
pub(super) struct Keys {
    chords: Vec<Chord>,
    place: Place,
    /// The sequence that is still coming, and how much of it was passed on.
    sequence: Vec<u8>,
    n_passed: usize,
    /// The first key of a chord, once it was pressed.
    first: Option<Key>,
    /// What belongs to it and was not passed on.
    held: Vec<u8>,
}

impl Keys {
    pub(super) fn new(chords: Vec<Chord>) -> Self {
        let (sequence, held) = (Vec::new(), Vec::new());
        Self { chords, place: Place::default(), sequence, n_passed: 0, first: None, held }
    }

    /// Takes bytes and writes what is to be passed on.
    pub(super) fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Heard {
        for byte in bytes {
            if self.take(*byte, out) == Heard::Detach {
                return Heard::Detach;
            }
        }
        Heard::Passed
    }

    /// Tells whether nothing is held back that a pause would make a key.
    pub(super) fn is_between(&self) -> bool {
        !matches!(self.place, Place::Escape | Place::Single | Place::Control)
    }

    /// Writes what may be a key already, to be called when the terminal has nothing more to say for now.
    pub(super) fn pause(&mut self, out: &mut Vec<u8>) {
        let is_key = match self.place {
            Place::Escape | Place::Single => true,
            Place::Control => self.sequence.len() == 2,
            Place::Ground | Place::Text | Place::Mouse(_) | Place::Paste(_) => false,
        };
        if is_key {
            out.append(&mut self.held);
            self.pass(out);
        }
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>) -> Heard {
        match self.place {
            Place::Paste(n_end) => {
                out.push(byte);
                let n_end = match PASTE_END.get(n_end) {
                    Some(expected) if *expected == byte => n_end + 1,
                    _ => usize::from(byte == ESCAPE),
                };
                let is_over = n_end == PASTE_END.len();
                self.place = if is_over { Place::Ground } else { Place::Paste(n_end) };
                Heard::Passed
            }
            Place::Text if 0x20 <= byte || byte == 0x07 => {
                out.push(byte);
                self.place = if byte == 0x07 { Place::Ground } else { Place::Text };
                Heard::Passed
            }
            Place::Mouse(n_left) if 0x20 <= byte => {
                out.push(byte);
                self.place = if n_left <= 1 { Place::Ground } else { Place::Mouse(n_left - 1) };
                Heard::Passed
            }
            // A key that was pressed while an answer was cut off, or what only looked like the start of one.
            Place::Text | Place::Mouse(_) | Place::Ground => self.begin(byte, out),
            Place::Escape => self.take_escaped(byte, out),
            Place::Single if 0x20 <= byte => self.end(byte, Meaning::OTHER, out),
            Place::Control if (0x20..0x40).contains(&byte) => self.grow(byte, out),
            // The function keys of Linux's console begin like this.
            Place::Control if byte == b'[' && self.sequence.len() == 2 => {
                self.end(byte, Meaning::OTHER, out)
            }
            Place::Control if (0x40..0x7f).contains(&byte) => {
                let body = [self.sequence.get(2..).unwrap_or_default(), &[byte]].concat();
                self.end(byte, Meaning::of_sequence(&body), out)
            }
            // Cut off by another key.
            Place::Control | Place::Single => self.break_off(byte, out),
        }
    }

    fn begin(&mut self, byte: u8, out: &mut Vec<u8>) -> Heard {
        if byte == ESCAPE {
            self.sequence.push(byte);
            self.place = Place::Escape;
            return Heard::Passed;
        }
        self.end(byte, Meaning::of_byte(byte), out)
    }

    fn take_escaped(&mut self, byte: u8, out: &mut Vec<u8>) -> Heard {
        match byte {
            b'[' | b'O' => {
                self.sequence.push(byte);
                self.place = if byte == b'[' { Place::Control } else { Place::Single };
                Heard::Passed
            }
            b']' | b'P' | b'_' | b'^' | b'X' => {
                let heard = self.end(byte, Meaning::OTHER, out);
                self.place = Place::Text;
                heard
            }
            // A control character after the escape is a key of its own, so that who has just left a
            // mode with it can let go at once.
            0..0x20 => self.break_off(byte, out),
            _ => self.end(byte, Meaning::OTHER, out),
        }
    }

    /// Takes a byte that goes on with a sequence. One without an end is none.
    fn grow(&mut self, byte: u8, out: &mut Vec<u8>) -> Heard {
        if ATTACH_KEYS_BYTES_MAX <= self.sequence.len() {
            return self.break_off(byte, out);
        }
        self.sequence.push(byte);
        Heard::Passed
    }

    /// Takes a byte that does not belong to the sequence before it.
    fn break_off(&mut self, byte: u8, out: &mut Vec<u8>) -> Heard {
        self.place = Place::Ground;
        match self.mean(Meaning::OTHER, out) {
            Heard::Passed => self.begin(byte, out),
            Heard::Detach => Heard::Detach,
        }
    }

    /// Takes the last byte of something.
    fn end(&mut self, byte: u8, meaning: Meaning, out: &mut Vec<u8>) -> Heard {
        self.sequence.push(byte);
        self.place = match meaning {
            Meaning::Mouse => Place::Mouse(3),
            Meaning::Paste => Place::Paste(0),
            Meaning::Press(_) | Meaning::Aside | Meaning::Report => Place::Ground,
        };
        self.mean(meaning, out)
    }

    /// Does what the sequence means, which is whole now.
    fn mean(&mut self, meaning: Meaning, out: &mut Vec<u8>) -> Heard {
        match meaning {
            Meaning::Press(keys) => return self.press(keys, out),
            Meaning::Paste => return self.press([None; 4], out),
            // Nobody typed these, so they run past a key that is held back.
            Meaning::Report | Meaning::Mouse => self.pass(out),
            Meaning::Aside if self.first.is_none() => self.pass(out),
            Meaning::Aside => {
                let mut held = mem::take(&mut self.held);
                self.pass(&mut held);
                if held.len() <= ATTACH_KEYS_BYTES_MAX {
                    self.held = held;
                } else {
                    out.append(&mut held);
                }
            }
        }
        self.forget();
        Heard::Passed
    }

    /// A key went down.
    fn press(&mut self, keys: [Option<Key>; 4], out: &mut Vec<u8>) -> Heard {
        let is = |key: Key| keys.contains(&Some(key));
        let first = self.first.take();
        let detaches = self.chords.iter().any(|chord| match (first, chord.second) {
            (None, None) => is(chord.first),
            (Some(first), Some(second)) => chord.first == first && is(second),
            _ => false,
        });
        if detaches {
            self.held.clear();
            self.forget();
            return Heard::Detach;
        }
        let begun = self.chords.iter().map(|chord| chord.first).find(|first| is(*first));
        match (first, begun) {
            (None, Some(_)) => {
                self.first = begun;
                let mut held = mem::take(&mut self.held);
                self.pass(&mut held);
                self.held = held;
            }
            // Twice the first key is that key once.
            (Some(first), _) if is(first) => {
                self.held.clear();
                self.pass(out);
            }
            _ => {
                out.append(&mut self.held);
                self.pass(out);
            }
        }
        self.forget();
        Heard::Passed
    }

    /// Writes what of the sequence was not passed on yet.
    fn pass(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.sequence.get(self.n_passed..).unwrap_or_default());
        self.n_passed = self.sequence.len();
    }

    fn forget(&mut self) {
        self.sequence.clear();
        self.n_passed = 0;
    }
}

#[cfg(test)]
mod tests;
