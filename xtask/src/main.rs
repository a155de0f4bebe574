//! The project's own checks and generators. People and CI reach them through `./dev`.
//!
//! A command is one row of [`COMMANDS`] and one module. Nothing here is part of the product.

use std::process::ExitCode;

mod bench;
mod findings;
mod generate;
mod graph;
mod layers;
mod output;
mod rules;
mod source;
mod tidy;
mod tree;

/// A command: its name, what it is for, and what runs it with the remaining arguments.
type Command = (&'static str, &'static str, fn(&[String]) -> anyhow::Result<ExitCode>);

const COMMANDS: &[Command] = &[
    ("tidy", "check what compiler and lints cannot", tidy::run),
    ("bench", "measure the built program beside its peers", bench::run),
    ("gen", "write the generated documents", generate::run),
];

fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    if let Some((_, _, run)) = COMMANDS.iter().find(|(name, ..)| *name == wanted) {
        return run(&rest);
    }
    output::note("usage: cargo xtask <command>");
    for (name, purpose, _) in COMMANDS {
        output::note(&format!("  {name:<8} {purpose}"));
    }
    Ok(ExitCode::from(2))
}
