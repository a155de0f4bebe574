//! How keys are to be told: kitty's stack of flags.
//!
//! Keys are not encoded here; clients' terminals do that.

use std::collections::VecDeque;

use vocab::limits::SCREEN_KEYBOARD_LEVELS_MAX;

/// Every flag that the protocol knows.
const FLAGS: u8 = 0b1_1111;

/// One screen's flags and the ones saved below them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Keyboard {
    current: u8,
    saved: VecDeque<u8>,
}

impl Keyboard {
    pub(crate) fn current(&self) -> u8 {
        self.current
    }

    /// Returns the number of saved levels.
    pub(crate) fn n_levels(&self) -> usize {
        self.saved.len()
    }

    pub(crate) fn push(&mut self, flags: u16) {
        if self.saved.len() == SCREEN_KEYBOARD_LEVELS_MAX {
            self.saved.pop_front();
        }
        self.saved.push_back(self.current);
        self.current = low_flags(flags);
    }

    pub(crate) fn pop(&mut self, n_levels: u16) {
        for _ in 0..usize::from(n_levels).min(SCREEN_KEYBOARD_LEVELS_MAX + 1) {
            self.current = self.saved.pop_back().unwrap_or(0);
        }
    }

    /// Changes the current flags: 2 adds, 3 takes away, anything else replaces.
    pub(crate) fn set(&mut self, flags: u16, how: u16) {
        let flags = low_flags(flags);
        self.current = match how {
            2 => self.current | flags,
            3 => self.current & !flags,
            _ => flags,
        };
    }

    /// Writes what rebuilds the stack where it is empty.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut levels = self.saved.iter().chain([&self.current]);
        if let Some(lowest) = levels.next().filter(|flags| **flags != 0) {
            out.extend_from_slice(format!("\x1b[={lowest};1u").as_bytes());
        }
        for flags in levels {
            out.extend_from_slice(format!("\x1b[>{flags}u").as_bytes());
        }
    }
}

fn low_flags(flags: u16) -> u8 {
    u8::try_from(flags & u16::from(FLAGS)).unwrap_or(0)
}
