//! Replaces texts in a file's bytes and nothing else: what was not asked for stays as it was, mixed
//! line ends, byte order mark and bytes that are no text included.
//!
//! Reading and publishing files is not here; this is a function from bytes to bytes.

use std::ops::Range;

use vocab::outcome::Failure;

mod find;
mod fuzzy;
mod watch;

use find::{Body, Found};
use fuzzy::Near;
use watch::Watch;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What stands there.
    pub old: String,
    /// What shall stand there.
    pub new: String,
}

/// A file after its edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The new content.
    pub bytes: Vec<u8>,
    /// The byte ranges of the old content that were matched, in order. All else is unchanged.
    pub touched: Vec<Range<usize>>,
    /// How many edits matched only after quotes, dashes, spaces and the like were made alike.
    pub near: usize,
}

/// Why edits cannot be made. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Nothing to look for.
    #[error("edits[{index}].oldText is empty")]
    Empty {
        /// Which edit.
        index: usize,
    },
    /// The text is not there.
    #[error(
        "edits[{index}].oldText is not in the file, also not with other quotes, dashes or spaces"
    )]
    NotFound {
        /// Which edit.
        index: usize,
        /// The line that comes closest, with its number.
        closest: Option<(u64, String)>,
    },
    /// The text is there more than once.
    #[error("edits[{index}].oldText occurs {count} times, on lines {lines}")]
    Ambiguous {
        /// Which edit.
        index: usize,
        /// How often.
        count: usize,
        /// Where, written for people.
        lines: String,
    },
    /// Two edits touch the same place.
    #[error("edits[{first}] and edits[{second}] overlap")]
    Overlap {
        /// The earlier in the file.
        first: usize,
        /// The later.
        second: usize,
    },
    /// The edits together change nothing.
    #[error("the edits leave the file as it is")]
    NoChange,
    /// Nobody waits for them any more.
    #[error("the edits were stopped")]
    Stopped,
}

impl EditError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "edit_old_text_empty",
            Self::NotFound { .. } => "edit_not_found",
            Self::Ambiguous { .. } => "edit_ambiguous",
            Self::Overlap { .. } => "edit_overlap",
            Self::NoChange => "edit_no_change",
            Self::Stopped => "aborted",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Empty { .. } => "to write a whole file use write; to insert, name a line nearby \
                                   in oldText and repeat it in newText"
                .into(),
            Self::NotFound { closest: Some((line, text)), .. } => format!(
                "the closest is line {line}: {text:?}; read the file there and copy the text exactly"
            ),
            Self::NotFound { closest: None, .. } => {
                "read the file and copy the text exactly, line ends and indentation included".into()
            }
            Self::Ambiguous { .. } => "add lines around it to oldText until it is unique".into(),
            Self::Overlap { .. } => "merge them into one edit".into(),
            Self::NoChange => "oldText and newText are alike; was the change made before?".into(),
            Self::Stopped => "ask again if the change is still wanted".into(),
        }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        Self::not_started(error.code(), error.to_string()).with_hint(error.hint())
    }
}

struct Change {
    index: usize,
    matched: Range<usize>,
    replaced: Range<usize>,
    with: Vec<u8>,
}

/// Applies edits. Every `old` is looked for in the original content, none in the result of another.
/// `alive` is asked between pieces of work.
///
/// # Errors
/// When an edit cannot be placed, two overlap, nothing would change, or `alive` says no.
pub fn apply(
    content: &[u8],
    edits: &[Edit],
    alive: &dyn Fn() -> bool,
) -> Result<Edited, EditError> {
    let watch = Watch::new(alive);
    watch.spend(content.len())?;
    let body = Body::new(content);
    let mut changes = Vec::with_capacity(edits.len());
    let mut near = 0;
    for (index, edit) in edits.iter().enumerate() {
        let found = locate(&body, index, edit, &watch)?;
        watch.spend(found.span.len() + edit.new.len())?;
        near += usize::from(found.near);
        changes.push(place(&body, index, found, &edit.new));
    }
    changes.sort_by_key(|change| (change.matched.start, change.matched.end));
    for pair in changes.windows(2) {
        if let [one, two] = pair
            && two.matched.start < one.matched.end
        {
            return Err(EditError::Overlap { first: one.index, second: two.index });
        }
    }
    let mut bytes = Vec::with_capacity(content.len());
    let mut at = 0;
    for change in &changes {
        bytes.extend_from_slice(content.get(at..change.replaced.start).unwrap_or_default());
        bytes.extend_from_slice(&change.with);
        at = change.replaced.end;
    }
    bytes.extend_from_slice(content.get(at..).unwrap_or_default());
    if bytes == content {
        return Err(EditError::NoChange);
    }
    let touched = changes.into_iter().map(|change| change.matched).collect();
    Ok(Edited { bytes, touched, near })
}

fn locate(
    body: &Body<'_>,
    index: usize,
    edit: &Edit,
    watch: &Watch<'_>,
) -> Result<Found, EditError> {
    if edit.old.is_empty() {
        return Err(EditError::Empty { index });
    }
    let exact = find::exact(body, &edit.old, watch)?;
    let places = match (exact.count, exact.kept.first()) {
        (1, Some(only)) => return Ok(Found::exactly(only.clone())),
        (0, _) => match fuzzy::near(body, &edit.old, watch)? {
            Near::One(only) => return Ok(only),
            Near::Other(places) => places,
        },
        _ => exact,
    };
    match places.count {
        0 => Err(EditError::NotFound { index, closest: find::closest(body, &edit.old) }),
        count => Err(EditError::Ambiguous { index, count, lines: find::line_list(body, &places) }),
    }
}

/// Shrinks a replacement to what differs, and gives its new lines the line end of the place.
fn place(body: &Body<'_>, index: usize, found: Found, new: &str) -> Change {
    let matched = found.span.clone();
    let mut wanted = found.before;
    wanted.extend_from_slice(new.replace("\r\n", "\n").as_bytes());
    wanted.extend_from_slice(&found.after);
    let old = body.source.get(matched.clone()).unwrap_or_default();
    let (old_lf, map) = find::without_returns(old);
    let prefix = old_lf.iter().zip(&wanted).take_while(|(a, b)| a == b).count();
    let rest = old_lf.len().min(wanted.len()) - prefix;
    let suffix = old_lf.iter().rev().zip(wanted.iter().rev()).take(rest);
    let suffix = suffix.take_while(|(a, b)| a == b).count();
    let start = matched.start + map.source(prefix);
    let end = matched.start + map.source(old_lf.len() - suffix);
    let middle = wanted.get(prefix..wanted.len() - suffix).unwrap_or_default();
    let with = body.with_local_ends(middle, start..end.max(start));
    Change { index, matched, replaced: start..end.max(start), with }
}

#[cfg(test)]
mod tests;
