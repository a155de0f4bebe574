//! Changes to a JSON text that leave every other byte alone.
//!
//! The text is known to be JSON when it comes here. What is found are places; what is added takes the
//! indentation and the line ends of what stands around it.

use std::ops::Range;

use serde::Serialize as _;
use serde_json::Value;

/// A value's place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) inside: Inside,
}

/// What a value holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inside {
    Object(Vec<(String, Child)>),
    Array(Vec<Child>),
    Plain,
}

/// A value in a container, with where its entry begins: at its key, in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Child {
    pub(super) start: usize,
    pub(super) value: Node,
}

impl Node {
    /// Finds the places of a JSON text.
    pub(super) fn of(text: &str) -> Option<Self> {
        Reader { text, at: 0 }.value()
    }

    /// Returns a member of an object.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        let Inside::Object(members) = &self.inside else { return None };
        members.iter().find(|(key, _)| key == name).map(|(_, child)| &child.value)
    }

    /// Returns the elements of an array.
    pub(super) fn elements(&self) -> impl Iterator<Item = &Self> {
        let elements = if let Inside::Array(elements) = &self.inside { &elements[..] } else { &[] };
        elements.iter().map(|child| &child.value)
    }

    fn children(&self) -> Vec<(usize, usize)> {
        let place = |child: &Child| (child.start, child.value.span.end);
        match &self.inside {
            Inside::Object(members) => members.iter().map(|(_, child)| place(child)).collect(),
            Inside::Array(elements) => elements.iter().map(place).collect(),
            Inside::Plain => Vec::new(),
        }
    }
}

/// Adds an entry at the end of an object or an array.
pub(super) fn add(text: &str, container: &Node, key: Option<&str>, value: &Value) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let unit = unit(text);
    let outer = indentation(text, container.span.start);
    let children = container.children();
    let first = children.first().map(|(start, _)| *start);
    let is_spread = first.is_none_or(|first| text[container.span.start..first].contains('\n'));
    let inner = match first {
        Some(first) if is_spread => indentation(text, first),
        _ => format!("{outer}{unit}"),
    };
    let mut entry = pretty(value, &unit).replace('\n', &format!("{newline}{inner}"));
    if let Some(key) = key {
        entry = format!("{}: {entry}", Value::from(key));
    }
    match children.last() {
        Some((_, end)) if is_spread => insert(text, *end, &format!(",{newline}{inner}{entry}")),
        Some((_, end)) => insert(text, *end, &format!(", {entry}")),
        None => {
            let (open, close) = if key.is_some() { ('{', '}') } else { ('[', ']') };
            let whole = format!("{open}{newline}{inner}{entry}{newline}{outer}{close}");
            [&text[..container.span.start], &whole, &text[container.span.end..]].concat()
        }
    }
}

/// Removes an entry of an object or an array.
pub(super) fn remove(text: &str, container: &Node, idx: usize) -> String {
    let children = container.children();
    let cut =
        match (idx.checked_sub(1).and_then(|before| children.get(before)), children.get(idx + 1)) {
            (Some((_, before)), _) => *before..children[idx].1,
            (None, Some((next, _))) => children[idx].0..*next,
            // Nothing is left between its brackets.
            (None, None) => container.span.start + 1..container.span.end - 1,
        };
    [&text[..cut.start], &text[cut.end..]].concat()
}

/// Puts another value in the place of one.
pub(super) fn replace(text: &str, old: &Node, value: &Value) -> String {
    [&text[..old.span.start], &value.to_string(), &text[old.span.end..]].concat()
}

fn insert(text: &str, at: usize, new: &str) -> String {
    [&text[..at], new, &text[at..]].concat()
}

/// Returns the blanks at the beginning of the line that holds a place.
fn indentation(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// Returns by how much the text indents.
fn unit(text: &str) -> String {
    let usual = || "  ".to_owned();
    text.lines()
        .skip(1)
        .map(|line| indentation(line, 0))
        .find(|it| !it.is_empty())
        .unwrap_or_else(usual)
}

fn pretty(value: &Value, unit: &str) -> String {
    let format = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, format);
    // A value of strings and lists is always written.
    value.serialize(&mut serializer).ok();
    String::from_utf8(out).unwrap_or_default()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Option<Node> {
        self.blanks();
        let start = self.at;
        let inside = match self.peek()? {
            b'{' => Inside::Object(self.object()?),
            b'[' => Inside::Array(self.array()?),
            b'"' => {
                self.string()?;
                Inside::Plain
            }
            _ => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let rest = &self.text.as_bytes()[self.at..];
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
                Inside::Plain
            }
        };
        Some(Node { span: start..self.at, inside })
    }

    fn object(&mut self) -> Option<Vec<(String, Child)>> {
        let mut members = Vec::new();
        self.at += 1;
        while !self.closes(b'}')? {
            let start = self.at;
            self.string()?;
            let key = serde_json::from_str(&self.text[start..self.at]).ok()?;
            self.blanks();
            self.at += 1;
            members.push((key, Child { start, value: self.value()? }));
        }
        Some(members)
    }

    fn array(&mut self) -> Option<Vec<Child>> {
        let mut elements = Vec::new();
        self.at += 1;
        while !self.closes(b']')? {
            let start = self.at;
            elements.push(Child { start, value: self.value()? });
        }
        Some(elements)
    }

    /// Goes to the next entry, and tells whether there is none.
    fn closes(&mut self, bracket: u8) -> Option<bool> {
        self.blanks();
        if self.peek()? == b',' {
            self.at += 1;
            self.blanks();
        }
        let closes = self.peek()? == bracket;
        self.at += usize::from(closes);
        Some(closes)
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
