//! What we depend on: how much, what for, and whether it is used.

use super::layers::line_of;
use crate::{
    findings::Findings,
    graph::{Kind, Member},
    source::has_word_before,
    tree::Tree,
};

const MANIFEST: &str = "Cargo.toml";
const LOCK: &str = "Cargo.lock";
const LOCK_PACKAGES_MAX: usize = 400;

/// Checks that the lock file stays within its budget.
pub(crate) fn lock_budget(tree: &Tree, findings: &mut Findings<'_>) {
    let text = tree.file(LOCK).map_or("", |file| &file.text);
    let n_packages = text.lines().filter(|line| *line == "[[package]]").count();
    if n_packages > LOCK_PACKAGES_MAX {
        findings.add(
            LOCK,
            1,
            format!("{n_packages} packages"),
            format!("{LOCK_PACKAGES_MAX} is the budget; drop one or argue a new budget"),
        );
    }
}

/// Checks that every foreign dependency says what it is for.
pub(crate) fn comments(tree: &Tree, findings: &mut Findings<'_>) {
    let text = tree.file(MANIFEST).map_or("", |file| &file.text);
    let mut inside = false;
    for (idx, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            inside = line == "[workspace.dependencies]";
        } else if inside && line.contains('=') && !line.contains("path = ") {
            let comment = line.rsplit_once(" # ").map_or("", |(_, comment)| comment.trim());
            if comment.is_empty() {
                let name = line.split(['=', ' ']).next().unwrap_or_default();
                findings.add(
                    MANIFEST,
                    idx + 1,
                    format!("`{name}` does not say what it is for"),
                    "end the line with a comment",
                );
            }
        }
    }
}

/// Checks that what a crate declares occurs in its sources.
pub(crate) fn unused(tree: &Tree, findings: &mut Findings<'_>) {
    for member in &tree.graph.members {
        let manifest = format!("{}/Cargo.toml", member.folder);
        for (name, kind) in &member.declared {
            if !is_used(tree, member, name, *kind) {
                let remedy = if *kind == Kind::Normal && is_used(tree, member, name, Kind::Dev) {
                    "only tests use it; move it to [dev-dependencies]"
                } else {
                    "remove the line"
                };
                findings.add(
                    &manifest,
                    line_of(tree, &manifest, name),
                    format!("`{name}` is declared and not used"),
                    remedy,
                );
            }
        }
    }
}

fn is_used(tree: &Tree, member: &Member, name: &str, kind: Kind) -> bool {
    let ident = name.replace('-', "_");
    tree.rust_below(&member.folder).any(|file| {
        let product = (kind == Kind::Normal).then(|| file.product_text());
        let text = product.as_deref().unwrap_or(&file.text);
        has_word_before(text, &ident, &["::"])
            || has_word_before(text, &format!("use {ident}"), &[";", " as "])
    })
}
