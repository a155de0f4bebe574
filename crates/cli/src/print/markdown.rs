//! Markdown on a terminal, plainly and while it streams: a machine that takes one character at a time,
//! so that the result does not depend on how the text was cut.
//!
//! Headings, strong words, code, fenced blocks, quotes, list marks and links are drawn; everything else
//! is printed as it was written. Nothing is wrapped: the terminal does that. The text must be clean.

use vocab::limits::MARKDOWN_HELD_BYTES_MAX;

use super::{Style, clean::Cleaner};

/// A text that is being drawn.
#[derive(Debug)]
pub(crate) struct Markdown {
    style: Style,
    cleaner: Cleaner,
    at: At,
    held: String,
    /// The fence that ends the block we are in.
    fence: Option<Fence>,
    /// What ends the style of the whole line.
    line_end: &'static str,
}

/// Where the next character falls.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    /// In the first characters of a line, which decide what the line is.
    LineStart,
    /// In the words of a line.
    Words,
    /// In a heading, which is held until its end.
    Heading,
    /// In the rest of a fence's opening line.
    FenceLine,
    /// In a line of a fenced block.
    Code,
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Markdown {
    /// Starts a text.
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            cleaner: Cleaner::default(),
            at: At::LineStart,
            held: String::new(),
            fence: None,
            line_end: "",
        }
    }

    /// Takes the next piece and returns what can be printed.
    pub(crate) fn feed(&mut self, text: &str) -> String {
        let clean = self.cleaner.feed(text);
        let mut out = String::with_capacity(clean.len());
        for c in clean.chars() {
            self.step(c, &mut out);
        }
        out
    }

    /// Returns what was held back, since nothing follows, and ends every style.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = String::new();
        for c in self.cleaner.finish().chars() {
            self.step(c, &mut out);
        }
        self.end_line(&mut out);
        self.fence = None;
        self.at = At::LineStart;
        out
    }

    fn step(&mut self, c: char, out: &mut String) {
        if c == '\n' {
            self.end_line(out);
            out.push('\n');
            self.at = At::LineStart;
            return;
        }
        match self.at {
            At::LineStart => self.start_line(c, out),
            At::Words => self.word(c, out),
            At::Heading | At::FenceLine => self.hold(c, out),
            At::Code => out.push(c),
        }
    }

    /// Holds a character of a line that is drawn at its end, within bounds.
    fn hold(&mut self, c: char, out: &mut String) {
        self.held.push(c);
        if self.held.len() >= MARKDOWN_HELD_BYTES_MAX {
            out.push_str(&std::mem::take(&mut self.held));
            self.at = At::Words;
        }
    }

    fn end_line(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        match self.at {
            At::LineStart => self.end_short_line(&held, out),
            At::Words => out.push_str(&closed(&held, self.style).unwrap_or(held)),
            At::Heading => {
                out.push_str(&self.style.bold(&plain_words(held.trim_end_matches(['#', ' ']))))
            }
            At::FenceLine => out.push_str(&self.style.dim(&held)),
            At::Code => {}
        }
        out.push_str(std::mem::take(&mut self.line_end));
    }

    /// Ends a line that was over before it was decided.
    fn end_short_line(&mut self, held: &str, out: &mut String) {
        let bare = held.trim();
        if let Some(fence) = self.fence {
            if bare.chars().count() >= fence.length && bare.chars().all(|c| c == fence.mark) {
                self.fence = None;
                out.push_str(&self.style.dim(held));
            } else if !held.is_empty() {
                self.code_line(held, out);
            }
        } else if let Some(fence) = Fence::opened_by(bare) {
            self.fence = Some(fence);
            out.push_str(&self.style.dim(held));
        } else {
            out.push_str(held);
        }
    }

    /// Begins a line of a fenced block: set in, dim, and otherwise untouched.
    fn code_line(&mut self, text: &str, out: &mut String) {
        out.push_str("  ");
        if self.style.0 {
            out.push_str("\x1b[2m");
            self.line_end = "\x1b[0m";
        }
        out.push_str(text);
        self.at = At::Code;
    }

    fn start_line(&mut self, c: char, out: &mut String) {
        self.held.push(c);
        if let Some(fence) = self.fence {
            let bare = self.held.trim();
            if !bare.chars().all(|c| c == fence.mark) || self.held.len() >= MARKDOWN_HELD_BYTES_MAX
            {
                let text = std::mem::take(&mut self.held);
                self.code_line(&text, out);
            }
            return;
        }
        let indent = self.held.len() - self.held.trim_start_matches([' ', '\t']).len();
        let (space, bare) = self.held.split_at(indent);
        let Some(first) = bare.chars().next().filter(|_| self.held.len() < MARKDOWN_HELD_BYTES_MAX)
        else {
            if self.held.len() >= MARKDOWN_HELD_BYTES_MAX {
                self.begin_words(out);
            }
            return;
        };
        match (first, line_kind(first, bare)) {
            (_, Kind::Undecided) => {}
            (_, Kind::Fence) => {
                self.fence = Fence::opened_by(bare);
                self.at = At::FenceLine;
            }
            (_, Kind::Heading) => {
                self.held.clear();
                self.at = At::Heading;
            }
            (_, Kind::Quote) => {
                out.push_str(space);
                out.push_str(&self.style.dim("│"));
                self.after_mark(1 + indent, out);
            }
            (_, Kind::Item) => {
                out.push_str(space);
                out.push('•');
                self.after_mark(1 + indent, out);
            }
            (_, Kind::Words) => self.begin_words(out),
        }
    }

    /// Goes on after the mark of a quote or an item, whose words may begin with another construct.
    fn after_mark(&mut self, mark_bytes: usize, out: &mut String) {
        self.held.drain(..mark_bytes);
        self.begin_words(out);
    }

    fn begin_words(&mut self, out: &mut String) {
        self.at = At::Words;
        for c in std::mem::take(&mut self.held).chars() {
            self.word(c, out);
        }
    }

    fn word(&mut self, c: char, out: &mut String) {
        if self.held.is_empty() {
            if matches!(c, '`' | '*' | '[' | '\\') {
                self.held.push(c)
            } else {
                out.push(c)
            }
            return;
        }
        match next(&self.held, c) {
            Next::Hold if self.held.len() < MARKDOWN_HELD_BYTES_MAX => self.held.push(c),
            Next::Take => {
                self.held.push(c);
                let held = std::mem::take(&mut self.held);
                out.push_str(&closed(&held, self.style).unwrap_or(held));
            }
            Next::Before => {
                let held = std::mem::take(&mut self.held);
                out.push_str(&closed(&held, self.style).unwrap_or(held));
                self.word(c, out);
            }
            Next::Hold | Next::Plain => {
                out.push_str(&std::mem::take(&mut self.held));
                self.word(c, out);
            }
        }
    }
}

impl Fence {
    fn opened_by(bare: &str) -> Option<Self> {
        let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = bare.chars().take_while(|c| *c == mark).count();
        (length >= 3).then_some(Self { mark, length })
    }
}

/// What a line is, as far as its first characters tell.
enum Kind {
    Undecided,
    Fence,
    Heading,
    Quote,
    Item,
    Words,
}

fn line_kind(first: char, bare: &str) -> Kind {
    let run = bare.chars().take_while(|c| *c == first).count();
    let after = bare.chars().nth(run);
    match (first, run, after) {
        ('`' | '~' | '#', _, None) if run < 7 => Kind::Undecided,
        ('`' | '~', 3.., Some('`')) => Kind::Words,
        ('`' | '~', 3.., _) => Kind::Fence,
        ('#', 1..=6, Some(' ')) => Kind::Heading,
        ('>', 1, Some(_)) => Kind::Quote,
        ('>', 1, None) => Kind::Undecided,
        ('-' | '+' | '*', 1, Some(' ')) => Kind::Item,
        ('-' | '+' | '*', 1, None) => Kind::Undecided,
        _ => Kind::Words,
    }
}

/// What the next character does to a construct that is held.
enum Next {
    /// It belongs to it, and more may.
    Hold,
    /// It is its last one.
    Take,
    /// The construct ended before it.
    Before,
    /// The construct is none.
    Plain,
}

fn next(held: &str, c: char) -> Next {
    if held.starts_with('`') {
        let opening = held.bytes().take_while(|byte| *byte == b'`').count();
        let closing = held.bytes().rev().take_while(|byte| *byte == b'`').count();
        return if held.len() > opening && closing == opening && c != '`' {
            Next::Before
        } else {
            Next::Hold
        };
    }
    if held.starts_with('\\') {
        return if c.is_ascii_punctuation() { Next::Take } else { Next::Plain };
    }
    if held.starts_with('*') {
        return match held.len() {
            1 if c == '*' => Next::Hold,
            2 if c == '*' || c.is_whitespace() => Next::Plain,
            1 => Next::Plain,
            _ if c == '*' && held.ends_with('*') => Next::Take,
            _ => Next::Hold,
        };
    }
    match (held.find(']'), c) {
        (None, '[') => Next::Plain,
        (None, _) => Next::Hold,
        (Some(at), '(') if at + 1 == held.len() => Next::Hold,
        (Some(at), _) if at + 1 == held.len() => Next::Plain,
        (Some(_), ')') => Next::Take,
        (Some(_), ' ' | '[') => Next::Plain,
        (Some(_), _) => Next::Hold,
    }
}

/// Draws a construct; none when it is not a whole one.
fn closed(held: &str, style: Style) -> Option<String> {
    if let Some(escaped) = held.strip_prefix('\\') {
        return (!escaped.is_empty()).then(|| escaped.to_owned());
    }
    if held.starts_with('`') {
        return code_inside(held).map(|code| style.code(code));
    }
    if let Some(inside) = held.strip_prefix("**") {
        let inside =
            inside.strip_suffix("**").filter(|text| !text.ends_with(char::is_whitespace))?;
        return (!inside.is_empty()).then(|| style.bold(&plain_words(inside)));
    }
    let (text, url) = held.strip_prefix('[')?.strip_suffix(')')?.split_once("](")?;
    let (text, url) = (plain_words(text), url.trim());
    if text == url || url.is_empty() {
        return Some(text);
    }
    Some(format!("{text} {}", style.dim(&format!("({url})"))))
}

fn code_inside(held: &str) -> Option<&str> {
    let ticks = held.bytes().take_while(|byte| *byte == b'`').count();
    let inside = held.get(ticks..held.len().checked_sub(ticks)?)?;
    let closing = held.bytes().rev().take_while(|byte| *byte == b'`').count();
    (!inside.is_empty() && closing == ticks)
        .then(|| inside.trim_matches(' '))
        .filter(|code| !code.is_empty())
}

/// Takes the marks off words that are drawn in one style anyway.
fn plain_words(text: &str) -> String {
    text.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests;
