//! A source file as the rules see it: its lines, which crate it belongs to, where functions and inline
//! tests begin and end.
//!
//! There is no parser here. The sources are formatted, so that a block ends at the first closing brace
//! that stands as far to the right as the line that opened it.

/// A text file of the repository.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Path below the root, with forward slashes.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

/// A block of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first line, counted from 1.
    pub(crate) first: usize,
    /// The last line.
    pub(crate) last: usize,
}

impl Span {
    /// Returns how many lines it has.
    pub(crate) fn n_lines(self) -> usize {
        self.last - self.first + 1
    }
}

impl File {
    /// Tells whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Tells whether it holds tests only.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("tests.rs") || self.path.contains("/tests/")
    }

    /// Returns the folder of the crate it belongs to: `crates/name` or `xtask`.
    pub(crate) fn crate_folder(&self) -> Option<&str> {
        let mut slashes = self.path.match_indices('/').map(|(at, _)| at);
        let first = slashes.next()?;
        if self.path.get(..first) == Some("crates") {
            self.path.get(..slashes.next()?)
        } else {
            self.path.get(..first)
        }
    }

    /// Returns the lines of the product, numbered from 1: none of a test file, and of another file all
    /// but the inline test module.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let tests = self.inline_tests();
        let is_test = self.is_test();
        self.text.lines().enumerate().map(|(idx, line)| (idx + 1, line)).filter(
            move |(number, _)| {
                !is_test && !tests.is_some_and(|span| span.first <= *number && *number <= span.last)
            },
        )
    }

    /// Returns the lines of the tests: all of a test file, and of another file the inline test module.
    pub(crate) fn test_lines(&self) -> impl Iterator<Item = &str> {
        let tests = self.inline_tests();
        let is_test = self.is_test();
        self.text.lines().enumerate().filter_map(move |(idx, line)| {
            let inline = tests.is_some_and(|span| (span.first..=span.last).contains(&(idx + 1)));
            (is_test || inline).then_some(line)
        })
    }

    /// Returns the product's lines as one text; dropped lines are left empty, so that numbers stay.
    pub(crate) fn product_text(&self) -> String {
        let mut lines = vec![""; self.text.lines().count()];
        for (number, line) in self.product_lines() {
            if let Some(slot) = lines.get_mut(number - 1) {
                *slot = line;
            }
        }
        lines.join("\n")
    }

    /// Returns where the inline test module stands.
    pub(crate) fn inline_tests(&self) -> Option<Span> {
        let lines: Vec<&str> = self.text.lines().collect();
        let first = lines.iter().position(|line| *line == "mod tests {")?;
        Some(block_at(&lines, first))
    }

    /// Returns each function's name and where it stands.
    pub(crate) fn functions(&self) -> Vec<(String, Span)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let mut found = Vec::new();
        for (idx, line) in lines.iter().enumerate() {
            if let Some(name) = function_name(line) {
                let has_body = lines
                    .iter()
                    .skip(idx)
                    .find(|line| line.ends_with(['{', ';', '}']))
                    .is_some_and(|line| line.ends_with('{'));
                if has_body {
                    found.push((name.to_owned(), block_at(&lines, idx)));
                }
            }
        }
        found
    }

    /// Counts the lines of a span that hold code, as clippy does: no blanks, no comments.
    pub(crate) fn n_code_lines(&self, span: Span) -> usize {
        let lines = self.text.lines().skip(span.first - 1).take(span.n_lines());
        lines.filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//")).count()
    }
}

/// Returns the block that the line at `first` opens.
fn block_at(lines: &[&str], first: usize) -> Span {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = lines.get(first).map_or(0, |line| indent(line));
    let closes = |line: &&str| indent(line) == depth && line.trim_start().starts_with('}');
    let length = lines.iter().skip(first).position(closes).unwrap_or(lines.len() - first - 1);
    Span { first: first + 1, last: first + length + 1 }
}

/// Returns the name of the function that a line begins, if it begins one.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix("fn ") {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            return after.get(..end).filter(|name| !name.is_empty());
        }
        let (word, after) = rest.split_once(' ')?;
        let qualifier = matches!(word, "pub" | "const" | "async" | "unsafe" | "extern")
            || word.starts_with("pub(")
            || word.starts_with('"');
        if !qualifier {
            return None;
        }
        rest = after;
    }
}

/// Tells whether `word` stands in `text` at a place where it is not the tail of a longer name.
pub(crate) fn has_word_before(text: &str, word: &str, followed_by: &[&str]) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(at + word.len()..).unwrap_or_default();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
            && followed_by.iter().any(|tail| after.starts_with(tail))
    })
}
