//! The places of a screen that rules speak of.
//!
//! The box is what a person types into: between two lines drawn across the screen, the lower one near its
//! bottom. A transcript has such lines too, but not there.

use super::Region;

/// How many lines may stand below the box: hints, a status line.
const BELOW_MAX: usize = 5;

/// How high the box may be.
const BOX_LINES_MAX: usize = 12;

/// How long a line must be to be one that is drawn.
const RULE_CHARS_MIN: usize = 8;

/// A screen, cut at its box.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    all: &'a [String],
    above: &'a [String],
    inside: &'a [String],
    below: &'a [String],
}

impl<'a> Parts<'a> {
    pub(super) fn of(lines: &'a [String]) -> Self {
        let n_lines = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
        let all = &lines[..n_lines];
        let (above, inside, below) = cut(all).unwrap_or_default();
        Self { all, above, inside, below }
    }

    /// Returns so many lines of a place: the last ones above and at the bottom, the first ones else.
    pub(super) fn lines(&self, region: Region, n_max: usize) -> &'a [String] {
        let last = |lines: &'a [String]| &lines[lines.len().saturating_sub(n_max)..];
        let first = |lines: &'a [String]| &lines[..lines.len().min(n_max)];
        match region {
            Region::Bottom => last(self.all),
            Region::Above => last(self.above),
            Region::Box => first(self.inside),
            Region::Below => first(self.below),
        }
    }
}

type Cut<'a> = (&'a [String], &'a [String], &'a [String]);

fn cut(all: &[String]) -> Option<Cut<'_>> {
    let bottom = all.iter().rposition(|line| is_drawn(line))?;
    if BELOW_MAX < all.len() - bottom - 1 {
        return None;
    }
    let top = all[..bottom].iter().rposition(|line| is_drawn(line))?;
    if BOX_LINES_MAX < bottom - top - 1 {
        return None;
    }
    Some((&all[..top], &all[top + 1..bottom], &all[bottom + 1..]))
}

/// Tells whether a line is drawn across, perhaps with corners or a short label.
fn is_drawn(line: &str) -> bool {
    let line = line.trim();
    let n_drawn = line.chars().filter(|c| matches!(c, '─' | '━' | '═' | '▀' | '▄')).count();
    let n_chars = line.chars().count();
    RULE_CHARS_MIN <= n_drawn
        && n_chars <= n_drawn + n_drawn / 2
        && line
            .chars()
            .next()
            .is_some_and(|c| matches!(c, '─' | '━' | '═' | '▀' | '▄' | '╭' | '╰' | '┌' | '└' | '╹'))
}
