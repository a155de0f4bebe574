//! Finds texts in bytes exactly, line ends aside, and knows the line ends around a place.

use std::{cell::OnceCell, ops::Range};

use memchr::memmem;
use vocab::limits::EDIT_PLACES_SHOWN_MAX;

use super::{EditError, fuzzy::Normal, watch::Watch};
use crate::truncate;

/// The content of a file, with what every search needs made once.
pub(super) struct Body<'a> {
    pub(super) source: &'a [u8],
    /// The content with line ends that are all alike.
    pub(super) lf: Vec<u8>,
    map: Map,
    /// The content in normal form, made when a text is first looked for in it.
    pub(super) normal: OnceCell<Normal>,
}

/// Leads from positions in text without carriage returns back to the source.
pub(super) struct Map {
    /// Where line ends stand, in the text without returns, that had a return before them.
    with_return: Vec<usize>,
}

/// The places of a text. Only so many are kept as are told; a file may hold one per byte.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) count: usize,
    /// The first of them.
    pub(super) kept: Vec<Range<usize>>,
}

/// A place that matched.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The bytes of the source it covers.
    pub(super) span: Range<usize>,
    /// What of a widened span comes before the match, to be written again.
    pub(super) before: Vec<u8>,
    /// What of a widened span comes after the match.
    pub(super) after: Vec<u8>,
    /// Whether it matched only nearly.
    pub(super) near: bool,
}

impl Found {
    pub(super) fn exactly(span: Range<usize>) -> Self {
        Self { span, before: Vec::new(), after: Vec::new(), near: false }
    }
}

impl Map {
    /// Returns the position in the source.
    pub(super) fn source(&self, at: usize) -> usize {
        at + self.with_return.partition_point(|end| *end < at)
    }
}

/// Removes the carriage return of every line end.
pub(super) fn without_returns(source: &[u8]) -> (Vec<u8>, Map) {
    let mut lf = Vec::with_capacity(source.len());
    let mut with_return = Vec::new();
    let mut at = 0;
    for end in memmem::find_iter(source, b"\r\n") {
        lf.extend_from_slice(source.get(at..end).unwrap_or_default());
        with_return.push(lf.len());
        at = end + 1;
    }
    lf.extend_from_slice(source.get(at..).unwrap_or_default());
    (lf, Map { with_return })
}

impl<'a> Body<'a> {
    pub(super) fn new(source: &'a [u8]) -> Self {
        let (lf, map) = without_returns(source);
        Self { source, lf, map, normal: OnceCell::new() }
    }

    /// Leads a range of the text without returns back to the source.
    pub(super) fn span(&self, lf: Range<usize>) -> Range<usize> {
        self.map.source(lf.start)..self.map.source(lf.end)
    }

    /// Returns the number of the line in which a position of the source stands.
    pub(super) fn line_of(&self, at: usize) -> u64 {
        let before = self.source.get(..at).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() as u64 + 1
    }

    /// Writes text with the line ends that stand at `place`: those it replaces, one by one, then the
    /// end of the line itself, then that of the line before.
    pub(super) fn with_local_ends(&self, text: &[u8], place: Range<usize>) -> Vec<u8> {
        let replaced = self.source.get(place.clone()).unwrap_or_default();
        let mut ends: Vec<bool> = memchr::memchr_iter(b'\n', replaced)
            .map(|at| at > 0 && replaced.get(at - 1) == Some(&b'\r'))
            .collect();
        if ends.is_empty() {
            ends.push(self.return_near(place.end));
        }
        let mut out = Vec::with_capacity(text.len());
        let mut lines = text.split(|byte| *byte == b'\n');
        out.extend_from_slice(lines.next().unwrap_or_default());
        for (idx, line) in lines.enumerate() {
            if ends.get(idx).or(ends.last()) == Some(&true) {
                out.push(b'\r');
            }
            out.push(b'\n');
            out.extend_from_slice(line);
        }
        out
    }

    fn return_near(&self, at: usize) -> bool {
        let (before, after) = self.source.split_at(at.min(self.source.len()));
        if let Some(end) = memchr::memchr(b'\n', after) {
            // The return may stand just before the place when only the line feed comes after it.
            return self.source.get((at + end).wrapping_sub(1)) == Some(&b'\r');
        }
        memchr::memrchr(b'\n', before)
            .is_some_and(|end| before.get(end.wrapping_sub(1)) == Some(&b'\r'))
    }
}

/// Finds the places of a text in the source, overlapping ones too. A text that itself holds carriage
/// returns at its line ends is looked for as it is first.
pub(super) fn exact(body: &Body<'_>, old: &str, watch: &Watch<'_>) -> Result<Places, EditError> {
    if old.contains("\r\n") {
        let raw = places(body.source, old.as_bytes(), |_| true, watch)?;
        if raw.count > 0 {
            return Ok(raw);
        }
    }
    let old = old.replace("\r\n", "\n");
    let mut found = places(&body.lf, old.as_bytes(), |_| true, watch)?;
    for place in &mut found.kept {
        *place = body.span(place.clone());
    }
    Ok(found)
}

/// Finds the places of a text that `fits` takes, overlapping ones too. What was compared of an
/// overlapping place is not compared again, so that the work grows with the bytes and not with the
/// places.
pub(super) fn places(
    hay: &[u8],
    needle: &[u8],
    fits: impl Fn(&Range<usize>) -> bool,
    watch: &Watch<'_>,
) -> Result<Places, EditError> {
    let mut found = Places::default();
    watch.spend(hay.len())?;
    let Some(first) = memmem::find(hay, needle) else { return Ok(found) };
    let resume = resumptions(needle, watch)?;
    let mut matched = 0;
    let mut at = first;
    while let Some(byte) = hay.get(at) {
        if matched == 0 {
            let ahead = memchr::memchr(needle[0], hay.get(at..).unwrap_or_default());
            let Some(ahead) = ahead else { break };
            at += ahead;
            watch.spend(ahead + 1)?;
            matched = 1;
        } else if needle.get(matched) == Some(byte) {
            watch.spend(1)?;
            matched += 1;
        } else {
            watch.spend(1)?;
            matched = resume_at(&resume, matched);
            continue;
        }
        at += 1;
        if matched == needle.len() {
            let place = at - matched..at;
            if fits(&place) {
                found.count += 1;
                if found.kept.len() < EDIT_PLACES_SHOWN_MAX {
                    found.kept.push(place);
                }
            }
            matched = resume_at(&resume, matched);
        }
    }
    Ok(found)
}

/// Returns how many bytes of a text still stand matched when the byte after `matched` ones differs.
fn resume_at(resume: &[usize], matched: usize) -> usize {
    matched.checked_sub(1).and_then(|last| resume.get(last)).copied().unwrap_or(0)
}

/// Returns for every beginning of a text how long the longest other beginning is that ends it.
fn resumptions(needle: &[u8], watch: &Watch<'_>) -> Result<Vec<usize>, EditError> {
    let mut resume = Vec::with_capacity(needle.len());
    let mut matched = 0;
    for (at, byte) in needle.iter().enumerate() {
        while matched > 0 && needle.get(matched) != Some(byte) {
            watch.spend(1)?;
            matched = resume_at(&resume, matched);
        }
        watch.spend(1)?;
        matched += usize::from(at > 0 && needle.get(matched) == Some(byte));
        resume.push(matched);
    }
    Ok(resume)
}

/// Writes the line numbers of places for people.
pub(super) fn line_list(body: &Body<'_>, found: &Places) -> String {
    let lines: Vec<String> =
        found.kept.iter().map(|place| body.line_of(place.start).to_string()).collect();
    let more = if found.count > found.kept.len() { ", …" } else { "" };
    format!("{}{more}", lines.join(", "))
}

/// Finds the line that shares the longest beginning with the first line looked for.
pub(super) fn closest(body: &Body<'_>, old: &str) -> Option<(u64, String)> {
    const SHOWN_CHARS: usize = 160;
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty())?;
    for chars in [60, 50, 40, 30, 20, 10, 6] {
        let (piece, _) = truncate::line(wanted, chars);
        if let Some(at) = memmem::find(&body.lf, piece.trim_end().as_bytes()) {
            let start = memchr::memrchr(b'\n', body.lf.get(..at)?).map_or(0, |end| end + 1);
            let rest = body.lf.get(start..)?;
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let text = String::from_utf8_lossy(rest.get(..end)?).into_owned();
            let number = memchr::memchr_iter(b'\n', body.lf.get(..start)?).count() as u64 + 1;
            return Some((number, truncate::line(&text, SHOWN_CHARS).0.to_owned()));
        }
    }
    None
}
