//! What of a client's bytes a person typed, and what its terminal said by itself.
//!
//! A terminal answers questions, tells about the mouse and the focus, and all of it arrives like keys. An
//! answer that nobody waits for would be typed into the program, and none of it makes its client the
//! writer.
//!
//! Where it stays open whether a key was pressed or an answer begins, the bytes are held, and for a short time
//! only: a terminal says its answer in one go.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use vocab::limits::{HOST_SEQUENCE_BYTES_MAX, HOST_SEQUENCE_MS_MAX};

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// What a program is open to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wants {
    /// It has asked something since this client became the writer.
    pub(super) answers: bool,
    /// It wants to know about the focus.
    pub(super) focus: bool,
}

/// One client's input, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sorted {
    /// What reaches the program.
    pub(super) bytes: Vec<u8>,
    /// Tells whether a person typed or pasted any of it.
    pub(super) is_typed: bool,
}

/// What a sequence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Typed,
    /// Told without being asked: mouse, size, colors.
    Told,
    Focus,
    Answer,
    /// Either a key or an answer, which look alike.
    Either,
}

/// Sorts the bytes of one client. Chunks may be cut anywhere but behind an escape, which is a key,
/// or what makes it one with Alt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sorter {
    /// A sequence that is still coming.
    pending: Vec<u8>,
    is_paste: bool,
    /// How much of the paste's end was seen last.
    n_end: usize,
    /// When what is pending is no answer any more. Another build counts anew.
    #[serde(skip)]
    due: Option<Duration>,
}

impl Sorter {
    pub(super) fn sort(&mut self, bytes: &[u8], wants: Wants) -> Sorted {
        let mut sorted = Sorted::default();
        for byte in bytes {
            if self.is_paste {
                self.paste(*byte, &mut sorted);
            } else if self.pending.is_empty() && *byte != 0x1b {
                sorted.typed(&[*byte]);
            } else {
                self.take(*byte, wants, &mut sorted);
            }
        }
        // An escape alone is the key, and with a bracket it is that key with Alt.
        let is_key = matches!(
            self.pending.as_slice(),
            [0x1b] | [0x1b, b'[' | b']' | b'O' | b'P' | b'_' | b'^']
        );
        if is_key || HOST_SEQUENCE_BYTES_MAX <= self.pending.len() {
            self.release(&mut sorted);
        }
        if self.pending.is_empty() {
            self.due = None;
        }
        sorted
    }

    /// Tells whether bytes are held, and makes sure that they are not held for long.
    pub(super) fn holds(&mut self, now: Duration) -> bool {
        if !self.pending.is_empty() && self.due.is_none() {
            self.due = Some(now + Duration::from_millis(HOST_SEQUENCE_MS_MAX));
        }
        !self.pending.is_empty()
    }

    /// Returns when what is held has been held for long enough; none while nothing is.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Gives back what is held, which was typed.
    pub(super) fn give_up(&mut self) -> Sorted {
        let mut sorted = Sorted::default();
        self.release(&mut sorted);
        self.due = None;
        sorted
    }

    fn release(&mut self, sorted: &mut Sorted) {
        sorted.typed(&std::mem::take(&mut self.pending));
    }

    /// Takes a byte that begins a sequence or goes on with one.
    fn take(&mut self, byte: u8, wants: Wants, sorted: &mut Sorted) {
        if goes_on(&self.pending, byte) {
            self.pending.push(byte);
            self.look(wants, sorted);
            return;
        }
        // What came before was keys after all. Its last escape, or this byte, may begin something else.
        let is_escape = self.pending.pop_if(|last| *last == 0x1b).is_some();
        self.release(sorted);
        match (is_escape, byte) {
            (true, _) => {
                self.pending.push(0x1b);
                self.take(byte, wants, sorted);
            }
            (false, 0x1b) => self.pending.push(byte),
            (false, _) => sorted.typed(&[byte]),
        }
    }

    fn paste(&mut self, byte: u8, sorted: &mut Sorted) {
        sorted.typed(&[byte]);
        self.n_end = match PASTE_END.get(self.n_end) {
            Some(expected) if *expected == byte => self.n_end + 1,
            _ => usize::from(byte == 0x1b),
        };
        if self.n_end == PASTE_END.len() {
            (self.is_paste, self.n_end) = (false, 0);
        }
    }

    /// Looks whether the pending sequence is whole.
    fn look(&mut self, wants: Wants, sorted: &mut Sorted) {
        let Some(sort) = whole(&self.pending) else { return };
        let bytes = std::mem::take(&mut self.pending);
        self.is_paste = bytes == PASTE_BEGIN;
        let passes = match sort {
            Sort::Typed => true,
            Sort::Either if !wants.answers => true,
            Sort::Told => {
                sorted.bytes.extend_from_slice(&bytes);
                return;
            }
            Sort::Focus | Sort::Answer | Sort::Either => {
                let is_wanted = if sort == Sort::Focus { wants.focus } else { wants.answers };
                if is_wanted {
                    sorted.bytes.extend_from_slice(&bytes);
                }
                return;
            }
        };
        if passes {
            sorted.typed(&bytes);
        }
    }
}

impl Sorted {
    fn typed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.is_typed |= !bytes.is_empty();
    }
}

/// Tells whether a byte can go on with a sequence, so that there may be one at all.
fn goes_on(pending: &[u8], byte: u8) -> bool {
    match pending {
        // The old mouse tells bytes of any value.
        [_, b'[', b'M', ..] => true,
        [_, b'[', ..] => (0x20..=0x7e).contains(&byte),
        [_, introducer @ (b']' | b'P' | b'_' | b'^'), text @ ..] => match (text, byte) {
            ([.., 0x1b], _) => byte == b'\\',
            ([], _) => begins_answer(*introducer, byte),
            (_, 0x07 | 0x1b) => true,
            _ => 0x20 <= byte && byte != 0x7f,
        },
        _ => true,
    }
}

/// Tells whether an answer in a string may begin so; what a key with Alt and the next key send often does not.
fn begins_answer(introducer: u8, first: u8) -> bool {
    match introducer {
        // A number, or a title.
        b']' => matches!(first, b'0'..=b'9' | b'l' | b'L'),
        // Settings, capabilities, the version, the unit.
        b'P' => matches!(first, b'0'..=b'9' | b'>' | b'!' | b'$' | b'+'),
        // Pictures.
        b'_' => first == b'G',
        // Terminals say nothing in private messages.
        _ => false,
    }
}

/// Returns what a sequence is, none while it is still coming.
fn whole(bytes: &[u8]) -> Option<Sort> {
    match bytes {
        [] | [_] => None,
        // The old mouse: three bytes of any value.
        [_, b'[', b'M', rest @ ..] => (rest.len() == 3).then_some(Sort::Told),
        [_, b'[', params @ .., last] => {
            let is_final = (0x40..=0x7e).contains(last) && !(params.is_empty() && *last == b'[');
            is_final.then(|| control(params, *last))
        }
        [_, b'['] => None,
        [_, b']' | b'P' | b'_' | b'^', .., 0x07]
        | [_, b']' | b'P' | b'_' | b'^', .., 0x1b, b'\\'] => Some(Sort::Answer),
        [_, b']' | b'P' | b'_' | b'^', ..] => None,
        // Function keys of the application mode.
        [_, b'O'] => None,
        _ => Some(Sort::Typed),
    }
}

fn control(params: &[u8], last: u8) -> Sort {
    match (params, last) {
        ([], b'I' | b'O') => Sort::Focus,
        ([b'<', ..], b'M' | b'm') => Sort::Told,
        // In-band size (mode 2048) and colors (mode 2031) come unasked.
        ([b'4', b'8', b';', ..], b't') | ([b'?', b'9', b'9', b'7', b';', ..], b'n') => Sort::Told,
        ([b'?' | b'>' | b'=', ..], b'c') | ([b'?', ..], b'u' | b'R') | (_, b't' | b'n') => {
            Sort::Answer
        }
        ([.., b'$'], b'y') => Sort::Answer,
        // The third function key with a modifier looks like a cursor's position.
        ([b'1', b';', _], b'R') => Sort::Either,
        ([.., b';', _] | [.., b';', _, _] | [.., b';', _, _, _], b'R') => Sort::Answer,
        _ => Sort::Typed,
    }
}

#[cfg(test)]
mod tests;
