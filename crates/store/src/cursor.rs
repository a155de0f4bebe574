//! Where a reader of the facts stands, and whose turn it is to write.

use std::{fmt, str::FromStr};

/// A place in the order of the facts of one store, written `<store-id>.<seq>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Which store: eight hexadecimal digits.
    pub store_id: String,
    /// The last fact seen; zero before the first.
    pub seq: u64,
}

/// Why a text is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a cursor: expected <store-id>.<seq>")]
pub struct BadCursor {
    /// What was given, cut to 80 characters.
    pub text: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.store_id, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = BadCursor;
    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let bad = || BadCursor { text: text.chars().take(80).collect() };
        let (store_id, seq) = text.split_once('.').ok_or_else(bad)?;
        let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let digits = !seq.is_empty() && seq.bytes().all(|b| b.is_ascii_digit());
        if store_id.len() != 8 || !store_id.bytes().all(hex) || !digits {
            return Err(bad());
        }
        // SQLite counts in 63 bits, so a larger number is nobody's place.
        match seq.parse::<i64>().ok().and_then(|seq| u64::try_from(seq).ok()) {
            Some(seq) => Ok(Self { store_id: store_id.to_owned(), seq }),
            None => Err(bad()),
        }
    }
}

/// The right to write: each start of a daemon takes a new one, and what holds an older one is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Epoch {
    pub(crate) store_id: String,
    pub(crate) number: u64,
}

impl Epoch {
    /// Returns the count of starts of the store, this one included.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_parses_back_and_anything_else_is_refused() {
        let cursor = Cursor { store_id: "0a1b2c3d".into(), seq: 42 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        let far = "0a1b2c3d.9223372036854775808";
        for bad in ["", "42", "0a1b2c3d", "0a1b2c3d.", "0a1b2c3d.+1", "0A1b2c3d.1", ".1", far] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }
}
