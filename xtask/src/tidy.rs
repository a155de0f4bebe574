//! `cargo xtask tidy`: runs every rule over the tree and prints what they found, one line each.

use std::process::ExitCode;

use crate::{
    findings::{Finding, Findings},
    output, rules,
    tree::Tree,
};

#[cfg(test)]
mod tests;

/// A rule: its name in findings, and its check.
type Rule = (&'static str, fn(&Tree, &mut Findings<'_>));

const RULES: &[Rule] = &[
    ("layers", rules::layers::edges),
    ("runtime-free", rules::layers::runtime_free),
    ("file-budget", rules::budgets::files),
    ("function-budget", rules::budgets::functions),
    ("lib-budget", rules::budgets::libs),
    ("inline-tests", rules::budgets::inline_tests),
    ("purpose", rules::sources::purpose),
    ("serialize", rules::sources::serialize),
    ("doors", rules::doors::doors),
    ("foreign-text", rules::sources::foreign_text),
    ("limits", rules::limits::rows),
    ("contract", rules::contracts::rows),
    ("status", rules::statuses::statuses),
    ("generated", rules::documents::generated),
    ("architecture", rules::documents::architecture),
    ("adr", rules::documents::decisions),
    ("changelog", rules::documents::changelog),
    ("lock-budget", rules::dependencies::lock_budget),
    ("dependency-comment", rules::dependencies::comments),
    ("unused-dependency", rules::dependencies::unused),
];

/// Checks the repository.
pub(crate) fn run(_arguments: &[String]) -> anyhow::Result<ExitCode> {
    let found = check(&Tree::read()?);
    for finding in &found {
        output::line(&finding.to_string());
    }
    output::note(&format!("tidy: {} rules, {} findings", RULES.len(), found.len()));
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs every rule and sorts what they found.
fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, rule) in RULES {
        rule(tree, &mut Findings::of(name, &mut found));
    }
    found.sort();
    found
}
