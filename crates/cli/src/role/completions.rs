//! Completions of shells and man pages, made from the same table of flags that is parsed.

#![expect(
    clippy::disallowed_methods,
    reason = "the man pages, in the directory that the person named"
)]

mod names;

pub(crate) use names::{WORD as NAMES, tell as names};

use std::{fs, io, path::Path, process::ExitCode};

use clap::{
    Command, CommandFactory as _,
    builder::{Resettable, StyledStr},
};
use clap_mangen::Man;
use vocab::outcome::Failure;

use crate::{
    args::{Args, EXIT_CODES},
    exit, print,
};

/// The files that Stead keeps, for the first man page.
const FILES: &[(&str, &str)] = &[
    ("~/.config/stead/config.toml", "the configuration: providers, workspaces, bounds of runs"),
    ("~/.local/state/stead", "sessions, keys, outputs of commands, the daemon's log"),
    ("$XDG_RUNTIME_DIR/stead, or /tmp/stead-UID", "the daemon's socket"),
];

/// The variables that Stead reads, for the first man page.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("STEAD_HOME", "where sessions, keys, outputs and log are; a whole path"),
    ("STEAD_RUNTIME_DIR", "where the daemon's socket is; a whole path"),
    ("STEAD_CONFIG", "the file of the configuration; a whole path"),
    ("XDG_STATE_HOME, XDG_RUNTIME_DIR, XDG_CONFIG_HOME", "what holds these when they are not set"),
    ("ANTHROPIC_API_KEY, OPENAI_API_KEY and others", "keys; stead providers lists them all"),
    ("NO_COLOR", "when set, nothing is colored"),
];

/// Prints the completions of a shell.
pub(crate) fn shell(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "stead", &mut text);
    Ok(print::out(&names::joined(shell, &String::from_utf8(text)?)))
}

/// Writes the man pages, one for each command.
pub(crate) fn man(dir: &Path) -> anyhow::Result<ExitCode> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    pages(&command, dir).map_err(|error| {
        let code = if error.kind() == io::ErrorKind::NotFound { "not_found" } else { "failed" };
        Failure::not_started(code, format!("{}: {error}", dir.display()))
    })?;
    print::err(&format!("stead: the man pages are in {}\n", dir.display()));
    Ok(ExitCode::from(exit::OK))
}

fn pages(command: &Command, dir: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages(inner, dir)?;
    }
    let (name, text) = page(command)?;
    fs::write(dir.join(name), text)
}

/// Returns a page and its name.
fn page(command: &Command) -> io::Result<(String, Vec<u8>)> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // What stands after the help is set line by line; the generator would fill its lines.
    let bare = command.clone().after_help(Resettable::<StyledStr>::Reset);
    let man = Man::new(bare).source(format!("stead {}", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    man.render(&mut text)?;
    let mut more = String::new();
    if command.get_name() == "stead" {
        more.push_str(&format!(
            ".SH \"EXIT STATUS\"\n{}\n",
            escaped(&EXIT_CODES.replace("\n  ", " "))
        ));
        for (heading, rows) in [("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)] {
            more.push_str(&format!(".SH {heading}\n"));
            for (what, says) in rows {
                more.push_str(&format!(".TP\n{}\n{}\n", escaped(what), escaped(says)));
            }
        }
    } else if let Some((heading, lines)) = after.split_once(":\n") {
        more.push_str(&format!(".SH {}\n.nf\n", escaped(&heading.to_uppercase())));
        for line in lines.lines() {
            more.push_str(&format!("{}\n", escaped(line)));
        }
        more.push_str(".fi\n");
    }
    text.extend_from_slice(more.as_bytes());
    Ok((man.get_filename(), text))
}

/// Escapes a line, so that it is text to the formatter, and its hyphens can be pasted.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    // A dot or an apostrophe at its beginning would make it a request.
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_flags_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn what_stands_below_a_help_is_set_for_eighty_columns() {
        let command = Args::command();
        let mut left = vec![&command];
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands());
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in after.lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
        }
    }

    #[test]
    fn the_pages_keep_lines_and_name_files_and_variables() {
        let mut command = Args::command().disable_help_subcommand(true);
        command.build();
        let text = |command: &Command| String::from_utf8(page(command).unwrap().1).unwrap();
        let first = text(&command);
        for part in [".SH \"EXIT STATUS\"", ".SH FILES", ".SH ENVIRONMENT", "STEAD_RUNTIME_DIR"] {
            assert!(first.contains(part), "{part}: {first}");
        }
        let run = text(command.find_subcommand("run").unwrap());
        assert!(run.contains("\n.SH EXAMPLES\n.nf\n  stead run "), "{run}");
        assert!(run.ends_with(".fi\n") && !run.contains("EXTRA"), "{run}");
        let head = run.lines().find(|line| line.starts_with(".TH ")).unwrap();
        assert!(head.contains("stead-run") && head.contains("\"stead "), "{head}");
        assert_eq!(escaped(".a\\b -c"), "\\&.a\\eb \\-c");
    }

    #[test]
    fn what_is_no_file_is_not_completed_as_one() {
        let command = Args::command();
        let mut left = vec![&command];
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands());
            for arg in command.get_arguments() {
                let takes = arg.get_action().takes_values();
                let told = arg.get_value_hint() != clap::ValueHint::Unknown
                    || !arg.get_possible_values().is_empty()
                    || matches!(arg.get_id().as_str(), "limit" | "lines" | "port" | "timeout");
                assert!(!takes || told, "{} {}", command.get_name(), arg.get_id());
            }
        }
    }
}
