//! The switches of a terminal in one table, from which they are set, told, rebuilt and reset.
//!
//! What a switch does stands where it is asked; most only matter to the client's terminal.

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    CursorKeys,
    Reverse,
    Origin,
    Wrap,
    Visible,
    Keypad,
    Focus,
    AlternateScroll,
    MetaEscape,
    Urgency,
    Paste,
    Synchronized,
    Clusters,
    Theme,
    InBandSize,
    Insert,
    NewLine,
}

/// How a private switch is dealt with in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replay {
    /// Written when it differs from a fresh terminal.
    Written,
    /// Written where the cursor is, since it moves it or changes how text is painted.
    WithCursor,
    /// Never written.
    Never,
}

/// The private switches: number, switch, how it stands in a fresh terminal, how it is rebuilt.
#[rustfmt::skip]
pub(crate) const PRIVATE: &[(u16, Mode, bool, Replay)] = &[
    (1, Mode::CursorKeys, false, Replay::Written),
    (5, Mode::Reverse, false, Replay::Written),
    (6, Mode::Origin, false, Replay::WithCursor),
    (7, Mode::Wrap, true, Replay::WithCursor),
    (25, Mode::Visible, true, Replay::Written),
    (66, Mode::Keypad, false, Replay::Written),
    (1004, Mode::Focus, false, Replay::Written),
    (1007, Mode::AlternateScroll, true, Replay::Written),
    (1036, Mode::MetaEscape, true, Replay::Written),
    (1042, Mode::Urgency, true, Replay::Written),
    (2004, Mode::Paste, false, Replay::Written),
    // A client frozen inside a frame would wait for its timeout.
    (2026, Mode::Synchronized, false, Replay::Never),
    (2027, Mode::Clusters, false, Replay::Written),
    (2031, Mode::Theme, false, Replay::Written),
    (2048, Mode::InBandSize, false, Replay::Written),
];

/// The ANSI switches.
const ANSI: &[(u16, Mode)] = &[(4, Mode::Insert), (20, Mode::NewLine)];

/// Which mouse events are told; one at a time.
pub(crate) const TRACKING: &[u16] = &[9, 1000, 1002, 1003];

/// How mouse events are spelled; one at a time.
pub(crate) const ENCODING: &[u16] = &[1005, 1006, 1015, 1016];

/// Where all switches stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Modes {
    bits: u32,
    /// The mouse events that are told, or 0.
    pub(crate) tracking: u16,
    /// How they are spelled, or 0.
    pub(crate) encoding: u16,
    /// The cursor's style as DECSCUSR counts it.
    cursor_style: u8,
    /// Whether the cursor blinks, where that alone was set and its shape is the terminal's own.
    cursor_blink: Option<bool>,
    /// xterm's modifyOtherKeys.
    pub(crate) other_keys: u8,
}

impl Default for Modes {
    fn default() -> Self {
        let mut modes = Self {
            bits: 0,
            tracking: 0,
            encoding: 0,
            cursor_style: 0,
            cursor_blink: None,
            other_keys: 0,
        };
        for (_, mode, on, _) in PRIVATE {
            modes.put(*mode, *on);
        }
        modes
    }
}

impl Modes {
    pub(crate) fn has(&self, mode: Mode) -> bool {
        self.bits & (1 << mode as u8) != 0
    }

    pub(crate) fn put(&mut self, mode: Mode, on: bool) {
        let bit = 1 << mode as u8;
        if on {
            self.bits |= bit;
        } else {
            self.bits &= !bit;
        }
    }

    /// Sets what needs no more than being remembered. Returns the switch, so that the caller does the rest.
    pub(crate) fn put_private(&mut self, number: u16, on: bool) -> Option<Mode> {
        if TRACKING.contains(&number) {
            self.tracking = if on { number } else { 0 };
        } else if ENCODING.contains(&number) {
            if on {
                self.encoding = number;
            } else if self.encoding == number {
                self.encoding = 0;
            }
        } else if number == 12 {
            self.put_blink(on);
        }
        let mode = PRIVATE.iter().find(|row| row.0 == number).map(|row| row.1)?;
        self.put(mode, on);
        Some(mode)
    }

    /// Makes the cursor blink or not, whatever its shape. Of a shape that was set this is a property: odd
    /// numbers blink. Where none was, the shape stays the terminal's own.
    fn put_blink(&mut self, on: bool) {
        if self.cursor_style == 0 {
            self.cursor_blink = Some(on);
        } else {
            self.cursor_style += self.cursor_style % 2;
            self.cursor_style -= u8::from(on);
        }
    }

    /// Returns the cursor's style as DECSCUSR counts it; the terminal's own shape counts as a block.
    pub(crate) fn cursor_style(&self) -> u8 {
        match self.cursor_blink {
            Some(true) => 1,
            Some(false) => 2,
            None => self.cursor_style,
        }
    }

    /// Sets the cursor's shape and with it whether it blinks; 0 is the terminal's own.
    pub(crate) fn put_cursor_style(&mut self, style: u8) {
        (self.cursor_style, self.cursor_blink) = (style, None);
    }

    pub(crate) fn put_ansi(&mut self, number: u16, on: bool) {
        if let Some((_, mode)) = ANSI.iter().find(|row| row.0 == number) {
            self.put(*mode, on);
        }
    }

    /// Returns how a private switch stands, or nothing if it is unknown here.
    pub(crate) fn private(&self, number: u16) -> Option<bool> {
        if TRACKING.contains(&number) {
            return Some(self.tracking == number);
        }
        if ENCODING.contains(&number) {
            return Some(self.encoding == number);
        }
        if number == 12 {
            return Some(self.cursor_blink.unwrap_or(self.cursor_style % 2 == 1));
        }
        PRIVATE.iter().find(|row| row.0 == number).map(|row| self.has(row.1))
    }

    pub(crate) fn ansi(&self, number: u16) -> Option<bool> {
        ANSI.iter().find(|row| row.0 == number).map(|row| self.has(row.1))
    }

    /// Writes what sets everything that the cursor does not depend on, where all stands as when fresh.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for (number, mode, fresh, replay) in PRIVATE {
            if *replay == Replay::Written && self.has(*mode) != *fresh {
                let letter = if self.has(*mode) { 'h' } else { 'l' };
                // Some terminals know the keypad only by its older spelling.
                if *mode == Mode::Keypad {
                    out.extend_from_slice(b"\x1b=");
                } else {
                    out.extend_from_slice(format!("\x1b[?{number}{letter}").as_bytes());
                }
            }
        }
        for number in [self.tracking, self.encoding] {
            if number != 0 {
                out.extend_from_slice(format!("\x1b[?{number}h").as_bytes());
            }
        }
        if self.has(Mode::NewLine) {
            out.extend_from_slice(b"\x1b[20h");
        }
        if self.cursor_style != 0 {
            out.extend_from_slice(format!("\x1b[{} q", self.cursor_style).as_bytes());
        }
        if let Some(blink) = self.cursor_blink {
            out.extend_from_slice(if blink { b"\x1b[?12h" } else { b"\x1b[?12l" });
        }
        if self.other_keys != 0 {
            out.extend_from_slice(format!("\x1b[>4;{}m", self.other_keys).as_bytes());
        }
    }
}
