//! The last question to a terminal. Answers come in the order of the questions, so that nothing of what it
//! was asked before comes after this one.
//!
//! Not here: how long an answer is waited for.

/// Looks for the answer.
#[derive(Debug, Default)]
pub(super) struct Fence(Place);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Escape,
    Bracket,
    Inside,
}

impl Fence {
    /// What every terminal answers: who are you.
    pub(super) const QUESTION: &[u8] = b"\x1b[c";

    /// Takes what has come; true once the answer (`CSI ? … c`) was in it.
    pub(super) fn is_reached(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().any(|byte| {
            self.0 = match (self.0, byte) {
                (_, 0x1b) => Place::Escape,
                (Place::Escape, b'[') => Place::Bracket,
                (Place::Bracket, b'?') | (Place::Inside, b'0'..=b'9' | b';') => Place::Inside,
                (Place::Inside, b'c') => return true,
                _ => Place::Before,
            };
            false
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_found_behind_others_and_cut_anywhere() {
        let bytes = b"\x1b[>1;2c\x1b[?2026;2$y\x1b]11;rgb:0/0/0\x07typed\x1b[?1u\x1b[?62;4c";
        for at in 0..bytes.len() {
            let mut fence = Fence::default();
            let (before, after) = bytes.split_at(at);
            assert!(!fence.is_reached(before) && fence.is_reached(after), "{at}");
        }
        assert!(!Fence::default().is_reached(&bytes[..bytes.len() - 1]));
    }
}
