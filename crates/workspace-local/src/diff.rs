//! Tells what changed between two contents: a unified patch for programs, a numbered one for people.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput, sources};
use vocab::limits::{DIFF_LINES_MAX, DIFF_TEXT_BYTES_MAX};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 4;

/// A difference, written down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// A unified patch that `patch` and `git apply` take; empty when it would be too large.
    pub patch: String,
    /// The same with line numbers; empty when it would be too large.
    pub display: String,
    /// The first line of the new content that differs, from 1.
    pub first_changed_line: Option<u64>,
    /// Whether the texts were left out for their size.
    pub omitted: bool,
}

/// The part of two contents in which they differ, with the lines around it that are shown.
struct Sides<'a> {
    /// Lines before the part, alike in both.
    above: usize,
    /// Lines of the longer content.
    most: usize,
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    changes: Vec<(Range<usize>, Range<usize>)>,
}

/// Compares two contents line by line. `name` is the path that the patch names.
#[must_use]
pub fn compare(before: &[u8], after: &[u8], name: &str) -> Written {
    let most = lines_of(before).max(lines_of(after));
    let Alike { shown, compared } = alike(before, after);
    let part = |content, (start, end): (usize, usize)| -> &[u8] {
        let content: &[u8] = content;
        content.get(start..content.len() - end).unwrap_or_default()
    };
    let above = lines_of(before.get(..shown.0).unwrap_or_default());
    let lead = lines_of(before.get(shown.0..compared.0).unwrap_or_default());
    let (old, new) = (part(before, compared), part(after, compared));
    if DIFF_LINES_MAX < lines_of(old).max(lines_of(new)) {
        let first_changed_line = Some((above + lead) as u64 + 1);
        return Written { first_changed_line, omitted: true, ..Written::default() };
    }
    let input = InternedInput::new(sources::byte_lines(old), sources::byte_lines(new));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let wide = |range: Range<u32>| range.start as usize + lead..range.end as usize + lead;
    let changes: Vec<_> = diff.hunks().map(|hunk| (wide(hunk.before), wide(hunk.after))).collect();
    let lines = |content| split_lines(part(content, shown));
    let sides = Sides { above, most, before: lines(before), after: lines(after), changes };
    let first = sides.changes.first().map(|(_, after)| (above + after.start) as u64 + 1);
    let (Some(patch), Some(display)) = (sides.patch(name), sides.display()) else {
        return Written { first_changed_line: first, omitted: true, ..Written::default() };
    };
    Written { patch, display, first_changed_line: first, omitted: false }
}

/// How many bytes at the beginnings and at the ends of two contents are whole lines, alike in both.
struct Alike {
    /// Those that are too far from a difference to be shown.
    shown: (usize, usize),
    /// Those that need no comparison. What it costs grows with the lines between them.
    compared: (usize, usize),
}

fn alike(before: &[u8], after: &[u8]) -> Alike {
    let same = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let head = before.get(..same).unwrap_or_default();
    let start = |lines| memchr::memrchr_iter(b'\n', head).nth(lines).map_or(0, |end| end + 1);
    let (rest, other) = (before.get(same..), after.get(same..));
    let (rest, other) = (rest.unwrap_or_default(), other.unwrap_or_default());
    let same =
        rest.iter().rev().zip(other.iter().rev()).take_while(|(old, new)| old == new).count();
    let tail = rest.get(rest.len() - same..).unwrap_or_default();
    // Up to the first line end it is what is left of a line that differs.
    let end =
        |lines| memchr::memchr_iter(b'\n', tail).nth(lines).map_or(0, |at| tail.len() - at - 1);
    // One line more than is shown after a difference says that there are more.
    Alike { shown: (start(CONTEXT), end(CONTEXT + 1)), compared: (start(0), end(0)) }
}

fn lines_of(content: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', content).count();
    ends + usize::from(content.last().is_some_and(|last| *last != b'\n'))
}

fn split_lines(content: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    if content.is_empty() {
        lines.clear();
    }
    lines
}

impl Sides<'_> {
    /// Groups changes whose contexts touch.
    fn groups(&self) -> Vec<&[(Range<usize>, Range<usize>)]> {
        self.changes.chunk_by(|one, two| two.0.start - one.0.end <= 2 * CONTEXT).collect()
    }

    fn patch(&self, name: &str) -> Option<String> {
        let mut out = String::new();
        if !self.changes.is_empty() {
            out = format!("--- a/{name}\n+++ b/{name}\n");
        }
        for group in self.groups() {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let lead = first.0.start.min(CONTEXT);
            let trail = (self.before.len() - last.0.end).min(CONTEXT);
            let old = first.0.start - lead..last.0.end + trail;
            let new = first.1.start - lead..last.1.end + trail;
            out.push_str(&format!("@@ -{} +{} @@\n", self.range(&old), self.range(&new)));
            let mut at = old.start;
            for (before, after) in group {
                push_all(&mut out, ' ', self.before.get(at..before.start)?)?;
                push_all(&mut out, '-', self.before.get(before.clone())?)?;
                push_all(&mut out, '+', self.after.get(after.clone())?)?;
                at = before.end;
            }
            push_all(&mut out, ' ', self.before.get(at..old.end)?)?;
        }
        Some(out)
    }

    fn display(&self) -> Option<String> {
        let width = self.most.to_string().len();
        let mut out = String::new();
        for group in self.groups() {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let start = first.0.start.saturating_sub(CONTEXT);
            let end = (last.0.end + CONTEXT).min(self.before.len());
            if self.above + start > 0 {
                out.push_str(&format!(" {:width$} ...\n", ""));
            }
            let mut at = start;
            for (before, after) in group {
                self.numbered(&mut out, ' ', at..before.start, width)?;
                self.numbered(&mut out, '-', before.clone(), width)?;
                self.numbered(&mut out, '+', after.clone(), width)?;
                at = before.end;
            }
            self.numbered(&mut out, ' ', at..end, width)?;
        }
        let rest =
            self.changes.last().is_some_and(|(old, _)| old.end + CONTEXT < self.before.len());
        if rest {
            out.push_str(&format!(" {:width$} ...\n", ""));
        }
        out.truncate(out.trim_end_matches('\n').len());
        Some(out)
    }

    fn numbered(
        &self,
        out: &mut String,
        sign: char,
        lines: Range<usize>,
        width: usize,
    ) -> Option<()> {
        let side = if sign == '+' { &self.after } else { &self.before };
        for number in lines {
            let text = String::from_utf8_lossy(side.get(number)?);
            let text = text.trim_end_matches(['\n', '\r']);
            out.push_str(&format!("{sign}{:>width$} {text}\n", self.above + number + 1));
            (out.len() <= DIFF_TEXT_BYTES_MAX).then_some(())?;
        }
        Some(())
    }

    fn range(&self, lines: &Range<usize>) -> String {
        let before = self.above + lines.start;
        match lines.len() {
            1 => format!("{}", before + 1),
            // A range of no lines names the line before it.
            0 => format!("{before},0"),
            count => format!("{},{count}", before + 1),
        }
    }
}

fn push_all(out: &mut String, sign: char, lines: &[&[u8]]) -> Option<()> {
    for line in lines {
        out.push(sign);
        out.push_str(&String::from_utf8_lossy(line));
        if line.last() != Some(&b'\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
        (out.len() <= DIFF_TEXT_BYTES_MAX).then_some(())?;
    }
    Some(())
}

#[cfg(test)]
mod tests;
