//! Documents that are printed from tables of the code, so that they cannot drift.

use std::{fmt::Write as _, process::ExitCode};

use vocab::limits::{self, Limit};

use crate::tree;

/// Where the table of limits is printed.
pub(crate) const LIMITS: &str = "docs/limits.md";

/// Writes every generated document.
pub(crate) fn run(_arguments: &[String]) -> anyhow::Result<ExitCode> {
    tree::write(LIMITS, &limits_page(limits::TABLE)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the table of limits as a page.
pub(crate) fn limits_page(table: &[Limit]) -> anyhow::Result<String> {
    let mut page = String::from(
        "# Limits\n\n\
         Every bound of the program, with its reason and the test that meets it. Printed from\n\
         `crates/vocab/src/limits.rs` by `cargo xtask gen`; do not edit.\n\n\
         | limit | value | unit | because | met by |\n\
         |---|---:|---|---|---|\n",
    );
    for Limit { name, value, unit, because, test } in table {
        writeln!(page, "| `{name}` | {} | {unit} | {because} | `{test}` |", grouped(*value))?;
    }
    Ok(page)
}

/// Prints a number with a comma between groups of three digits.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
