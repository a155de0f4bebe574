//! The table of limits: every row has a reason, and a test that exists and stands where its constant is named.
//!
//! A test that repeats the number would hold without the row, so the tests of its file name the constant.
//! Whether they meet it is not looked at here.

use std::collections::BTreeSet;

use crate::{findings::Findings, source::File, tree::Tree};

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
        let holds = |file: &&File| file.text.contains(&signature);
        let holders: Vec<&File> = tree.rust_below(&folder).filter(holds).collect();
        if holders.is_empty() {
            findings.add(
                path,
                line,
                format!("{}: no test `{test}` in {folder}", limit.name),
                "write the test that meets the limit, or name the one that does",
            );
        } else if !holders.iter().any(|file| tests_name(file, limit.name)) {
            findings.add(
                path,
                line,
                format!("{}: the tests beside `{test}` never name it", limit.name),
                "let the test meet the constant, or assert there that it is the default",
            );
        }
    }
}

/// Tells whether the code of a file's tests names a constant.
fn tests_name(file: &File, name: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let code = file.test_lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split(|c| !inside(c))).any(|word| word == name)
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
