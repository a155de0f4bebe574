//! What can be told from texts alone: that a context overflowed, and what a page says without tags.
//!
//! Texts never decide about retries.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use vocab::limits::PROVIDER_ERROR_CHARS_MAX;

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
pub(crate) fn overflows(text: &str) -> bool {
    OVERFLOWS.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Returns the start of a text without tags, scripts and runs of blanks.
pub(crate) fn excerpt(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    let mut kept = 0;
    while !rest.is_empty() && kept < PROVIDER_ERROR_CHARS_MAX {
        let (text, after) = rest.split_once('<').unwrap_or((rest, ""));
        for word in text.split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
            kept = out.chars().count();
        }
        rest = skip_tag(after);
    }
    let out = out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    out.chars().take(PROVIDER_ERROR_CHARS_MAX).collect()
}

/// Returns what follows a tag, and for style and script what follows their end.
fn skip_tag(tag: &str) -> &str {
    for name in ["style", "script"] {
        let is_it = tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if is_it && let Some(at) = tag.to_ascii_lowercase().find(&format!("</{name}>")) {
            return &tag[at + name.len() + 3..];
        }
    }
    tag.split_once('>').map_or("", |(_, rest)| rest)
}
