//! What is wrong with a file that can be read: what would fail once it is used is said as soon as it is read,
//! with its line. Not here: what only whoever answers at an address knows.

use provider::{catalog, resolve::Api};
use vocab::outcome::Failure;

use super::{Config, WorkspaceEntry};
use crate::{compose::places::address_of, env};

/// Refuses what can never work. No value is repeated: it may be a secret in the wrong place.
pub(super) fn check(name: &str, text: &str, config: &Config) -> Result<(), Failure> {
    let fault = |path: &[&str], why: &str| {
        let line = line_of(text, path);
        Failure::not_started("config_invalid", format!("{name}:{line}: {why}"))
    };
    for (provider, entry) in &config.providers {
        let of = |key: &'static str| ["providers", provider.as_str(), key];
        let Ok(api) = entry.api.parse::<Api>() else {
            return Err(fault(&of("api"), "api: no dialect that is known")
                .with_hint("openai-chat, anthropic or scripted"));
        };
        let table = &["providers", provider.as_str()];
        let is_scripted = api == Api::Scripted;
        if is_scripted && entry.script.is_none() {
            return Err(fault(table, &format!("the provider {provider} has no script"))
                .with_hint(format!("add script = \"FILE\" to [providers.{provider}]")));
        }
        if entry.script.as_deref().is_some_and(|path| !is_whole(path)) {
            return Err(fault(&of("script"), "script: the file is a whole path, from / or ~ on"));
        }
        if !is_scripted && entry.base_url.is_none() && catalog::vendor(provider).is_none() {
            return Err(fault(table, &format!("the provider {provider} has no base_url"))
                .with_hint(format!("add base_url to [providers.{provider}]")));
        }
        if let Some(model) = entry.models.iter().position(|model| model.id.is_empty()) {
            let why = format!("models: the id of number {} is empty", model + 1);
            return Err(fault(&of("models"), &why));
        }
    }
    for (place, entry) in &config.workspaces {
        if let Some((key, why)) = wrong_place(entry) {
            return Err(fault(&["workspaces", place, key], &why));
        }
    }
    if config.lsp.config.as_deref().is_some_and(|path| !is_whole(path)) {
        return Err(fault(&["lsp", "config"], "config: the file is a whole path, from / or ~ on"));
    }
    if !config.lsp.trust.iter().all(|path| is_whole(path)) {
        return Err(fault(&["lsp", "trust"], "trust: a directory is a whole path, from / or ~ on"));
    }
    if config.notify.command.first().is_some_and(String::is_empty) {
        return Err(fault(&["notify", "command"], "command: its program is empty")
            .with_hint("command = [\"PROGRAM\", \"ARGUMENT\"]"));
    }
    Ok(())
}

/// Tells what is wrong with a workspace, and of which key.
fn wrong_place(entry: &WorkspaceEntry) -> Option<(&'static str, String)> {
    let kinds = [&entry.path, &entry.remote, &entry.ssh];
    if kinds.iter().filter(|kind| kind.is_some()).count() != 1 {
        return Some(("path", "a workspace has one of path, remote and ssh".to_owned()));
    }
    if entry.path.as_deref().is_some_and(|path| !is_whole(path)) {
        return Some(("path", "path: a workspace is a whole path, from / or ~ on".to_owned()));
    }
    if let Some(address) = &entry.remote
        && let Err(failure) = address_of(address)
    {
        return Some(("remote", format!("remote: {}", failure.message)));
    }
    let is_root = entry.root.as_deref().is_some_and(|root| root.starts_with('/'));
    if entry.ssh.is_some() != is_root {
        return Some(("root", "root: a workspace over ssh has a whole path, from / on".to_owned()));
    }
    None
}

/// Tells whether a path means the same wherever it is read.
fn is_whole(path: &str) -> bool {
    path.starts_with('/') || path == "~" || path.starts_with("~/")
}

/// Says what does not work on this machine, and may on another one with the same file.
pub(super) fn warnings(name: &str, text: &str, config: &Config) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(program) = config.notify.command.first().filter(|word| !env::is_program(word)) {
        let line = line_of(text, &["notify", "command"]);
        all.push(format!("{name}:{line}: [notify] command: there is no program {program:?}"));
    }
    if config.notify.desktop && !env::is_program("notify-send") {
        let line = line_of(text, &["notify", "desktop"]);
        all.push(format!("{name}:{line}: [notify] desktop: there is no notify-send"));
    }
    all
}

/// Returns the line of what stands at a path of keys, or of the last table on the way to it.
fn line_of(text: &str, path: &[&str]) -> usize {
    let Ok(document) = toml_edit::Document::parse(text) else { return 1 };
    let mut item = document.as_item();
    let mut at = 0;
    for key in path {
        let Some(inner) = item.get(key) else { break };
        item = inner;
        at = item.span().map_or(at, |span| span.start);
    }
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}
