//! Character sets: what a letter is drawn as, where a program has said so.
//!
//! Three of them exist here, as in xterm unless national sets are switched on. Every other one is as good as
//! ASCII.

use alacritty_terminal::vte::ansi::StandardCharset;

/// A set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Set {
    #[default]
    Ascii,
    Lines,
    British,
}

/// The four places for sets, and which of them is in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sets {
    places: [Set; 4],
    used: usize,
}

/// What comes before the letter of a set that is put into each place.
const PLACES: [u8; 4] = *b"()*+";

/// What brings each place into use.
const SHIFTS: [&[u8]; 4] = [b"\x0f", b"\x0e", b"\x1bn", b"\x1bo"];

impl Set {
    /// Returns what a letter is drawn as.
    pub(crate) fn map(self, letter: char) -> char {
        match (self, letter) {
            (Self::Lines, _) => StandardCharset::SpecialCharacterAndLineDrawing.map(letter),
            (Self::British, '#') => '£',
            _ => letter,
        }
    }
}

impl Sets {
    /// Returns the one in use.
    pub(crate) fn current(self) -> Set {
        self.places[self.used]
    }

    /// Brings a place into use, counted from 0.
    pub(crate) fn shift(&mut self, place: usize) {
        self.used = place;
    }

    /// Puts the set of a letter into the place of an intermediate; other intermediates mean something else.
    pub(crate) fn designate(&mut self, intermediate: u8, letter: u8) {
        let set = match letter {
            b'0' => Set::Lines,
            b'A' => Set::British,
            _ => Set::Ascii,
        };
        if let Some(place) = PLACES.iter().position(|byte| *byte == intermediate) {
            self.places[place] = set;
        }
    }

    /// Writes what brings a terminal there in which all stands as when fresh.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        for (set, place) in self.places.iter().zip(PLACES) {
            let letter = match set {
                Set::Ascii => continue,
                Set::Lines => b'0',
                Set::British => b'A',
            };
            out.extend_from_slice(&[0x1b, place, letter]);
        }
        if self.used != 0 {
            out.extend_from_slice(SHIFTS[self.used]);
        }
    }
}
