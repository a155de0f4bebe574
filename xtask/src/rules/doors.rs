//! The privileged rooms: every place that opens a wall of `clippy.toml` is known, with its reason.
//!
//! Tests may open walls freely; they are not part of the product.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{findings::Findings, source::File, tree::Tree};

const LIST: &str = "xtask/doors.toml";
const WALL: &str = "clippy::disallowed_methods";

/// File to the reason that it states.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct List {
    doors: BTreeMap<String, String>,
}

/// Checks that the doors of the product are exactly those of the list.
pub(crate) fn doors(tree: &Tree, findings: &mut Findings<'_>) {
    let list: List = match tree.file(LIST).map(|file| toml::from_str(&file.text)) {
        Some(Ok(list)) => list,
        Some(Err(error)) => {
            return findings.add(LIST, 1, error.message(), "write [doors] \"path\" = \"reason\"");
        }
        None => List::default(),
    };
    let mut open = Vec::new();
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        for (line, reason) in doors_of(file) {
            if list.doors.get(&file.path) != Some(&reason) {
                findings.add(
                    &file.path,
                    line,
                    "opens a wall that the list does not know",
                    format!("if it must be, {LIST} needs the row: {:?} = {reason:?}", file.path),
                );
            }
            if open.contains(&file.path) {
                let remedy = "state one reason at the top of the file";
                findings.add(&file.path, line, "opens a second door", remedy);
            }
            open.push(file.path.clone());
        }
    }
    let listed = tree.file(LIST).map_or("", |file| &file.text);
    for path in list.doors.keys().filter(|path| !open.contains(path)) {
        let line = listed.lines().position(|line| line.contains(path.as_str()));
        let line = line.map_or(1, |idx| idx + 1);
        findings.add(LIST, line, format!("{path} opens no wall"), "remove the row");
    }
}

/// Returns the line and the reason of each door that a file's product code opens.
fn doors_of(file: &File) -> Vec<(usize, String)> {
    let text = file.product_text();
    let mut found = Vec::new();
    for (at, _) in text.match_indices("[expect(") {
        let attribute = text.get(at..).and_then(|rest| rest.split(")]").next()).unwrap_or_default();
        if attribute.contains(WALL) {
            let reason = attribute.split_once("reason = \"").map_or("", |(_, rest)| rest);
            let reason = reason.trim_end().trim_end_matches(',').trim_end_matches('"');
            let line = text.get(..at).map_or(1, |head| head.matches('\n').count() + 1);
            found.push((line, reason.to_owned()));
        }
    }
    found
}
