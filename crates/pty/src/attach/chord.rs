//! Keys as a person names them, and the one or two of them that let go of a job.
//!
//! Not here: how a terminal sends them.

use std::{fmt, str::FromStr};

pub(super) const SHIFT: u8 = 1;
pub(super) const CTRL: u8 = 4;

/// A key with what is held down beside it. Locks do not count, and a letter is the same one in both cases
/// unless something else is held down too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    code: u32,
    modifiers: u8,
}

impl Key {
    pub(super) fn new(code: u32, modifiers: u8) -> Self {
        let letter = u8::try_from(code).ok().filter(u8::is_ascii_alphabetic);
        match letter {
            Some(letter) if modifiers == SHIFT => {
                Self { code: u32::from(letter.to_ascii_lowercase()), modifiers: 0 }
            }
            Some(letter) => Self { code: u32::from(letter.to_ascii_lowercase()), modifiers },
            None => Self { code, modifiers },
        }
    }

    /// Returns the key that a single byte stands for. Bytes that are part of a character stand for none
    /// that can be named.
    pub(super) fn of_byte(byte: u8) -> Self {
        match byte {
            0 => Self::new(u32::from(b' '), CTRL),
            1..=0x1a => Self::new(u32::from(byte | 0x60), CTRL),
            0x1b..=0x1f => Self::new(u32::from(byte | 0x40), CTRL),
            _ => Self::new(u32::from(byte), 0),
        }
    }

    /// Returns the key that a word names: `d`, `space`, `ctrl-d`.
    fn named(word: &str) -> Result<Self, Wrong> {
        let lower = word.to_ascii_lowercase();
        let (name, modifiers) = match lower.strip_prefix("ctrl-") {
            Some(name) => (name, CTRL),
            None => (lower.as_str(), 0),
        };
        let mut chars = name.chars();
        let code = match (name, chars.next(), chars.next()) {
            ("space", ..) => ' ',
            (_, Some(char), None) if char.is_ascii_graphic() => char,
            _ => return Err(Wrong::Unknown(word.to_owned())),
        };
        let is_control = matches!(code, ' ' | 'a'..='z' | '\\' | ']' | '^' | '_');
        match code {
            'i' | 'm' | '[' if modifiers == CTRL => Err(Wrong::Taken(word.to_owned())),
            _ if modifiers == CTRL && !is_control => Err(Wrong::Unknown(word.to_owned())),
            _ => Ok(Self::new(u32::from(code), modifiers)),
        }
    }
}

/// One key, or two after each other, that let go of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chord {
    pub(super) first: Key,
    pub(super) second: Option<Key>,
}

impl Chord {
    /// What works everywhere: Ctrl-] and then d, which agents, editors and shells leave alone.
    pub const USUAL: Self = Self {
        first: Key { code: b']' as u32, modifiers: CTRL },
        second: Some(Key { code: b'd' as u32, modifiers: 0 }),
    };

    /// Ctrl-Z, for programs that nobody suspends.
    pub const SUSPEND: Self =
        Self { first: Key { code: b'z' as u32, modifiers: CTRL }, second: None };

    /// Reads what a person wrote; no chord at all for `none`.
    ///
    /// # Errors
    /// When a key is none that can be told apart from others, or the first one is a plain character.
    pub fn parse(text: &str) -> Result<Option<Self>, BadChord> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(None);
        }
        text.parse().map(Some)
    }
}

impl FromStr for Chord {
    type Err = BadChord;

    fn from_str(text: &str) -> Result<Self, BadChord> {
        let bad = |why| BadChord { text: text.chars().take(80).collect(), why };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (first, second) = match words.as_slice() {
            [first] => (first, None),
            [first, second] => (first, Some(second)),
            _ => return Err(bad(Wrong::Count)),
        };
        let first = Key::named(first).map_err(bad)?;
        if first.modifiers != CTRL {
            return Err(bad(Wrong::Plain));
        }
        let second = second.map(|word| Key::named(word)).transpose().map_err(bad)?;
        Ok(Self { first, second })
    }
}

/// What was written names no keys that can let go of a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} names no detach keys: {why}")]
pub struct BadChord {
    text: String,
    why: Wrong,
}

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wrong {
    Count,
    Plain,
    Taken(String),
    Unknown(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("it has to be one key or two, or none"),
            Self::Plain => f.write_str("the first key has to be one with ctrl-"),
            Self::Taken(word) => {
                write!(f, "terminals send {word} for Tab, Enter or Escape as well")
            }
            Self::Unknown(word) => write!(f, "{word:?} is no key that can be named here"),
        }
    }
}

#[cfg(test)]
mod tests;
