//! The unfinished sequence at the end of what was read.
//!
//! A snapshot may be taken at any byte. What the parser has in its hands then must be sent along, or the
//! next bytes are printed as text. The parser does not tell, so its states are followed here, and it is
//! given sequences only: text goes around it.

use vocab::limits::SCREEN_STRING_BYTES_MAX;

/// Begins every sequence.
pub(crate) const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// Where the parser stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    Intermediate,
    Csi,
    Osc,
    /// Before the letter that begins a device control string's text.
    DcsHead,
    Dcs,
    /// A string that nobody reads (SOS, PM, APC, a malformed DCS).
    Ignored,
}

/// Follows the parser.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    state: State,
    pending: Vec<u8>,
    /// The parameters and intermediates of a device control string.
    head: Vec<u8>,
    /// How many bytes of a string too long to be kept were swallowed.
    n_swallowed: usize,
}

impl Tail {
    /// Returns what must be sent so that another parser stands where this one does.
    pub(crate) fn pending(&self) -> &[u8] {
        if !self.is_broken() {
            return &self.pending;
        }
        // Half a string would be taken for a whole one. These mean nothing to anybody.
        if matches!(self.state, State::Dcs | State::DcsHead) {
            b"\x1bPz"
        } else if self.state == State::Ignored {
            b"\x1b_"
        } else {
            b"\x1b]6969;"
        }
    }

    /// Tells whether the string being read has lost its middle.
    pub(crate) fn is_broken(&self) -> bool {
        self.n_swallowed != 0
    }

    /// Returns how many bytes at the start belong to a string that is too long, to be kept from the parser.
    pub(crate) fn n_surplus(&self, bytes: &[u8]) -> usize {
        if !matches!(self.state, State::Osc | State::Dcs | State::Ignored)
            || self.pending.len() < SCREEN_STRING_BYTES_MAX
        {
            return 0;
        }
        let ends = |byte: &u8| match *byte {
            ESC | 0x18 | 0x1a => true,
            BEL => self.state == State::Osc,
            0x9c => self.state == State::Dcs,
            _ => false,
        };
        bytes.iter().position(ends).unwrap_or(bytes.len())
    }

    pub(crate) fn swallow(&mut self, n_bytes: usize) {
        self.n_swallowed += n_bytes;
    }

    /// Tells whether what comes next is text, or the first byte of a sequence.
    pub(crate) fn is_ground(&self) -> bool {
        self.state == State::Ground
    }

    /// Tells whether nothing is unfinished.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_ground() && self.pending.is_empty()
    }

    /// Takes the beginning of a character, if that is what is pending.
    pub(crate) fn take_half_character(&mut self) -> Vec<u8> {
        if self.is_ground() { std::mem::take(&mut self.pending) } else { Vec::new() }
    }

    /// Keeps the beginning of a character whose end has not come yet, and returns the text before it.
    ///
    /// The parser never gets text: it loses what follows half a character when that is malformed.
    pub(crate) fn keep_half_character<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        let half = half_character(text);
        self.pending.extend_from_slice(half);
        &text[..text.len() - half.len()]
    }

    /// Follows the parser over a sequence, and returns how many of the bytes belong to it.
    pub(crate) fn follow(&mut self, bytes: &[u8]) -> usize {
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == ESC {
                self.begin(State::Escape);
                start = at;
                continue;
            }
            self.state = self.state.after(*byte, &self.head);
            if self.is_ground() {
                self.begin(State::Ground);
                return at + 1;
            }
            if self.state == State::DcsHead && *byte != b'P' {
                self.head.push(*byte);
            }
        }
        self.keep(&bytes[start..]);
        bytes.len()
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.pending.clear();
        self.pending.shrink_to(256);
        self.head.clear();
        self.n_swallowed = 0;
    }

    /// Keeps bytes of a sequence that is not finished.
    fn keep(&mut self, bytes: &[u8]) {
        let n_room = SCREEN_STRING_BYTES_MAX.saturating_sub(self.pending.len());
        // Control characters inside a sequence take effect at once and must not do so again.
        let in_command = self.state == State::Osc;
        let is_kept =
            |byte: &&u8| **byte == ESC || 0x20 <= **byte && (**byte != 0x7f || in_command);
        self.pending.extend(bytes.iter().filter(is_kept).take(n_room));
    }
}

/// Returns the beginning of a character at the end of a text, if its end may still come.
fn half_character(bytes: &[u8]) -> &[u8] {
    let last = &bytes[bytes.len().saturating_sub(3)..];
    let Some(lead) = last.iter().rposition(|byte| 0xc2 <= *byte) else { return &[] };
    let half = &last[lead..];
    match std::str::from_utf8(half) {
        Err(error) if error.error_len().is_none() => half,
        _ => &[],
    }
}

impl State {
    fn after(self, byte: u8, head: &[u8]) -> Self {
        if matches!(byte, 0x18 | 0x1a) {
            return Self::Ground;
        }
        match (self, byte) {
            (Self::Escape, b'P') => Self::DcsHead,
            (Self::Escape, b'[') => Self::Csi,
            (Self::Escape, b']') => Self::Osc,
            (Self::Escape, b'X' | b'^' | b'_') => Self::Ignored,
            (Self::Escape | Self::Intermediate, 0x20..=0x2f) => Self::Intermediate,
            (Self::Escape | Self::Intermediate, 0x30..=0x7e) | (Self::Csi, 0x40..=0x7e) => {
                Self::Ground
            }
            (Self::Osc, BEL) | (Self::Dcs, 0x9c) => Self::Ground,
            (Self::DcsHead, 0x40..=0x7e) => Self::Dcs,
            (Self::DcsHead, 0x30..=0x3f) => {
                // Parameters do not follow intermediates, and a private marker only comes first.
                let is_late = head.iter().any(|byte| (0x20..=0x2f).contains(byte));
                let is_misplaced = 0x3c <= byte && !head.is_empty();
                if is_late || is_misplaced { Self::Ignored } else { self }
            }
            _ => self,
        }
    }
}
