//! Codes of failures: every one that can reach HTTP has a status of its own.
//!
//! A code reaches HTTP where a failure or a refusal is made with it, and where an error type that turns
//! into a failure names it. The loop's codes are not looked at: they are parts of a message, not answers.

use api::problem::STATUSES;

use crate::{
    findings::Findings,
    source::{File, Span},
    tree::Tree,
};

/// The crates whose failures become answers.
const ROOMS: &[&str] = &["crates/daemon", "crates/gateway", "crates/sessions", "crates/store"];
/// Files of other crates whose failures become answers before a run begins: opening a place and choosing
/// a model. What tools say is a part of a message.
const WAYS: &[&str] = &[
    "crates/cli/src/compose.rs",
    "crates/cli/src/config.rs",
    "crates/cli/src/models.rs",
    "crates/confine/src/error.rs",
    "crates/provider/src/resolve.rs",
    "crates/sandbox/src/plan.rs",
    "crates/vocab/src/path.rs",
    "crates/workspace-local/src/open.rs",
    "crates/worktree/src/error.rs",
];
const MAKERS: &[&str] = &["Failure::not_started(", "Failure::new(", "Refused::new("];
const CONVERSION: &str = " for Failure {";

/// Checks that every code has a row in the table of statuses.
pub(crate) fn statuses(tree: &Tree, findings: &mut Findings<'_>) {
    let rooms = ROOMS.iter().flat_map(|room| tree.rust_below(room));
    let ways = WAYS.iter().filter_map(|path| tree.file(path));
    for file in rooms.chain(ways) {
        for (line, code) in codes_of(file) {
            if !STATUSES.iter().any(|(known, _)| *known == code) {
                findings.add(
                    &file.path,
                    line,
                    format!("`{code}` would be answered as 500"),
                    "give it a row in `api::problem::STATUSES`, also if 500 is right",
                );
            }
        }
    }
}

/// Returns the line and the text of each code that a file's product code names.
fn codes_of(file: &File) -> Vec<(usize, String)> {
    let text = file.product_text();
    let mut found = Vec::new();
    for (at, maker) in MAKERS.iter().flat_map(|maker| text.match_indices(maker)) {
        let argument = text.get(at + maker.len()..).unwrap_or_default();
        if let Some(code) = literal(argument) {
            found.push((text.get(..at).map_or(1, |head| head.matches('\n').count() + 1), code));
        }
    }
    if text.contains(CONVERSION) || WAYS.contains(&file.path.as_str()) {
        let spans: Vec<Span> = file
            .functions()
            .into_iter()
            .filter(|(name, _)| name == "code")
            .map(|(_, span)| span)
            .collect();
        for (number, line) in file.product_lines() {
            let inside = spans.iter().any(|span| (span.first..=span.last).contains(&number));
            let arm = line.split_once("=> ").and_then(|(_, value)| literal(value));
            found.extend(arm.filter(|_| inside).map(|code| (number, code)));
        }
    }
    found
}

/// Returns the string that a piece of source begins with.
fn literal(source: &str) -> Option<String> {
    let (text, _) = source.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(text.to_owned())
}
