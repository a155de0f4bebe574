//! The unfinished sequence at the end of what was read.
//!
//! A snapshot may be taken at any byte. What the parser has in its hands then must be sent along, or the
//! next bytes are printed as text. The parser does not tell, so its states are followed here from the last
//! escape character on; from there the way is short, and text costs nothing.

use vocab::limits::SCREEN_STRING_BYTES_MAX;

const ESC: u8 = 0x1b;
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

    /// Takes the beginning of a character, if that is what is pending.
    ///
    /// The parser never gets half a character: it loses what follows one when that is malformed.
    pub(crate) fn take_half_character(&mut self) -> Vec<u8> {
        if self.state == State::Ground { std::mem::take(&mut self.pending) } else { Vec::new() }
    }

    /// Returns how many bytes at the end of what was followed are half a character.
    pub(crate) fn n_half(&self) -> usize {
        if self.state == State::Ground { self.pending.len() } else { 0 }
    }

    /// Follows the parser over what it is about to read.
    pub(crate) fn follow(&mut self, bytes: &[u8]) {
        let start = memchr::memrchr(ESC, bytes);
        if let Some(start) = start {
            self.begin(State::Escape);
            self.pending.push(ESC);
            self.walk(&bytes[start + 1..]);
        } else {
            self.walk(bytes);
        }
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.pending.clear();
        self.pending.shrink_to(256);
        self.n_swallowed = 0;
    }

    /// Walks on where no escape character follows.
    fn walk(&mut self, bytes: &[u8]) {
        for (at, byte) in bytes.iter().enumerate() {
            if self.state == State::Ground {
                return self.keep_half_character(&bytes[at..]);
            }
            let next = self.state.after(*byte, &self.pending);
            if next == State::Ground {
                self.begin(State::Ground);
                continue;
            }
            // Control characters inside a sequence take effect at once and must not do so again.
            let is_control = *byte < 0x20 || (*byte == 0x7f && self.state != State::Osc);
            if !is_control && self.pending.len() < SCREEN_STRING_BYTES_MAX {
                self.pending.push(*byte);
            }
            self.state = next;
        }
    }

    /// Keeps the beginning of a character whose end has not come yet.
    fn keep_half_character(&mut self, bytes: &[u8]) {
        self.pending = half_character(bytes).to_vec();
    }
}

/// Returns the beginning of a character at the end of a text, if its end may still come.
pub(crate) fn half_character(bytes: &[u8]) -> &[u8] {
    let last = &bytes[bytes.len().saturating_sub(3)..];
    let Some(lead) = last.iter().rposition(|byte| 0xc2 <= *byte) else { return &[] };
    let half = &last[lead..];
    match std::str::from_utf8(half) {
        Err(error) if error.error_len().is_none() => half,
        _ => &[],
    }
}

impl State {
    fn after(self, byte: u8, pending: &[u8]) -> Self {
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
                let head = pending.get(2..).unwrap_or_default();
                let is_late = head.iter().any(|byte| (0x20..=0x2f).contains(byte));
                let is_misplaced = 0x3c <= byte && !head.is_empty();
                if is_late || is_misplaced { Self::Ignored } else { self }
            }
            _ => self,
        }
    }
}
