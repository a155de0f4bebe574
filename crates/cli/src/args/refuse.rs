//! What is said where words are none of a command: the next step, where it can be guessed.
//!
//! Not here: failures of commands that were understood.

use std::{ffi::OsString, process::ExitCode};

use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::Args;
use crate::{
    env, exit,
    print::{self, clean::clean_line, words::quoted},
};

/// Prints what clap refused, or the help it was asked for.
pub(crate) fn refuse(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let mut text = error.render().to_string();
    if error.use_stderr() {
        let tip = elsewhere(words)
            .or_else(|| meant_command(error).map(|meant| format!("did you mean '{meant}'?")))
            .or_else(|| meant_branch(error, words))
            .or_else(|| meant_value(words));
        if let Some(tip) = tip.or_else(|| meant_program(error, words)) {
            // The parser's own, where it has one, is of no use then.
            let begin = text.find("\n\n  tip:");
            let end = text.find("\n\nUsage:").unwrap_or(text.len());
            text.replace_range(begin.unwrap_or(end)..end, &format!("\n\n  tip: {tip}"));
        }
        print::err(&text);
        return ExitCode::from(exit::USAGE);
    }
    print::out(&text)
}

/// Returns how a program is started in the background, where its flags were taken for ours.
fn meant_program(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    if error.kind() != ErrorKind::UnknownArgument || first != "bg" {
        return None;
    }
    let rest = rest.iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>()?;
    if rest.contains(&"--") {
        // The program stands where it belongs, and the flag before it is simply none.
        return None;
    }
    let is_program = |word: &&str| !word.starts_with('-') && env::is_program(word);
    // A word at the beginning is the program also where that is not installed; a prompt has several in one.
    let is_word = |word: &&str| !word.starts_with('-') && !word.contains(char::is_whitespace);
    let begins =
        rest.iter().position(is_program).or(rest.first().is_some_and(is_word).then_some(0))?;
    let command: Vec<String> =
        rest[begins..].iter().map(|word| quoted(&clean_line(word))).collect();
    let flags: String =
        rest[..begins].iter().map(|word| format!("{} ", clean_line(word))).collect();
    Some(format!("a program stands behind --: 'stead bg {flags}-- {}'", command.join(" ")))
}

/// Says what a command is called here that other programs have.
fn elsewhere(words: &[OsString]) -> Option<String> {
    Some(
        match words.first()?.to_str()? {
            "clean" | "prune" => {
                "'stead rm --ended' removes jobs that have ended, 'stead sessions rm' sessions"
            }
            "kill" => "'stead stop JOB' ends a job, 'stead daemon stop' all of them",
            "start" => {
                "'stead bg -- COMMAND' starts a program, 'stead respawn JOB' an ended one again"
            }
            "status" => {
                "'stead ls' tells how jobs and sessions are, 'stead daemon status' the daemon"
            }
            _ => return None,
        }
        .to_owned(),
    )
}

/// Splits the words of `stead bg` at its `--`; none of another command.
fn of_bg(words: &[OsString]) -> Option<(Vec<&str>, Vec<&str>)> {
    let (first, rest) = words.split_first()?;
    if first != "bg" {
        return None;
    }
    let rest = rest.iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>()?;
    let at = rest.iter().position(|word| *word == "--").unwrap_or(rest.len());
    let (before, behind) = rest.split_at(at);
    Some((before.to_vec(), behind.iter().skip(1).copied().collect()))
}

/// Says how a branch is named that stands behind a flag as its value does elsewhere.
fn meant_branch(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let is_it =
        matches!(error.kind(), ErrorKind::ArgumentConflict | ErrorKind::MissingRequiredArgument);
    let (before, behind) = of_bg(words).filter(|_| is_it)?;
    let at = before.iter().position(|word| *word == "--worktree")?;
    let branch = before.get(at + 1).filter(|word| !word.starts_with('-'))?;
    if branch.contains(char::is_whitespace) {
        let tip =
            "--worktree is for programs, which stand behind --: 'stead bg --worktree -- COMMAND'";
        return Some(tip.to_owned());
    }
    let command: Vec<String> = behind.iter().map(|word| quoted(&clean_line(word))).collect();
    let command = if command.is_empty() { "COMMAND".to_owned() } else { command.join(" ") };
    let branch = clean_line(branch);
    Some(format!("a branch is joined by =: 'stead bg --worktree={branch} -- {command}'"))
}

/// Flags of `stead bg` that take a value.
const VALUED: &[&str] = &["--name", "--dir", "--env", "--session-file", "--workspace", "--model"];

/// Says how a value is given that looks like a flag.
fn meant_value(words: &[OsString]) -> Option<String> {
    let (before, _) = of_bg(words)?;
    let pair =
        before.windows(2).find(|pair| VALUED.contains(&pair[0]) && pair[1].starts_with('-'))?;
    let joined = format!("{}={}", pair[0], quoted(&clean_line(pair[1])));
    Some(format!("a value that begins with a dash is joined by =: {joined}"))
}

/// Finds the command that a mistyped one was meant to be, where clap, which compares beginnings, found
/// none.
fn meant_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    if error.kind() != ErrorKind::InvalidSubcommand
        || error.get(ContextKind::SuggestedSubcommand).is_some()
    {
        return None;
    }
    // The usage names the command whose subcommand is off: "Usage: stead sessions <COMMAND>".
    let text = error.render().to_string();
    let usage = text.split("Usage: ").nth(1).unwrap_or_default();
    let mut command = Args::command();
    for word in usage.split_whitespace().skip(1) {
        match command.find_subcommand(word).cloned() {
            Some(inner) => command = inner,
            None => break,
        }
    }
    let names = command.get_subcommands().map(clap::Command::get_name);
    names
        .map(|name| (strsim::damerau_levenshtein(typed, name), name))
        .min()
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .map(|(_, name)| name.to_owned())
}
