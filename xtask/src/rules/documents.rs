//! Documents that programs can hold to their form.

use crate::{findings::Findings, generate, source::File, tree::Tree};

const MAP: &str = "ARCHITECTURE.md";
const MAP_LINES_MAX: usize = 300;
const CHANGELOG: &str = "CHANGELOG.md";
const CHANGES: &[&str] = &["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
const DECISION_HEADINGS: &[&str] =
    &["## Context", "## Decision", "## Consequences", "## What would change our mind"];

/// Checks that every printed document is what the generator would print now.
pub(crate) fn generated(tree: &Tree, findings: &mut Findings<'_>) {
    for (path, printed) in generate::pages(&tree.limits).into_iter().flatten() {
        if tree.file(path).is_none_or(|file| file.text != printed) {
            findings.add(path, 1, "is not what the code says", "run `cargo xtask gen`");
        }
    }
}

/// Checks that the map has a paragraph for every crate, with what it never does.
pub(crate) fn architecture(tree: &Tree, findings: &mut Findings<'_>) {
    let text = tree.file(MAP).map_or("", |file| &file.text);
    let n_lines = text.lines().count();
    if n_lines > MAP_LINES_MAX {
        findings.add(MAP, 1, format!("{n_lines} lines"), "a map is short; 300 is the most");
    }
    for member in &tree.graph.members {
        let heading = format!("### `{}`", member.name);
        let Some((before, rest)) = text.split_once(&format!("{heading}\n")) else {
            findings.add(
                MAP,
                1,
                format!("says nothing about `{}`", member.name),
                format!("add `{heading}`, a paragraph, and its **Never** line"),
            );
            continue;
        };
        let paragraph = rest.split("\n#").next().unwrap_or_default();
        if !paragraph.lines().any(|line| line.starts_with("**Never** ")) {
            findings.add(
                MAP,
                before.matches('\n').count() + 1,
                format!("does not say what `{}` never does", member.name),
                "add a line that begins with **Never**",
            );
        }
    }
}

/// Checks that every decision states its context, what was decided, what follows, and what would
/// change our mind.
pub(crate) fn decisions(tree: &Tree, findings: &mut Findings<'_>) {
    let in_folder = |file: &&File| file.path.starts_with("docs/adr/");
    for file in tree.files.iter().filter(in_folder).filter(|file| file.path.ends_with(".md")) {
        for heading in DECISION_HEADINGS {
            if !file.text.lines().any(|line| line == *heading) {
                findings.add(&file.path, 1, format!("lacks `{heading}`"), "write that part");
            }
        }
    }
}

/// Checks the form of the changelog.
pub(crate) fn changelog(tree: &Tree, findings: &mut Findings<'_>) {
    let text = tree.file(CHANGELOG).map_or("", |file| &file.text);
    let mut sections = text.lines().enumerate().filter(|(_, line)| line.starts_with("## "));
    let first = sections.next();
    if first.is_none_or(|(_, line)| line != "## [Unreleased]") {
        let at = first.map_or(1, |(idx, _)| idx + 1);
        findings.add(CHANGELOG, at, "has no open section", "begin with `## [Unreleased]`");
    }
    for (idx, line) in sections.filter(|(_, line)| !is_release(line)) {
        findings.add(CHANGELOG, idx + 1, format!("`{line}`"), "write `## [1.2.3] - YYYY-MM-DD`");
    }
    for (idx, line) in text.lines().enumerate() {
        if line.strip_prefix("### ").is_some_and(|kind| !CHANGES.contains(&kind)) {
            findings.add(
                CHANGELOG,
                idx + 1,
                format!("`{line}` is no kind of change"),
                format!("use one of: {}", CHANGES.join(", ")),
            );
        }
    }
}

/// Tells whether a heading names a version and a day.
fn is_release(line: &str) -> bool {
    let Some((version, day)) = line.strip_prefix("## [").and_then(|rest| rest.split_once("] - "))
    else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    version.split('.').count() == 3
        && version.split('.').all(is_number)
        && day.len() == 10
        && day.split('-').count() == 3
        && day.split('-').all(is_number)
}
