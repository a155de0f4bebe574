//! What a control sequence of a terminal says: a key, the release of one, or something nobody typed.
//!
//! Keys come in three shapes: as one byte, as kitty's protocol has it (`CSI code:shifted:base;modifiers:event;text u`),
//! and as xterm's `modifyOtherKeys` (`CSI 27;modifiers;code~`). Not here: where a sequence begins and ends.

use super::chord::{Key, SHIFT};

/// Shift, alt, ctrl, super, hyper and meta. The two locks above them are no part of a key.
const HELD_DOWN: u32 = 0x3f;
/// The event of a key that is let go of.
const RELEASE: u32 = 3;

/// What a sequence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A key went down. It may be one of several: the same one has different names on different layouts.
    Press([Option<Key>; 4]),
    /// A key came up, or one that does nothing alone went down.
    Aside,
    /// The terminal told something by itself: the mouse, the focus, an answer.
    Report,
    /// A mouse report of which three bytes are still to come.
    Mouse,
    /// The text after it is pasted.
    Paste,
}

impl Meaning {
    /// A key that cannot be part of a chord.
    pub(super) const OTHER: Self = Self::Press([None; 4]);

    pub(super) fn of_byte(byte: u8) -> Self {
        Self::Press([Some(Key::of_byte(byte)), None, None, None])
    }

    /// Returns what a control sequence says, of which `body` follows the bracket.
    pub(super) fn of_sequence(body: &[u8]) -> Self {
        let Some((last, params)) = body.split_last() else { return Self::OTHER };
        match (params, last) {
            ([b'<' | b'=' | b'>' | b'?', ..], _) | ([], b'I' | b'O') => Self::Report,
            // With one parameter or more these are answers, and one looks like a function key.
            (_, b'c' | b'n' | b't' | b'y' | b'R') => Self::Report,
            ([], b'M') => Self::Mouse,
            (b"200", b'~') => Self::Paste,
            _ => Self::of_key(&Params::read(params), *last),
        }
    }

    fn of_key(params: &Params<'_>, last: u8) -> Self {
        // Other keys than those with a code tell their release in the same place.
        let is_xterm = last == b'~' && params.get(0, 0) == Some(27) && params.get(2, 0).is_some();
        if !is_xterm && params.get(1, 1) == Some(RELEASE) {
            return Self::Aside;
        }
        let held = params.get(1, 0).unwrap_or(1).saturating_sub(1) & HELD_DOWN;
        let held = u8::try_from(held).unwrap_or_default();
        let key = |code: Option<u32>, held: u8| code.map(|code| Key::new(code, held));
        match (last, params.get(0, 0)) {
            (b'~', _) if is_xterm => Self::Press([key(params.get(2, 0), held), None, None, None]),
            (b'u', Some(code)) if is_modifier(code) => Self::Aside,
            (b'u', code) => Self::Press([
                key(code, held),
                key(params.get(0, 1), held & !SHIFT),
                key(params.get(0, 2), held),
                key(params.get(2, 0), held & !SHIFT),
            ]),
            _ => Self::OTHER,
        }
    }
}

/// Tells whether a key of kitty's protocol does nothing alone: the locks, and what is held down beside others.
fn is_modifier(code: u32) -> bool {
    matches!(code, 57_358..=57_360 | 57_441..=57_454)
}

/// Numbers by parameter and part.
struct Params<'a>(Vec<&'a [u8]>);

impl<'a> Params<'a> {
    fn read(params: &'a [u8]) -> Self {
        Self(params.split(|byte| *byte == b';').collect())
    }

    /// Returns a number; none where it was left out or is none.
    fn get(&self, at: usize, part: usize) -> Option<u32> {
        let part = self.0.get(at)?.split(|byte| *byte == b':').nth(part)?;
        std::str::from_utf8(part).ok()?.parse().ok()
    }
}
