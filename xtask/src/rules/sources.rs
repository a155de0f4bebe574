//! What every source file must say, and what none may say.

use crate::{findings::Findings, layers::MAY_SERIALIZE, tree::Tree};

/// Checks that every Rust file begins with its purpose.
pub(crate) fn purpose(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        let first = file.text.lines().find(|line| !line.is_empty() && !line.starts_with("#!"));
        if !first.is_some_and(|line| line.starts_with("//! ")) {
            findings.add(
                &file.path,
                1,
                "does not begin with its purpose",
                "open it with `//!`: what it is for, then what is deliberately not there",
            );
        }
    }
}

/// Checks that only crates which speak to the outside give their types a wire shape.
pub(crate) fn serialize(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        let Some(folder) = file.crate_folder() else { continue };
        let name = folder.strip_prefix("crates/").unwrap_or(folder);
        if MAY_SERIALIZE.iter().any(|(may, _)| *may == name) {
            continue;
        }
        for (number, line) in file.product_lines() {
            let derives = line.contains("derive(") && line.contains("Serialize");
            if derives || line.contains("impl Serialize for") || line.trim() == "Serialize," {
                let may: Vec<&str> = MAY_SERIALIZE.iter().map(|(name, _)| *name).collect();
                findings.add(
                    &file.path,
                    number,
                    format!("`{name}` gives a type a wire shape"),
                    format!("move the shape to one of: {}", may.join(", ")),
                );
            }
        }
    }
}

/// Texts that belong to one machine or one registry. Spelled in pieces, as this file is checked too.
const FOREIGN: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/tmp/w", "t/"), "a path of one machine"),
    (concat!("crates", ".io"), "a registry's host"),
    (concat!("pypi", ".org"), "a registry's host"),
    (concat!("python", "hosted.org"), "a registry's host"),
    (concat!("npmjs", ".org"), "a registry's host"),
    (concat!("npmjs", ".com"), "a registry's host"),
];

/// Checks that no file names a path of one machine or the host of a registry.
pub(crate) fn foreign_text(tree: &Tree, findings: &mut Findings<'_>) {
    // The lock file is cargo's own and names where each package came from.
    for file in tree.files.iter().filter(|file| !file.path.ends_with("Cargo.lock")) {
        for (number, line) in file.text.lines().enumerate() {
            for (needle, what) in FOREIGN.iter().filter(|(needle, _)| names(line, needle)) {
                findings.add(
                    &file.path,
                    number + 1,
                    format!("`{needle}` is {what}"),
                    "say it without, or derive it where it is needed",
                );
            }
        }
    }
}

/// Tells whether a line names `needle`; a path must begin there and not be the middle of another.
fn names(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        let continues = |c: char| c.is_alphanumeric() || "._-~}$>)/".contains(c);
        !(needle.starts_with('/') && before.is_some_and(continues))
    })
}
