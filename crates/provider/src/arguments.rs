//! The final parse of a call's arguments: strict, then once more after a repair.
//!
//! Nothing is completed or guessed: a text that was cut off stays a text, and the call fails.

use serde_json::{Map, Value};

/// Parses arguments into an object; a text that is none even after the repair comes back as a string.
#[must_use]
pub fn parse(raw: &str) -> Value {
    let text = raw.trim();
    if text.is_empty() {
        return Value::Object(Map::new());
    }
    object(text).or_else(|| object(&repair(text))).unwrap_or_else(|| Value::String(raw.to_owned()))
}

/// Follows arguments as they grow and tells whether they are one whole object, reading each byte once:
/// whoever asks after every piece pays for the pieces, not for the whole each time.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    read: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
    stands: Stands,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stands {
    #[default]
    Open,
    /// It is one, unless something else follows.
    Whole,
    /// It is none, whatever follows.
    Never,
}

impl Growing {
    /// Reads on in a text that has only grown since, and tells whether it is one whole object now.
    pub(crate) fn is_object(&mut self, text: &str) -> bool {
        while let Some(byte) = text.as_bytes().get(self.read).copied() {
            self.read += 1;
            self.stands = match self.stands {
                Stands::Never => return false,
                _ if byte.is_ascii_whitespace() && !self.in_string => continue,
                Stands::Whole => Stands::Never,
                Stands::Open => self.step(text, byte),
            };
        }
        self.stands == Stands::Whole
    }

    fn step(&mut self, text: &str, byte: u8) -> Stands {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = byte == b'\\' && !self.escaped;
            return Stands::Open;
        }
        match byte {
            b'{' => self.depth += 1,
            _ if self.depth == 0 => return Stands::Never,
            b'"' => self.in_string = true,
            b'}' => self.depth -= 1,
            _ => {}
        }
        if 0 < self.depth {
            return Stands::Open;
        }
        let whole = text.get(..self.read).and_then(object);
        if whole.is_some() { Stands::Whole } else { Stands::Never }
    }
}

fn object(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    match value.as_str() {
        // Some gateways encode the object twice.
        Some(inner) => serde_json::from_str::<Value>(inner).ok().filter(Value::is_object),
        None if value.is_null() => Some(Value::Object(Map::new())),
        None => value.is_object().then_some(value),
    }
}

/// Repairs what models are known to write: code fences, an empty object before the real one, raw line
/// ends and unknown escapes in strings, commas before a closing bracket.
fn repair(text: &str) -> String {
    let mut text = text;
    if let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        text = inner.strip_prefix("json").unwrap_or(inner).trim();
    }
    if let Some(rest) = text.strip_prefix("{}").filter(|rest| rest.starts_with('{')) {
        text = rest;
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(char) = chars.next() {
        match char {
            '"' => {
                in_string = !in_string;
                out.push('"');
            }
            '\\' if in_string => escape(&mut chars, &mut out),
            control if in_string && control.is_ascii_control() => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            ',' if !in_string => {
                let mut ahead = chars.clone().skip_while(char::is_ascii_whitespace);
                if !matches!(ahead.next(), Some('}' | ']')) {
                    out.push(',');
                }
            }
            plain => out.push(plain),
        }
    }
    out
}

fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let known = match chars.peek() {
        Some('u') => {
            let digits: Vec<char> = chars.clone().skip(1).take(4).collect();
            digits.len() == 4 && digits.iter().all(char::is_ascii_hexdigit)
        }
        Some(next) => "\"\\/bfnrt".contains(*next),
        None => false,
    };
    out.push_str(if known { "\\" } else { "\\\\" });
    if known {
        out.extend(chars.next());
    }
}

#[cfg(test)]
mod tests;
