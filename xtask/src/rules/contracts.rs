//! The tables of promises, `docs/contract-*.md`: every row names tests in its last column, and each of them
//! exists.
//!
//! Whether a test shows what its row promises is not looked at here.

use crate::{findings::Findings, source::File, tree::Tree};

const PREFIX: &str = "docs/contract-";

/// Checks every row of every table.
pub(crate) fn rows(tree: &Tree, findings: &mut Findings<'_>) {
    let is_contract = |file: &&File| file.path.starts_with(PREFIX) && file.path.ends_with(".md");
    for file in tree.files.iter().filter(is_contract) {
        let mut is_body = false;
        for (idx, line) in file.text.lines().enumerate() {
            let Some(cells) = line.strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) else {
                is_body = false;
                continue;
            };
            let last = cells.rsplit('|').next().unwrap_or_default();
            if is_body {
                row(tree, &file.path, idx + 1, last, findings);
            } else {
                // What stands above the rule is the heading.
                is_body = last.contains("---");
            }
        }
    }
}

fn row(tree: &Tree, path: &str, line: usize, cell: &str, findings: &mut Findings<'_>) {
    let tests: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if tests.is_empty() {
        findings.add(path, line, "a promise without a test", "name one as `crate_name::test_fn`");
    }
    for test in tests.into_iter().filter(|test| !exists(tree, test)) {
        let remedy = "write it as `crate_name::test_fn`, or name the one that shows it";
        findings.add(path, line, format!("there is no test `{test}`"), remedy);
    }
}

/// Tells whether `crate_name::test_fn` is the name of a test.
fn exists(tree: &Tree, test: &str) -> bool {
    let Some((crate_name, name)) = test.split_once("::") else { return false };
    let folder = format!("crates/{}", crate_name.replace('_', "-"));
    let signature = format!("fn {name}(");
    tree.rust_below(&folder).any(|file| {
        let lines: Vec<&str> = file.text.lines().collect();
        lines.iter().enumerate().any(|(idx, line)| {
            let is_it = line
                .split_once(&signature)
                .is_some_and(|(before, _)| before.is_empty() || before.ends_with(' '));
            // Between the attribute and the function stand further attributes and comments.
            is_it
                && lines[..idx]
                    .iter()
                    .rev()
                    .take_while(|line| line.trim_start().starts_with(['#', '/']))
                    .any(|line| line.contains("test]") || line.contains("test("))
        })
    })
}
