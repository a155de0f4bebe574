//! The table of limits: every row has a reason and a test that exists.

use std::collections::BTreeSet;

use crate::{findings::Findings, tree::Tree};

const TABLE: &str = "crates/vocab/src/limits.rs";
const ROWS: &str = "crates/vocab/src/limits";

/// Checks every row of the table.
pub(crate) fn rows(tree: &Tree, findings: &mut Findings<'_>) {
    let mut names = BTreeSet::new();
    for limit in &tree.limits {
        let (path, line) = place(tree, limit.name);
        if !names.insert(limit.name) {
            findings.add(path, line, format!("{} stands twice", limit.name), "remove one");
        }
        if limit.because.trim().is_empty() {
            findings.add(
                path,
                line,
                format!("{} has no reason", limit.name),
                "say why this number",
            );
        }
        let Some((crate_name, test)) = limit.test.split_once("::") else {
            findings.add(
                path,
                line,
                format!("{} names no test", limit.name),
                "write `crate_name::test_fn`",
            );
            continue;
        };
        let test = test.rsplit("::").next().unwrap_or(test);
        let folder = format!("crates/{}", crate_name.replace('_', "-"));
        let signature = format!("fn {test}(");
        if !tree.rust_below(&folder).any(|file| file.text.contains(&signature)) {
            findings.add(
                path,
                line,
                format!("{}: no test `{test}` in {folder}", limit.name),
                "write the test that meets the limit, or name the one that does",
            );
        }
    }
}

/// Returns where a row stands.
fn place<'a>(tree: &'a Tree, name: &str) -> (&'a str, usize) {
    let row = format!("{name}: ");
    let at = tree.rust_below(ROWS).find_map(|file| {
        let idx = file.text.lines().position(|line| line.trim_start().starts_with(&row))?;
        Some((file.path.as_str(), idx + 1))
    });
    at.unwrap_or((TABLE, 1))
}
