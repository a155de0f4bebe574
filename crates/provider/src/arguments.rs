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

/// Tells whether a text is one whole object.
#[must_use]
pub fn is_object(text: &str) -> bool {
    text.trim_end().ends_with('}') && object(text).is_some()
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
