//! The agents that are known by name: what marks their commands, and where they differ from one another.
//!
//! Only programs that a person talks to in turns stand here. An agent without a file of rules is known for
//! its keys and its titles, and its screens mean nothing yet.

use crate::rules::embedded;

/// A program that works in turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// What it is called here, in rule files and in explanations.
    pub name: &'static str,
    /// The base names of its executable.
    commands: &'static [&'static str],
    /// The names of the packages that it comes in.
    packages: &'static [&'static str],
}

impl Agent {
    /// Returns the text of its embedded rules, if its screens were ever recorded.
    #[must_use]
    pub fn rules(&self) -> Option<&'static str> {
        embedded(self.name)
    }
}

/// Every known agent.
pub const AGENTS: &[Agent] = &[
    known("claude", &["claude"], &["@anthropic-ai/claude-code"]),
    known("codex", &["codex"], &["@openai/codex"]),
    known("pi", &["pi"], &["@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"]),
    known("opencode", &["opencode"], &["opencode-ai"]),
    known("gemini", &["gemini"], &["@google/gemini-cli"]),
    known("aider", &["aider"], &["aider-chat", "aider"]),
    known("amp", &["amp"], &["@sourcegraph/amp"]),
    known("copilot", &["copilot"], &["@github/copilot"]),
    known("cursor", &["cursor-agent"], &[]),
    known("crush", &["crush"], &["@charmland/crush"]),
    known("droid", &["droid"], &["@factory/cli"]),
    known("goose", &["goose"], &[]),
    known("kimi", &["kimi"], &["kimi-cli"]),
    known("qwen", &["qwen"], &["@qwen-code/qwen-code"]),
];

const fn known(
    name: &'static str,
    commands: &'static [&'static str],
    packages: &'static [&'static str],
) -> Agent {
    Agent { name, commands, packages }
}

/// How many wrappers may stand around a command.
const DEPTH_MAX: usize = 8;

/// Returns the agent that a command starts, also through what people and package managers put before it.
#[must_use]
pub fn of(command: &[String]) -> Option<&'static Agent> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    of_words(&words, DEPTH_MAX)
}

fn of_words(words: &[&str], depth: usize) -> Option<&'static Agent> {
    let (first, rest) = words.split_first()?;
    let depth = depth.checked_sub(1)?;
    let base = base_name(first);
    if let Some(agent) = AGENTS.iter().find(|agent| agent.commands.contains(&base)) {
        return Some(agent);
    }
    match base {
        "env" => of_words(after_settings(rest), depth),
        "nice" | "nohup" | "setsid" | "stdbuf" | "time" | "command" | "exec" | "ionice"
        | "chrt" | "systemd-inhibit" | "caffeinate" => of_words(after_flags(rest), depth),
        "timeout" => of_words(after_flags(rest).get(1..)?, depth),
        "npx" | "bunx" | "pnpx" | "uvx" => of_package(after_flags(rest)),
        "npm" | "pnpm" | "yarn" | "bun" | "pipx" | "uv" if is_runner(rest) => {
            of_package(after_flags(rest.get(1..)?))
        }
        "node" | "nodejs" | "bun" | "deno" | "tsx" => of_script(after_flags(rest)),
        "sh" | "bash" | "zsh" | "dash" | "fish" => of_line(rest, depth),
        _ if is_python(base) => match rest {
            ["-m", module, ..] => of_package(&[module]),
            _ => of_script(after_flags(rest)),
        },
        // A package may be started by the path of a file in it.
        _ => of_path(first),
    }
}

fn base_name(word: &str) -> &str {
    let base = word.rsplit('/').next().unwrap_or(word);
    base.strip_suffix(".exe").unwrap_or(base)
}

fn is_python(base: &str) -> bool {
    let version = base.strip_prefix("python");
    version.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

fn is_runner(rest: &[&str]) -> bool {
    rest.first().is_some_and(|word| matches!(*word, "exec" | "x" | "dlx" | "run" | "tool"))
}

/// Skips flags; one that has its value in a word of its own is followed by it.
fn after_flags<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if !word.starts_with('-') || *word == "-" {
            break;
        }
        let takes_value = matches!(
            *word,
            "-n" | "-p" | "-c" | "-r" | "-k" | "-s" | "--package" | "--require" | "--import"
        );
        rest = if takes_value { after.get(1..).unwrap_or_default() } else { after };
        if *word == "--" {
            break;
        }
    }
    rest
}

/// Skips what `env` sets and unsets.
fn after_settings<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        rest = match *word {
            "-u" | "-C" | "--unset" | "--chdir" => after.get(1..).unwrap_or_default(),
            word if word.starts_with('-') || word.contains('=') => after,
            _ => break,
        };
    }
    rest
}

/// Returns the agent of a package as a package manager names it, with scope and version.
fn of_package(words: &[&str]) -> Option<&'static Agent> {
    let word = words.iter().find(|word| !word.starts_with('-') && **word != "run")?;
    // The first character may be the scope's.
    let at = word.char_indices().skip(1).find(|(_, c)| *c == '@').map_or(word.len(), |(at, _)| at);
    let name = &word[..at];
    AGENTS.iter().find(|agent| agent.packages.contains(&name) || agent.commands.contains(&name))
}

/// Returns the agent of a script that an interpreter runs.
fn of_script(words: &[&str]) -> Option<&'static Agent> {
    let script = words.first()?;
    let base = base_name(script);
    let stem = base.rsplit_once('.').map_or(base, |(stem, _)| stem);
    let named = AGENTS.iter().find(|agent| agent.commands.contains(&stem));
    named.or_else(|| of_path(script))
}

/// Returns the agent in whose installed package a file lies.
fn of_path(path: &str) -> Option<&'static Agent> {
    let (_, inside) = path.rsplit_once("/node_modules/")?;
    let lies_in = |package: &&str| {
        inside.strip_prefix(*package).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    AGENTS.iter().find(|agent| agent.packages.iter().any(lies_in))
}

/// Returns the agent of a shell's command line, if the line is one simple command.
fn of_line(rest: &[&str], depth: usize) -> Option<&'static Agent> {
    let at = rest.iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
    let line = rest.get(at + 1)?;
    if line.contains([';', '|', '&', '\n', '`', '(', '<', '>']) {
        return None;
    }
    let words: Vec<&str> =
        line.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
    of_words(after_settings(&words), depth)
}

#[cfg(test)]
mod tests;
