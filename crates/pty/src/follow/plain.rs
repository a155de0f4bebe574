//! A program's output without everything that is meant for a terminal: no color, no movement, no title.
//!
//! What was drawn in place is not put together again; that is what the screen is for.

/// The state between two pieces of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// An escape with intermediate bytes.
    Intermediate,
    /// Up to its final byte.
    Control,
    /// Up to its terminator; a bell ends a command as well.
    Command,
    /// Up to its terminator.
    String,
    /// The first byte of a control character of the second set.
    Second,
}

/// Takes out what is no text.
#[derive(Debug, Default)]
pub(super) struct Plain(State);

impl Plain {
    /// Returns the text of the next piece.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.0 = step(self.0, *byte, &mut out);
        }
        out
    }
}

fn step(state: State, byte: u8, out: &mut Vec<u8>) -> State {
    match (state, byte) {
        (_, 0x1b) => State::Escape,
        (_, 0x18 | 0x1a) => State::Text,
        (State::Escape, b'[') => State::Control,
        (State::Escape, b']') => State::Command,
        (State::Escape, b'P' | b'X' | b'^' | b'_') => State::String,
        (State::Escape | State::Intermediate, 0x20..=0x2f) => State::Intermediate,
        (State::Escape | State::Intermediate, 0x30..=0x7e) => State::Text,
        (State::Control, 0x40..=0x7e) | (State::Command, 0x07) => State::Text,
        // A line's end takes effect also within a sequence.
        (State::Text | State::Escape | State::Intermediate | State::Control, b'\n' | b'\t') => {
            out.push(byte);
            state
        }
        (State::Text, 0xc2) => State::Second,
        (State::Text, 0x20..=0x7e | 0x80..) => {
            out.push(byte);
            State::Text
        }
        (State::Second, 0x80..=0x9f) => State::Text,
        (State::Second, _) => {
            out.push(0xc2);
            step(State::Text, byte, out)
        }
        _ => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        for at in 0..=bytes.len() {
            let mut plain = Plain::default();
            let told = [plain.feed(&bytes[..at]), plain.feed(&bytes[at..])].concat();
            assert_eq!(String::from_utf8_lossy(&told), expected, "{bytes:?} cut at {at}");
        }
    }

    #[test]
    fn only_text_is_left() {
        check(b"plain\ttext\r\n", "plain\ttext\n");
        check(b"\x1b[1;31mred\x1b[0m \x1b[2K\x1b[10;5Hx", "red x");
        check(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\", "ab");
        check(b"\x1bP1$r0m\x1b\\a\x1b_Gpicture\x07\x1b\\b\x1b(Bc\x1b7d", "abcd");
        check("ü漢😀\u{9b}©".as_bytes(), "ü漢😀©");
        check(b"\x1b[3\n1mx\x08\x07y\x7f", "\nxy");
        check(b"\x1b[31\x18ok\x1b]never ends", "ok");
    }
}
