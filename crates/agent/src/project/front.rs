//! The few keys at the head of a skill's file: `---`, lines of `key: value`, `---`.
//!
//! Not YAML but the part of it that such heads are written in: plain, quoted and folded texts. What else stands there,
//! lists and maps, is passed over.

use std::collections::BTreeMap;

/// Reads the head of a text.
pub(super) fn read(text: &str) -> Result<BTreeMap<String, String>, &'static str> {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return Err("it has no head between two lines of ---");
    }
    let mut head = Vec::new();
    let mut is_closed = false;
    for line in lines {
        if line.trim_end() == "---" {
            is_closed = true;
            break;
        }
        head.push(line);
    }
    if !is_closed {
        return Err("its head has no end");
    }
    let mut found = BTreeMap::new();
    let mut rest = head.as_slice();
    while let [line, after @ ..] = rest {
        let n_below = after.iter().take_while(|line| is_below(line)).count();
        let (below, next) = after.split_at(n_below);
        rest = next;
        if line.trim().is_empty() || line.starts_with('#') || line.starts_with([' ', '\t']) {
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            return Err("a line of its head is no key with a value");
        };
        found.insert(key.trim().to_owned(), value_of(value.trim(), below)?);
    }
    Ok(found)
}

/// Tells whether a line belongs to the key above it.
fn is_below(line: &str) -> bool {
    line.starts_with([' ', '\t', '-']) || line.trim().is_empty()
}

fn value_of(first: &str, below: &[&str]) -> Result<String, &'static str> {
    let is_block = first.starts_with(['>', '|']);
    let mut words: Vec<&str> = if is_block { Vec::new() } else { vec![first] };
    words.extend(below.iter().map(|line| line.trim()));
    // A description is told on one line, however it was written.
    let joined =
        words.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ");
    if is_block {
        return Ok(joined);
    }
    match joined.chars().next() {
        Some(quote @ ('"' | '\'')) => unquoted(&joined, quote),
        _ => Ok(joined.split(" #").next().unwrap_or_default().trim_end().to_owned()),
    }
}

fn unquoted(text: &str, quote: char) -> Result<String, &'static str> {
    let unclosed = "a quoted text of its head has no end";
    let mut inner = String::new();
    let mut chars = text.chars().skip(1).peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if quote == '"' => match chars.next().ok_or(unclosed)? {
                'n' | 't' | 'r' => inner.push(' '),
                other => inner.push(other),
            },
            char if char == quote && quote == '\'' && chars.peek() == Some(&'\'') => {
                chars.next();
                inner.push('\'');
            }
            char if char == quote => return Ok(inner),
            char => inner.push(char),
        }
    }
    Err(unclosed)
}
