//! `stead hooks`: lets agents report how they are, by entries in their own configuration.
//!
//! Nothing is written unless that is asked for; what is written is shown either way. Only entries that call
//! Stead are ever touched, and a file that cannot be understood is left as it is.

mod claude;
mod codex;
mod file;
mod splice;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde::Serialize;
use vocab::outcome::Failure;

use self::file::Foreign;
use crate::{
    args::inside::{Hook, HookAgent, Hooks},
    env::{self, Called, PROGRAM},
    exit,
    print::{self, clean::clean_line},
};

/// What is in an agent's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Presence {
    /// All of it.
    Installed,
    /// Some of it, or for another place of the program.
    Partial,
    /// Nothing.
    Absent,
}

/// What should be in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Install,
    Remove,
}

/// An agent's hooks, in its own format.
struct Format {
    name: &'static str,
    presence: fn(&str, &str) -> Result<Presence, String>,
    change: fn(&str, &str, Wish) -> Result<String, Failure>,
}

impl Format {
    fn of(agent: HookAgent) -> Self {
        match agent {
            HookAgent::ClaudeCode => {
                let (presence, change) = (claude::presence, claude::change);
                Self { name: "claude-code", presence, change }
            }
            HookAgent::Codex => {
                let (presence, change) = (codex::presence, codex::change);
                Self { name: "codex", presence, change }
            }
        }
    }
}

/// What `--json` prints of a change.
#[derive(Debug, Serialize)]
struct Changed<'a> {
    agent: &'a str,
    config: &'a Path,
    changed: bool,
    written: bool,
    diff: &'a str,
}

/// What `--json` prints of a state.
#[derive(Debug, Serialize)]
struct Found<'a> {
    agent: &'a str,
    config: PathBuf,
    status: Presence,
}

/// Runs the command.
pub(crate) fn run(command: Hooks) -> anyhow::Result<ExitCode> {
    match command {
        Hooks::Install(hook) => Ok(change(&hook, Wish::Install)?),
        Hooks::Remove(hook) => Ok(change(&hook, Wish::Remove)?),
        Hooks::Status { agent, config, json } => {
            let agents = agent.map_or(vec![HookAgent::ClaudeCode, HookAgent::Codex], |it| vec![it]);
            let mut found = Vec::new();
            for agent in agents {
                found.push(look(agent, config.as_deref())?);
            }
            if json.json {
                return Ok(print::json(&found));
            }
            let line = |found: &Found<'_>| {
                let status = match found.status {
                    Presence::Installed => "installed",
                    Presence::Partial => "partly installed",
                    Presence::Absent => "not installed",
                };
                format!("{:<12} {status:<16} {}\n", found.agent, found.config.display())
            };
            Ok(print::out(&found.iter().map(line).collect::<String>()))
        }
    }
}

fn look(agent: HookAgent, config: Option<&Path>) -> Result<Found<'static>, Failure> {
    let format = Format::of(agent);
    let foreign = Foreign::read(&place(agent, config)?)?;
    let status = match &foreign.text {
        None => Presence::Absent,
        Some(text) => {
            (format.presence)(text, &program()?).map_err(|why| malformed(&foreign.path, &why))?
        }
    };
    Ok(Found { agent: format.name, config: foreign.path, status })
}

fn change(hook: &Hook, wish: Wish) -> Result<ExitCode, Failure> {
    let format = Format::of(hook.agent);
    let foreign = Foreign::read(&place(hook.agent, hook.config.as_deref())?)?;
    let before = foreign.text.as_deref().unwrap_or_default();
    // Where there is no file there is nothing to be removed.
    let after = match (&foreign.text, wish) {
        (None, Wish::Remove) => String::new(),
        _ => (format.change)(before, &program()?, wish)
            .map_err(|failure| named(&foreign.path, failure))?,
    };
    let has_changed = before != after;
    let name = foreign.path.display().to_string();
    let diff = workspace_local::diff::compare(before.as_bytes(), after.as_bytes(), &name).patch;
    if has_changed && hook.write {
        foreign.replace(&after)?;
    }
    let written = has_changed && hook.write;
    if hook.json.json {
        let (agent, config) = (format.name, foreign.path.as_path());
        return Ok(print::json(&Changed {
            agent,
            config,
            changed: has_changed,
            written,
            diff: &diff,
        }));
    }
    if !has_changed {
        print::err(&format!("stead: nothing to change in {name}\n"));
        return Ok(ExitCode::from(exit::OK));
    }
    let code = print::out(&diff);
    if wish == Wish::Install {
        tell_path();
    }
    print::err(&match (written, wish) {
        (true, _) => format!("stead: {name} is written; sessions that run do not see it\n"),
        (false, Wish::Install) => {
            "stead: nothing is written yet; add --write to do so\n".to_owned()
        }
        (false, Wish::Remove) => "stead: nothing is removed yet; add --write to do so\n".to_owned(),
    });
    Ok(code)
}

/// Returns where an agent's configuration is.
fn place(agent: HookAgent, config: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(config) = config {
        return Ok(env::cwd()?.join(config));
    }
    let (variable, usual, file) = match agent {
        HookAgent::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
        HookAgent::Codex => ("CODEX_HOME", ".codex", "config.toml"),
    };
    let own = env::get(variable).map(PathBuf::from);
    let dir = own.or_else(|| Some(PathBuf::from(env::get("HOME")?).join(usual)));
    let dir = dir.filter(|dir| dir.is_absolute()).ok_or_else(|| {
        let why = format!("neither {variable} nor HOME names a directory by its whole path");
        Failure::not_started("usage", why).with_hint("name the file with --config")
    })?;
    Ok(dir.join(file))
}

/// Returns the word by which hooks call this program: its name where that finds it, since it then finds the next
/// build as well.
fn program() -> Result<String, Failure> {
    match env::called() {
        Some(Called::Name) => Ok(PROGRAM.to_owned()),
        Some(Called::Path(path)) => Ok(path),
        None => {
            let why = "where this program is cannot be said";
            Err(Failure::not_started("hooks_unusable", why))
        }
    }
}

/// Says of hooks that call a path that they end with it.
fn tell_path() {
    if let Some(Called::Path(path)) = env::called() {
        let path = clean_line(&path);
        print::err(&format!(
            "stead: attention: these hooks call {path}, since the stead on your PATH is another one or \
             none; install them again from where it stays\n"
        ));
    }
}

fn malformed(path: &Path, why: &str) -> Failure {
    let why = format!("{} cannot be understood and is left alone: {why}", path.display());
    Failure::not_started("hooks_malformed", why)
}

fn named(path: &Path, failure: Failure) -> Failure {
    let message = format!("{}: {}", path.display(), failure.message);
    Failure { message, ..failure }
}
