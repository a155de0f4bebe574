//! Searches contents below a directory: many files at once, one order of results.
//!
//! The words around the results are not here; tools and primitives choose their own.

use std::{
    cell::RefCell,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use confine::{
    Kind, Reason, Root,
    traverse::{Entry, Flow, Report, Traverse},
};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind,
    SinkFinish, SinkMatch,
};
use serde_json::{Value, json};
use vocab::{
    limits::{
        GREP_DFA_BYTES_MAX, GREP_FILE_BYTES_MAX, GREP_HEAP_BYTES_MAX, GREP_LINE_CHARS_MAX,
        GREP_REGEX_BYTES_MAX, PATTERN_DEPTH_MAX, SEARCH_BYTES_MAX,
    },
    outcome::{Effect, Failure},
    path::{WorkspacePath, display_name},
};

use crate::{glob::Pattern, pattern, stop::Stop, truncate};

/// What is looked for.
#[derive(Debug)]
pub(crate) struct Query {
    matcher: RegexMatcher,
    crlf: bool,
    pub(crate) glob: Option<Pattern>,
    /// Lines around each match.
    pub(crate) context: usize,
    /// Matches wanted at most.
    pub(crate) limit: usize,
}

/// How a pattern is meant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meaning {
    pub(crate) ignore_case: bool,
    pub(crate) literal: bool,
}

/// A line that was found, or one around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) text: String,
    pub(crate) role: Role,
}

/// Why a line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Match,
    Before,
    After,
}

/// The lines of one file.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path from the start of the search, printable; the bare name where a file was searched.
    pub(crate) path: String,
    pub(crate) lines: Vec<Line>,
    /// What it holds, its path before each line included.
    pub(crate) bytes: usize,
}

/// Files that were not searched, and why.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Skipped {
    pub(crate) binary: usize,
    pub(crate) too_large: usize,
    pub(crate) unreadable: usize,
    pub(crate) protected: usize,
}

/// How much of what there is was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Extent {
    #[default]
    All,
    /// As many results as were wanted; there are more.
    Wanted,
    /// As many as may be held; there are more.
    Held,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<File>,
    pub(crate) extent: Extent,
    /// Matches among the lines.
    pub(crate) matches: usize,
    bytes: usize,
    /// Whether a line was cut.
    pub(crate) lines_cut: bool,
    pub(crate) skipped: Skipped,
    pub(crate) walk: Report,
}

impl Query {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// When it is no regular expression, one that spans lines, or one that costs too much.
    pub(crate) fn new(pattern: &str, meaning: Meaning) -> Result<Self, Failure> {
        pattern::check(pattern)?;
        // Only where a line's end is asked for does it matter which bytes end it.
        let crlf = pattern.contains('$') && !meaning.literal;
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(meaning.ignore_case)
            .fixed_strings(meaning.literal)
            .multi_line(true)
            .size_limit(GREP_REGEX_BYTES_MAX)
            .dfa_size_limit(GREP_DFA_BYTES_MAX)
            .nest_limit(PATTERN_DEPTH_MAX);
        builder.line_terminator(Some(b'\n'));
        if crlf {
            builder.crlf(true);
        }
        let matcher = builder.build(pattern).map_err(|error| {
            let hint = if pattern.contains('\n') || pattern.contains("\\n") {
                "search for one line at a time"
            } else {
                "set literal to search for the text as it is"
            };
            pattern::refused(pattern, &error.to_string()).with_hint(hint)
        })?;
        Ok(Self { matcher, crlf, glob: None, context: 0, limit: 1 })
    }

    fn searcher(&self) -> Searcher {
        let end = if self.crlf { LineTerminator::crlf() } else { LineTerminator::byte(b'\n') };
        SearcherBuilder::new()
            .line_terminator(end)
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(BinaryDetection::quit(0))
            .memory_map(MmapChoice::never())
            .heap_limit(Some(GREP_HEAP_BYTES_MAX))
            .build()
    }
}

/// What one visit told.
enum Told {
    Found { file: File, cut: bool, extent: Extent },
    Binary,
    TooLarge,
    Unreadable,
    Protected,
}

impl Told {
    fn bytes(&self) -> usize {
        match self {
            Self::Found { file, .. } => file.bytes,
            Self::Binary | Self::TooLarge | Self::Unreadable | Self::Protected => 0,
        }
    }
}

/// Searches below `start`, or in the one file it names.
///
/// # Errors
/// When the start cannot be reached, or the search was stopped.
pub(crate) fn run(
    root: &Root,
    start: &WorkspacePath,
    query: &Query,
    stop: &Stop,
) -> Result<Found, Failure> {
    let mut found = Found::default();
    let cancel = Arc::new(AtomicBool::new(false));
    let held = Arc::new(AtomicUsize::new(0));
    let walk =
        Traverse { cancel: Arc::clone(&cancel), held: Arc::clone(&held), ..Traverse::default() };
    let held = &*held;
    let single = root.stat(start).is_ok_and(|meta| meta.kind == Kind::File);
    // A file that was named is searched, also where rules ignore it.
    let walk = Traverse { ignore: !single, ..walk };
    let visitor = || {
        let searcher = RefCell::new(query.searcher());
        let cancel = Arc::clone(&cancel);
        move |entry: &Entry<'_>| {
            if !stop.alive() {
                cancel.store(true, Ordering::Relaxed);
                return None;
            }
            let told = visit(entry, query, &mut searcher.borrow_mut());
            held.fetch_add(told.as_ref().map_or(0, Told::bytes), Ordering::Relaxed);
            told
        }
    };
    let deliver = |told: Told| {
        held.fetch_sub(told.bytes(), Ordering::Relaxed);
        take(&mut found, query.limit, told)
    };
    let report = walk.run(root, start, visitor, deliver)?;
    if !stop.alive() {
        return Err(stop.failure(Effect::NotStarted));
    }
    found.walk = report;
    Ok(found)
}

fn visit(entry: &Entry<'_>, query: &Query, searcher: &mut Searcher) -> Option<Told> {
    if entry.kind != Kind::File || query.glob.as_ref().is_some_and(|glob| !glob.fits(entry.path)) {
        return None;
    }
    let file = match entry.open() {
        Ok(opened) => opened.file,
        Err(Reason::NotFound | Reason::NotARegularFile) => return None,
        Err(Reason::Protected) => return Some(Told::Protected),
        Err(_) => return Some(Told::Unreadable),
    };
    let path_bytes = entry.path.as_os_str().len();
    let mut sink = Lines { limit: query.limit, path_bytes, ..Lines::default() };
    match searcher.search_file(&query.matcher, &file, &mut sink) {
        Ok(()) if sink.binary => Some(Told::Binary),
        Ok(()) if sink.lines.is_empty() && sink.extent == Extent::All => None,
        Ok(()) => {
            let file = File { path: shown(entry.path), lines: sink.lines, bytes: sink.bytes };
            Some(Told::Found { file, cut: sink.cut, extent: sink.extent })
        }
        // What the searcher says when a line does not fit its memory.
        Err(error) if error.kind() == std::io::ErrorKind::Other => Some(Told::TooLarge),
        Err(_) => Some(Told::Unreadable),
    }
}

/// Prints a relative path.
pub(crate) fn shown(path: &Path) -> String {
    let mut out = String::with_capacity(path.as_os_str().len());
    for component in path.components() {
        if !out.is_empty() {
            out.push('/');
        }
        out.push_str(&display_name(component.as_os_str()));
    }
    out
}

fn take(found: &mut Found, limit: usize, told: Told) -> Flow {
    let (mut file, cut, extent) = match told {
        Told::Found { file, cut, extent } => (file, cut, extent),
        Told::Binary => return count(&mut found.skipped.binary),
        Told::TooLarge => return count(&mut found.skipped.too_large),
        Told::Unreadable => return count(&mut found.skipped.unreadable),
        Told::Protected => return count(&mut found.skipped.protected),
    };
    if SEARCH_BYTES_MAX < found.bytes + file.bytes {
        found.extent = Extent::Held;
        return Flow::Stop;
    }
    found.bytes += file.bytes;
    let lines = &mut file.lines;
    let room = limit - found.matches;
    let here = lines.iter().filter(|line| line.role == Role::Match).count();
    let over = here > room;
    if over {
        let mut left = room;
        let end = lines.iter().position(|line| {
            let is_match = line.role == Role::Match;
            let ends = is_match && left == 0;
            left -= usize::from(is_match && left > 0);
            ends
        });
        lines.truncate(end.unwrap_or(lines.len()));
    }
    // What would have led to a match that is not shown.
    while lines.last().is_some_and(|line| line.role == Role::Before) {
        lines.pop();
    }
    found.extent = if over { Extent::Wanted } else { extent };
    found.matches += here.min(room);
    found.lines_cut |= cut;
    if !lines.is_empty() {
        found.files.push(file);
    }
    if found.extent == Extent::All { Flow::Continue } else { Flow::Stop }
}

fn count(counter: &mut usize) -> Flow {
    *counter += 1;
    Flow::Continue
}

/// Keeps the lines of one file.
#[derive(Default)]
struct Lines {
    limit: usize,
    path_bytes: usize,
    lines: Vec<Line>,
    bytes: usize,
    /// Whether all lines fitted into what may be held.
    extent: Extent,
    matches: usize,
    cut: bool,
    binary: bool,
}

impl Lines {
    /// Keeps a line if there is room for it, and tells whether there was.
    fn keep(&mut self, number: Option<u64>, bytes: &[u8], role: Role) -> bool {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // A character has four bytes at most, so that a giant line is not decoded whole.
        let enough = bytes.get(..GREP_LINE_CHARS_MAX * 4 + 4).unwrap_or(bytes);
        let decoded = String::from_utf8_lossy(enough).replace('\r', "");
        let (text, cut) = truncate::line(&decoded, GREP_LINE_CHARS_MAX);
        let cut = cut || enough.len() < bytes.len();
        let mark = if cut { "… [cut]" } else { "" };
        let text = format!("{text}{mark}");
        let cost = size_of::<Line>() + self.path_bytes + text.len();
        if GREP_FILE_BYTES_MAX < self.bytes + cost {
            self.extent = Extent::Held;
            return false;
        }
        self.bytes += cost;
        self.cut |= cut;
        self.lines.push(Line { number: number.unwrap_or(0), text, role });
        true
    }
}

impl Sink for &mut Lines {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        let kept = self.keep(found.line_number(), found.bytes(), Role::Match);
        // One more than wanted shows that there is more.
        Ok(kept && self.matches <= self.limit)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let role = match found.kind() {
            SinkContextKind::Before => Role::Before,
            SinkContextKind::After | SinkContextKind::Other => Role::After,
        };
        Ok(self.keep(found.line_number(), found.bytes(), role))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Tells what a walk and a search left out. What the walk itself counted is told only for a walk that
/// went to its end, since how far threads were ahead is chance.
pub(crate) fn skipped_json(walk: &Report, own: Skipped) -> Value {
    let mut told = json!({
        "binary": own.binary, "too_large": own.too_large, "unreadable": own.unreadable,
        "protected": own.protected, "complete": !walk.stopped,
    });
    if !walk.stopped
        && let Some(map) = told.as_object_mut()
    {
        let skipped = walk.skipped;
        map.insert("ignored".into(), json!(skipped.ignored));
        map.insert("unreadable".into(), json!(own.unreadable + skipped.unreadable));
        map.insert("protected".into(), json!(own.protected + skipped.protected));
        map.insert("other_mount".into(), json!(skipped.other_mount));
        map.insert("too_deep".into(), json!(skipped.too_deep));
        map.insert("oversized".into(), json!(skipped.oversized));
    }
    told
}
