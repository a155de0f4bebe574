//! The configuration file: TOML, read anew by whoever needs it, unknown keys refused with the nearest
//! known one.

mod check;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use daemon::{paths::Paths, workspaces::Registered};
use serde::Deserialize;
use stdx::state_file;
use vocab::{
    job::JobState,
    limits::STATE_FILE_BYTES_MAX,
    outcome::Failure,
    place::{Place, Source},
};

use crate::{print, role::debug};

/// The file as it stands.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// The model asked when nobody names one, as `provider/model`.
    pub(crate) default_model: Option<String>,
    /// Providers by name.
    #[serde(default)]
    pub(crate) providers: BTreeMap<String, ProviderEntry>,
    /// Registered places by name.
    #[serde(default)]
    pub(crate) workspaces: BTreeMap<String, WorkspaceEntry>,
    /// Bounds of runs.
    #[serde(default)]
    pub(crate) run: RunEntry,
    /// The daemon's own settings.
    #[serde(default)]
    pub(crate) daemon: DaemonEntry,
    /// How a person is told that something needs them.
    #[serde(default)]
    pub(crate) notify: NotifyEntry,
    /// Language servers of local workspaces.
    #[serde(default)]
    pub(crate) lsp: LspEntry,
    /// What does not work on this machine.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
}

/// `[providers.NAME]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderEntry {
    /// The dialect: `openai-chat`, `anthropic` or `scripted`.
    pub(crate) api: String,
    /// Where it answers; a vendor's own address when absent.
    pub(crate) base_url: Option<String>,
    /// For `scripted`: the file of turns.
    pub(crate) script: Option<String>,
    /// The environment variable that holds its key.
    pub(crate) key_env: Option<String>,
    /// Further headers of every request.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Its models.
    #[serde(default)]
    pub(crate) models: Vec<ModelEntry>,
}

/// A model of a provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelEntry {
    /// Its id, as the provider knows it.
    pub(crate) id: String,
    /// How many tokens it takes in all.
    pub(crate) context_window: Option<u32>,
    /// How many tokens it may answer.
    pub(crate) max_output: Option<u32>,
    /// Whether it takes pictures.
    pub(crate) images: Option<bool>,
}

/// `[workspaces.NAME]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkspaceEntry {
    /// A local directory; `~` is the home.
    pub(crate) path: Option<String>,
    /// Or the address of a runtime.
    pub(crate) remote: Option<String>,
    /// The authorities to trust there, in the place of the machine's.
    pub(crate) ca: Option<String>,
    /// Which workspace is meant, where the runtime serves several.
    pub(crate) channel: Option<String>,
    /// Or a host for ssh.
    pub(crate) ssh: Option<String>,
    /// The directory there.
    pub(crate) root: Option<String>,
    /// Whether programs may run there.
    #[serde(default)]
    pub(crate) exec: bool,
}

impl WorkspaceEntry {
    /// Returns what it is; of those that were found good.
    fn place(&self) -> Place {
        match (&self.remote, &self.ssh) {
            (Some(address), _) => {
                let (address, ca) = (address.clone(), self.ca.clone());
                Place::Remote { address, ca, channel: self.channel.clone() }
            }
            (None, Some(host)) => {
                let root = self.root.clone().unwrap_or_default();
                Place::Ssh { host: host.clone(), root, exec: self.exec }
            }
            (None, None) => {
                let path = expand(self.path.as_deref().unwrap_or_default());
                Place::Local { path: path.to_string_lossy().into_owned() }
            }
        }
    }
}

/// `[run]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunEntry {
    /// Model calls of one run before it is ended with a word; 200 when absent.
    pub(crate) steps_max: Option<u32>,
    /// Hours a question waits for its answer before it counts as denied; 168 when absent.
    pub(crate) answer_within_hours: Option<u32>,
    /// The shell of the `bash` tool; `/bin/bash` when absent.
    pub(crate) shell: Option<PathBuf>,
    /// Seconds a shell command may take when the model names none; 600 when absent.
    pub(crate) bash_timeout_seconds: Option<u32>,
    /// Whether models are told what a project's own files say (`AGENTS.md`, rules, skills); yes when absent.
    pub(crate) project_files: Option<bool>,
    /// Names of variables that the tools' programs see besides the base ones.
    #[serde(default)]
    pub(crate) env: Vec<String>,
}

/// `[daemon]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DaemonEntry {
    /// Origins of browser pages that may call, exactly as browsers send them.
    #[serde(default)]
    pub(crate) origins: Vec<String>,
}

/// `[lsp]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LspEntry {
    /// The file that names the servers; `lsp.toml` beside this file when absent.
    pub(crate) config: Option<String>,
    /// Directories whose own `.stead/lsp.toml` counts, in them and below.
    #[serde(default)]
    pub(crate) trust: Vec<String>,
}

/// `[notify]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotifyEntry {
    /// A program with its arguments; what happened stands in its environment as `STEAD_NOTIFY_…`.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// Whether the desktop tells it as well, through `notify-send`.
    #[serde(default)]
    pub(crate) desktop: bool,
    /// What is told; all of it when absent.
    pub(crate) on: Option<Vec<NotifyOn>>,
}

/// What a person may want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NotifyOn {
    /// Something waits for somebody.
    Blocked,
    /// A turn or a program has ended well.
    Done,
    /// It has ended otherwise.
    Failed,
}

impl NotifyEntry {
    /// Tells whether somebody wants to hear of a state.
    pub(crate) fn wants(&self, state: JobState) -> bool {
        let wanted = match state {
            JobState::Blocked => NotifyOn::Blocked,
            JobState::Done => NotifyOn::Done,
            JobState::Failed => NotifyOn::Failed,
            JobState::Working | JobState::Stopped => return false,
        };
        self.on.as_ref().is_none_or(|on| on.contains(&wanted))
    }
}

const NO_PROFILES: &str = "profiles do not exist yet, and no shell is sandboxed: remove the table, and choose --mode per run";

const ABOVE_TABLES: &str =
    "default_model belongs to the whole file: move it above the first [table]";

/// Reads the file; an absent one is an empty one.
///
/// # Errors
/// When it is not ours alone, not TOML, or holds a key that is none.
pub(crate) fn load(paths: &Paths) -> Result<Config, Failure> {
    let refused = |error: std::io::Error| Failure::not_started("config_invalid", error.to_string());
    // A directory of Stead's own is private; a file that was put elsewhere is judged alone.
    if let Some(dir) = paths.config.parent().filter(|dir| dir.ends_with("stead")) {
        state_file::check_private(dir).map_err(refused)?;
    }
    let bytes = state_file::read_config(&paths.config, STATE_FILE_BYTES_MAX).map_err(refused)?;
    let Some(bytes) = bytes else { return Ok(Config::default()) };
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::not_started(
            "config_invalid",
            format!("{} is not UTF-8 at byte {place}", paths.config.display()),
        )
    })?;
    parse(&paths.config.display().to_string(), &text)
}

/// Reads the file for a person's command, which says what does not work on this machine, once.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_and_tell(paths: &Paths) -> Result<Config, Failure> {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let config = load(paths)?;
    if !TOLD.swap(true, Ordering::Relaxed) {
        for warning in &config.warnings {
            print::err(&format!("stead: attention: {}\n", print::clean::clean_line(warning)));
        }
    }
    Ok(config)
}

/// Reads a text as the file `name`.
fn parse(name: &str, text: &str) -> Result<Config, Failure> {
    let mut config = read(name, text)?;
    check::check(name, text, &config)?;
    config.warnings = check::warnings(name, text, &config);
    Ok(config)
}

fn read(name: &str, text: &str) -> Result<Config, Failure> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map(|span| text.get(..span.start).unwrap_or_default());
        let line = before.map_or(0, |before| before.matches('\n').count() + 1);
        let message = error.message();
        let key = before.and_then(key_before).map_or_else(String::new, |key| format!("{key}: "));
        // A value that is of the wrong type may be a secret all the same.
        let shown = debug::without_values(message);
        let failure =
            Failure::not_started("config_invalid", format!("{name}:{line}: {key}{shown}"));
        // Whoever writes one wants to be held back by it, so it is not passed over.
        if message.starts_with("unknown field `profiles`") {
            return failure.with_hint(NO_PROFILES);
        }
        if message.starts_with("unknown field `default_model`") {
            return failure.with_hint(ABOVE_TABLES);
        }
        match nearest(message) {
            Some(known) => failure.with_hint(format!("did you mean {known:?}?")),
            None => failure,
        }
    })
}

/// Returns the key of the value that begins where this text ends.
fn key_before(text: &str) -> Option<&str> {
    let before = text.lines().last()?.trim_end().strip_suffix('=')?.trim_end();
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let key = before.rsplit(|c| !part(c)).next()?;
    (!key.is_empty()).then_some(key)
}

/// Reads the unknown key and the known ones out of the parser's words: "unknown field `x`, expected …".
fn nearest(message: &str) -> Option<String> {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown field").then(|| names.next())??;
    names
        .map(|known| {
            let shared = unknown.bytes().zip(known.bytes()).take_while(|(a, b)| a == b).count();
            // Who wrote the beginning of a name meant that name, however much of it is missing.
            let begun = shared >= 3 && shared == unknown.len().min(known.len());
            (!begun, strsim::damerau_levenshtein(unknown, known), Reverse(shared), known)
        })
        .min()
        .filter(|(other, distance, _, known)| !other || *distance <= known.len().max(3) / 2 + 1)
        .map(|(.., known)| known.to_owned())
}

impl Config {
    /// Returns the registered places.
    pub(crate) fn places(&self) -> Vec<Registered> {
        let places = self.workspaces.iter();
        places
            .map(|(name, entry)| Registered {
                name: name.clone(),
                place: entry.place(),
                source: Source::Config,
            })
            .collect()
    }
}

/// Returns a path with the home in place of `~`.
pub(crate) fn expand(path: &str) -> PathBuf {
    let rest = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (rest, crate::env::get("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests;
