//! Bounds before meaning: a message is measured in one pass before anything is parsed or allocated for it.
//!
//! The pass also finds the message's type and id, so that a request with wrong fields can be answered. It
//! checks no grammar beyond brackets and strings; the parser does that, over what is known to be small.

use bytes::{BufMut, Bytes, BytesMut};
use vocab::limits::{
    REMOTE_DEPTH_MAX, REMOTE_ITEMS_MAX, REMOTE_KEYS_MAX, REMOTE_PIECE_BYTES_MAX,
    REMOTE_STRING_BYTES_MAX, REMOTE_TEXT_BYTES_MAX, REMOTE_VALUES_MAX,
};

use crate::frame::{CloseStatus, Frame, Violation};

/// The largest id: what every reader of JSON holds exactly.
pub const ID_MAX: u64 = (1 << 53) - 1;

/// How large the parts of a text message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The whole message, in bytes.
    pub bytes_max: usize,
    /// Nesting.
    pub depth_max: usize,
    /// Keys of one object.
    pub keys_max: usize,
    /// Items of one array.
    pub items_max: usize,
    /// One string as written, in bytes.
    pub string_bytes_max: usize,
    /// Values of the whole message.
    pub values_max: usize,
}

impl Bounds {
    /// Returns the bounds of the table.
    #[must_use]
    pub const fn usual() -> Self {
        Self {
            bytes_max: REMOTE_TEXT_BYTES_MAX,
            depth_max: REMOTE_DEPTH_MAX,
            keys_max: REMOTE_KEYS_MAX,
            items_max: REMOTE_ITEMS_MAX,
            string_bytes_max: REMOTE_STRING_BYTES_MAX,
            values_max: REMOTE_VALUES_MAX,
        }
    }
}

/// What a message says of itself before it is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// Its `type`; empty when there is none that could be known.
    pub kind: &'a str,
    /// Its `id`, where it has a usable one.
    pub id: Option<u64>,
}

fn too_big(message: String) -> Violation {
    Violation::new(CloseStatus::TooBig, "message_too_big", message)
}

fn broken(message: &str) -> Violation {
    Violation::protocol(format!("not a message: {message}"))
}

/// Measures a text message and finds its head.
///
/// # Errors
/// When it is larger than allowed in any way, no UTF-8, or evidently no JSON object.
pub fn scan<'a>(text: &'a [u8], bounds: &Bounds) -> Result<Head<'a>, Violation> {
    if text.len() > bounds.bytes_max {
        let (len, max) = (text.len(), bounds.bytes_max);
        return Err(too_big(format!("a message of {len} bytes exceeds {max}")));
    }
    let text = std::str::from_utf8(text).map_err(|_bytes| {
        Violation::new(CloseStatus::InvalidPayload, "invalid_utf8", "a text message is not UTF-8")
    })?;
    Scan::new(text, bounds).run()
}

/// One open bracket.
#[derive(Clone, Copy)]
struct Level {
    object: bool,
    n_members: usize,
}

struct Scan<'a, 'b> {
    text: &'a str,
    bounds: &'b Bounds,
    at: usize,
    levels: Vec<Level>,
    n_values: usize,
    /// The key of the outermost object whose value comes next.
    key: Option<&'a str>,
    kind: Option<&'a str>,
    id: Option<u64>,
}

impl<'a, 'b> Scan<'a, 'b> {
    fn new(text: &'a str, bounds: &'b Bounds) -> Self {
        let levels = Vec::with_capacity(8);
        Self { text, bounds, at: 0, levels, n_values: 0, key: None, kind: None, id: None }
    }

    fn run(mut self) -> Result<Head<'a>, Violation> {
        let bytes = self.text.as_bytes();
        let mut closed = false;
        while let Some(&byte) = bytes.get(self.at) {
            if byte.is_ascii_whitespace() {
                self.at += 1;
                continue;
            }
            if closed || (self.levels.is_empty() && byte != b'{') {
                return Err(broken("it is no single object"));
            }
            match byte {
                b'{' | b'[' => self.open(byte == b'{')?,
                b'}' | b']' => closed = self.close(byte == b'}')?,
                b',' => self.comma()?,
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number(),
                _ => self.at += 1,
            }
        }
        if !closed {
            return Err(broken("it ends early"));
        }
        Ok(Head { kind: self.kind.unwrap_or(""), id: self.id })
    }

    fn open(&mut self, object: bool) -> Result<(), Violation> {
        if self.levels.len() >= self.bounds.depth_max {
            let max = self.bounds.depth_max;
            return Err(Violation::policy(format!("nesting exceeds {max} levels")));
        }
        self.count()?;
        self.key = None;
        self.levels.push(Level { object, n_members: 1 });
        self.at += 1;
        Ok(())
    }

    fn close(&mut self, object: bool) -> Result<bool, Violation> {
        match self.levels.pop() {
            Some(level) if level.object == object => {}
            Some(_) | None => return Err(broken("its brackets do not match")),
        }
        self.at += 1;
        Ok(self.levels.is_empty())
    }

    fn comma(&mut self) -> Result<(), Violation> {
        self.count()?;
        self.key = None;
        self.at += 1;
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        level.n_members += 1;
        let (what, max) = if level.object {
            ("an object has more keys", self.bounds.keys_max)
        } else {
            ("an array has more items", self.bounds.items_max)
        };
        if level.n_members > max {
            return Err(Violation::policy(format!("{what} than {max}")));
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Violation> {
        self.n_values += 1;
        if self.n_values > self.bounds.values_max {
            let max = self.bounds.values_max;
            return Err(Violation::policy(format!("a message holds more than {max} values")));
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), Violation> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut end = start;
        loop {
            let rest = bytes.get(end..).unwrap_or_default();
            let Some(step) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
                return Err(broken("a string does not end"));
            };
            end += step;
            if bytes.get(end) == Some(&b'"') {
                break;
            }
            end += 2;
        }
        if end - start > self.bounds.string_bytes_max {
            let max = self.bounds.string_bytes_max;
            return Err(too_big(format!("a string exceeds {max} bytes")));
        }
        self.at = end + 1;
        if self.levels.len() == 1 {
            self.outermost(self.text.get(start..end).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Takes a string of the outermost object: a key, or a key's value.
    fn outermost(&mut self, string: &'a str) -> Result<(), Violation> {
        match self.key.take() {
            None => self.key = Some(string),
            Some("type") if self.kind.is_some() => return Err(broken("it has two types")),
            Some("type") => self.kind = Some(string),
            Some(_) => {}
        }
        Ok(())
    }

    fn number(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
        if self.levels.len() == 1 && self.key == Some("id") {
            let id = rest.get(..end).and_then(|digits| digits.parse().ok());
            self.id = id.filter(|id| (1..=ID_MAX).contains(id));
        }
        self.at += end.max(1);
    }
}

/// A piece of content under a request's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The request.
    pub id: u64,
    /// Where in the content it stands.
    pub offset: u64,
    /// The bytes, never empty.
    pub bytes: Bytes,
}

/// The length of what stands before a piece's bytes: id and offset, eight bytes each, big-endian.
pub const PIECE_HEAD_BYTES: usize = 16;

/// Reads a binary message.
///
/// # Errors
/// When it is too short, too large, or has no usable id.
pub fn piece(message: &Bytes) -> Result<Piece, Violation> {
    if message.len() > PIECE_HEAD_BYTES + REMOTE_PIECE_BYTES_MAX {
        return Err(too_big(format!("a piece exceeds {REMOTE_PIECE_BYTES_MAX} bytes")));
    }
    let number = |at: usize| {
        let bytes = message.get(at..at + 8)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    };
    let (Some(id), Some(offset)) = (number(0), number(8)) else {
        return Err(Violation::protocol("a piece is shorter than its head"));
    };
    if message.len() == PIECE_HEAD_BYTES || !(1..=ID_MAX).contains(&id) {
        return Err(Violation::protocol("a piece has no bytes or no usable id"));
    }
    Ok(Piece { id, offset, bytes: message.slice(PIECE_HEAD_BYTES..) })
}

/// Writes a binary message. The bytes are copied once, into a message of their own.
#[must_use]
pub fn piece_frame(id: u64, offset: u64, bytes: &[u8]) -> Frame {
    let mut message = BytesMut::with_capacity(PIECE_HEAD_BYTES + bytes.len());
    message.put_u64(id);
    message.put_u64(offset);
    message.put_slice(bytes);
    Frame::Binary(message.freeze())
}

#[cfg(test)]
mod tests;
