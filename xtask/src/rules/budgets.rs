//! How long things may be. What is longer today stands in a list that may only shrink.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{findings::Findings, source::File, tree::Tree};

const FILE_LINES_AIM: usize = 400;
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const LIB_LINES_MAX: usize = 80;
const LIB_EXPORTS_MAX: usize = 20;
const INLINE_TEST_LINES_MAX: usize = 60;
const NAUGHTY: &str = "xtask/naughty.toml";

/// Files that are longer than aimed at, and how long each was when it was last looked at.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Naughty {
    files: BTreeMap<String, usize>,
}

/// Checks the length of every Rust file.
pub(crate) fn files(tree: &Tree, findings: &mut Findings<'_>) {
    let listed = tree.file(NAUGHTY).map_or("", |file| &file.text);
    let naughty: Naughty = match toml::from_str(listed) {
        Ok(naughty) => naughty,
        Err(error) if tree.file(NAUGHTY).is_some() => {
            return findings.add(NAUGHTY, 1, error.message(), "write [files] \"path\" = lines");
        }
        Err(_) => Naughty::default(),
    };
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        let n_lines = file.text.lines().count();
        let allowed = naughty.files.get(&file.path).copied();
        let (what, remedy) = match allowed {
            _ if n_lines > FILE_LINES_MAX => {
                (format!("{n_lines} lines"), format!("split it; {FILE_LINES_MAX} is the end"))
            }
            None if n_lines > FILE_LINES_AIM => {
                (format!("{n_lines} lines"), format!("split it; {FILE_LINES_AIM} is aimed at"))
            }
            Some(allowed) if n_lines > allowed => {
                (format!("grew from {allowed} to {n_lines} lines"), "split it".to_owned())
            }
            Some(_) if n_lines <= FILE_LINES_AIM => {
                (format!("is down to {n_lines} lines"), format!("remove its row from {NAUGHTY}"))
            }
            Some(allowed) if n_lines < allowed => {
                (format!("is down to {n_lines} lines"), format!("lower its row in {NAUGHTY}"))
            }
            _ => continue,
        };
        findings.add(&file.path, 1, what, remedy);
    }
    for path in naughty.files.keys().filter(|path| tree.file(path).is_none()) {
        findings.add(NAUGHTY, 1, format!("{path} is gone"), "remove its row");
    }
}

/// Checks the length of every function, tests included.
pub(crate) fn functions(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        for (name, span) in file.functions() {
            let n_lines = file.n_code_lines(span).saturating_sub(2);
            if n_lines > FUNCTION_LINES_MAX {
                findings.add(
                    &file.path,
                    span.first,
                    format!("`{name}` has {n_lines} lines of code"),
                    format!("{FUNCTION_LINES_MAX} is the most; give a part of it a name"),
                );
            }
        }
    }
}

/// Checks that the root of a library is a page to read, not a place to work.
pub(crate) fn libs(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files.iter().filter(|file| file.path.ends_with("/src/lib.rs")) {
        let n_lines = file.text.lines().count();
        if n_lines > LIB_LINES_MAX {
            findings.add(
                &file.path,
                1,
                format!("{n_lines} lines"),
                format!("{LIB_LINES_MAX} is the most; move code into modules"),
            );
        }
        let n_exports = n_exports(file);
        if n_exports > LIB_EXPORTS_MAX {
            findings.add(
                &file.path,
                1,
                format!("{n_exports} exports"),
                format!("{LIB_EXPORTS_MAX} is the most; export modules instead of their items"),
            );
        }
    }
}

/// Counts what a library's root gives away; each name of a group counts.
fn n_exports(file: &File) -> usize {
    let text = file.product_text();
    let mut n_exports = 0;
    let mut rest = text.as_str();
    while let Some(at) = rest.find("pub ") {
        let starts_line = rest.get(..at).is_none_or(|head| head.is_empty() || head.ends_with('\n'));
        rest = rest.get(at + 4..).unwrap_or_default();
        if starts_line {
            let statement = rest.split(';').next().unwrap_or_default();
            let is_group = rest.starts_with("use ") && statement.contains('{');
            let n_names = statement.split([',', '{']).filter(|name| {
                let name = name.trim().trim_end_matches('}').trim();
                !name.is_empty() && !name.ends_with("::")
            });
            n_exports += if is_group { n_names.count() } else { 1 };
        }
    }
    n_exports
}

/// Checks that tests of some length have a file of their own.
pub(crate) fn inline_tests(tree: &Tree, findings: &mut Findings<'_>) {
    for file in tree.files.iter().filter(|file| file.is_rust()) {
        if let Some(span) = file.inline_tests().filter(|s| s.n_lines() > INLINE_TEST_LINES_MAX) {
            let own = file.path.trim_end_matches(".rs");
            let own = own.strip_suffix("/lib").or(own.strip_suffix("/main")).unwrap_or(own);
            findings.add(
                &file.path,
                span.first,
                format!("{} lines of tests stand inside", span.n_lines()),
                format!("move them to {own}/tests.rs and write `#[cfg(test)] mod tests;`"),
            );
        }
    }
}
