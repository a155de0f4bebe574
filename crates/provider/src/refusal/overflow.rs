//! What can be told from a text alone: that a context overflowed.
//!
//! Texts never decide about retries.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

/// How servers without a code say that a prompt is too long. Each line is one server's wording.
const OVERFLOW: &str = r"prompt is too long
|input is too long for (the )?requested model
|exceeds? the context window
|exceeds? (the )?model'?s? (maximum )?context length
|input token count.{0,40}exceeds? the maximum
|maximum (prompt|context) length is \d
|reduce the length of (the|your) (messages|prompt)
|exceeds? (the )?(maximum allowed input|available context|limit of \d)
|(greater|longer|larger) than (the )?(model'?s )?context (length|size|window)
|context (window|length|size) (exceeds|exceeded|too)
|(exceeded|exceeds) (the )?(model token limit|context (length|size|window))
|prompt too long
|too large for model with \d";

static OVERFLOWS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    RegexBuilder::new(&OVERFLOW.replace('\n', "")).case_insensitive(true).build().ok()
});

/// Tells whether a text says that the prompt does not fit the model.
pub(super) fn is_told(text: &str) -> bool {
    OVERFLOWS.as_ref().is_some_and(|pattern| pattern.is_match(text))
}
