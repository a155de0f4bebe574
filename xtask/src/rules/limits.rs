//! The table of limits: every row has a reason and a test that exists.

use std::collections::BTreeSet;

use crate::{findings::Findings, tree::Tree};

const TABLE: &str = "crates/vocab/src/limits.rs";

/// Checks every row of the table.
pub(crate) fn rows(tree: &Tree, findings: &mut Findings<'_>) {
    let mut names = BTreeSet::new();
    for limit in &tree.limits {
        let table = tree.file(TABLE).map_or("", |file| &file.text);
        let line = table.lines().position(|line| line.contains(limit.name)).map_or(1, |i| i + 1);
        if !names.insert(limit.name) {
            findings.add(TABLE, line, format!("{} stands twice", limit.name), "remove one");
        }
        if limit.because.trim().is_empty() {
            findings.add(
                TABLE,
                line,
                format!("{} has no reason", limit.name),
                "say why this number",
            );
        }
        let Some((crate_name, test)) = limit.test.split_once("::") else {
            findings.add(
                TABLE,
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
                TABLE,
                line,
                format!("{}: no test `{test}` in {folder}", limit.name),
                "write the test that meets the limit, or name the one that does",
            );
        }
    }
}
