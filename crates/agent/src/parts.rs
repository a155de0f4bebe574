//! What several steps ask of the parts of a run's message, and the one way in which stored parts take
//! their places.

use std::borrow::Borrow;

use vocab::message::{CallState, Part, StopReason};

/// The last model call of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastStep {
    /// The index of its first part.
    pub(crate) at: usize,
    /// Why the model stopped, if it did.
    pub(crate) stop: Option<StopReason>,
}

/// Puts changed parts in their places and new ones at the end, as storing them does.
pub(crate) fn put(parts: &mut Vec<Part>, changed: &[(usize, Part)]) {
    for (idx, part) in changed {
        match parts.get_mut(*idx) {
            Some(slot) => *slot = part.clone(),
            None => parts.push(part.clone()),
        }
    }
}

/// Finds the last model call.
pub(crate) fn last_step<P: Borrow<Part>>(parts: &[P]) -> Option<LastStep> {
    parts.iter().enumerate().rev().find_map(|(at, part)| {
        let Part::Step { stop, .. } = part.borrow() else { return None };
        Some(LastStep { at, stop: *stop })
    })
}

/// Tells whether a model call was begun that readers have not been told the end of.
pub(crate) fn in_step<P: Borrow<Part>>(parts: &[P]) -> bool {
    parts
        .iter()
        .map(Borrow::borrow)
        .rev()
        .find(|part| matches!(part, Part::Step { .. } | Part::Steer { .. }))
        .is_some_and(|part| matches!(part, Part::Step { .. }))
}

/// Counts the model calls.
pub(crate) fn steps<P: Borrow<Part>>(parts: &[P]) -> u32 {
    let count = parts.iter().filter(|part| matches!((*part).borrow(), Part::Step { .. })).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the place that the next ended call takes.
pub(crate) fn next_ordinal<P: Borrow<Part>>(parts: &[P]) -> u32 {
    let taken = parts.iter().filter_map(|part| match part.borrow() {
        Part::Call { state: CallState::Ended { ordinal, .. }, .. } => Some(*ordinal),
        Part::Call { .. }
        | Part::Step { .. }
        | Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::File { .. }
        | Part::Steer { .. }
        | Part::Note { .. } => None,
    });
    taken.max().map_or(0, |last| last.saturating_add(1))
}

/// Returns the longest beginning of `text` that fits into `bytes_max` and ends between two characters.
pub(crate) fn beginning(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}
