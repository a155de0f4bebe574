//! What a pattern may cost before it is compiled, and how much of it a refusal repeats.
//!
//! Compiling is not here: regular expressions are in `search`, file patterns in `glob`.

use vocab::{
    limits::{PATTERN_BYTES_MAX, PATTERN_SHOWN_CHARS_MAX},
    outcome::Failure,
};

/// Checks a pattern's length; its parser holds many times as much.
///
/// # Errors
/// When it is too long.
pub(crate) fn check(pattern: &str) -> Result<(), Failure> {
    if pattern.len() <= PATTERN_BYTES_MAX {
        return Ok(());
    }
    let bytes = pattern.len();
    let text = format!("the pattern has {bytes} bytes, at most {PATTERN_BYTES_MAX} are taken");
    Err(Failure::not_started("invalid_pattern", text).with_hint("search for a shorter part of it"))
}

/// Refuses a pattern for what its compiler said. Compilers repeat the pattern whole: of a long one only
/// the beginning is repeated, and the last line of what was said, which tells the reason.
pub(crate) fn refused(pattern: &str, said: &str) -> Failure {
    let short = shown(pattern);
    if short == pattern {
        return Failure::not_started("invalid_pattern", said);
    }
    let reason = said.lines().next_back().unwrap_or_default();
    // A reason may quote a part of the pattern.
    let reason = shown(reason);
    Failure::not_started("invalid_pattern", format!("{short:?}: {reason}"))
}

/// Returns the beginning of a text, as much of it as a refusal repeats.
pub(crate) fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(PATTERN_SHOWN_CHARS_MAX).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
