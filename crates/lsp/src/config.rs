//! Which servers there are: two layers of a TOML file, the operator's and the project's.
//!
//! A layer says what it wants; what is allowed is decided by grants that no file can hold. The files are read
//! by others.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use sandbox::Environment;
use serde_json::Value;
use vocab::outcome::Effect;
use workspace::grant::ExecGrant;

use crate::languages;

/// Where the project's layer lies, below the workspace's root.
pub const PROJECT_LAYER: &str = ".stead/lsp.toml";

/// Trust in what the project says about language servers: its layer counts, and attached servers may see its
/// files. Only the composer of a workspace can make one; it starts no program.
#[derive(Debug, Clone)]
pub struct ProjectTrust {
    _private: (),
}

impl ProjectTrust {
    /// Trusts the project, because the owner of the machine said so.
    #[must_use]
    pub fn by_owner() -> Self {
        Self { _private: () }
    }
}

/// What a server needs that was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacks {
    /// It is started here, and programs may not be.
    Exec,
    /// It is attached, and the project is not trusted.
    Trust,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Started here: program and arguments.
    Command(Vec<String>),
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl Transport {
    pub(crate) fn is_managed(&self) -> bool {
        matches!(self, Self::Command(_))
    }
}

/// A server as a layer describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) transport: Transport,
    pub(crate) languages: Vec<String>,
    pub(crate) root_markers: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) init: Option<Value>,
}

impl Server {
    /// Tells what it lacks to be used.
    pub(crate) fn lacks(
        &self,
        exec: Option<&ExecGrant>,
        trust: Option<&ProjectTrust>,
    ) -> Option<Lacks> {
        match &self.transport {
            Transport::Command(_) => exec.is_none().then_some(Lacks::Exec),
            Transport::Unix(_) | Transport::Tcp(_) => trust.is_none().then_some(Lacks::Trust),
        }
    }
}

/// What is wrong with a layer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is no TOML.
    #[error("{0}")]
    Toml(String),
    /// A key that is none.
    #[error("`{key}` is not known at `{at}`; the nearest known key is `{nearest}`")]
    Unknown {
        /// Where.
        at: String,
        /// The key.
        key: String,
        /// What may have been meant.
        nearest: String,
    },
    /// A value that cannot be used.
    #[error("`{at}` {why}")]
    Value {
        /// Where.
        at: String,
        /// What is wrong with it.
        why: String,
    },
}

impl ConfigError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "lsp_config"
    }

    /// Returns what changed: nothing.
    #[must_use]
    pub fn effect(&self) -> Effect {
        Effect::NotStarted
    }
}

const KEYS: &[&str] = &["command", "attach", "languages", "root_markers", "env", "init"];

/// Reads a layer; servers in the order of their names.
pub(crate) fn parse(text: &str) -> Result<Vec<Server>, ConfigError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line =
            error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        ConfigError::Toml(format!("{line}{}", error.message()))
    })?;
    known("the file", table.keys(), &["servers"])?;
    let Some(servers) = table.get("servers") else { return Ok(Vec::new()) };
    let servers = servers.as_table().ok_or_else(|| value("servers", "must be a table"))?;
    let mut found = Vec::new();
    for (name, server) in servers {
        let at = format!("servers.{name}");
        let plain = |ch: char| ch.is_ascii_alphanumeric() || "-_.+".contains(ch);
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            return Err(value(
                &at,
                "must be named with letters, digits and - _ . +, at most 64 of them",
            ));
        }
        let table = server.as_table().ok_or_else(|| value(&at, "must be a table"))?;
        found.push(one(name, &at, table)?);
    }
    Ok(found)
}

fn one(name: &str, at: &str, table: &toml::Table) -> Result<Server, ConfigError> {
    known(at, table.keys(), KEYS)?;
    let transport = match (table.get("command"), table.get("attach")) {
        (Some(command), None) => Transport::Command(command_of(&format!("{at}.command"), command)?),
        (None, Some(attach)) => attach_of(&format!("{at}.attach"), attach)?,
        _ => return Err(value(at, "must have either `command` or `attach`")),
    };
    let languages = texts(&format!("{at}.languages"), table.get("languages"))?;
    if languages.is_empty() {
        return Err(value(&format!("{at}.languages"), "must name at least one language"));
    }
    let all: Vec<&str> = languages::all().collect();
    known(&format!("{at}.languages"), languages.iter(), &all)?;
    let root_markers = texts(&format!("{at}.root_markers"), table.get("root_markers"))?;
    if let Some(marker) = root_markers.iter().find(|marker| !is_name(marker)) {
        return Err(value(
            &format!("{at}.root_markers"),
            &format!("must hold names, not {marker:?}"),
        ));
    }
    let env = env_of(&format!("{at}.env"), table.get("env"))?;
    if !env.is_empty() && !transport.is_managed() {
        return Err(value(&format!("{at}.env"), "is for servers that are started here"));
    }
    let init = table.get("init").map(|init| json_of(&format!("{at}.init"), init)).transpose()?;
    Ok(Server { name: name.to_owned(), transport, languages, root_markers, env, init })
}

fn is_name(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '\0'])
}

fn command_of(at: &str, command: &toml::Value) -> Result<Vec<String>, ConfigError> {
    let words = texts(at, Some(command))?;
    match words.first() {
        Some(program) if Path::new(program).is_absolute() || is_name(program) => Ok(words),
        Some(_) => {
            Err(value(at, "must begin with an absolute path or a name that is found in PATH"))
        }
        None => Err(value(at, "must name a program")),
    }
}

fn attach_of(at: &str, attach: &toml::Value) -> Result<Transport, ConfigError> {
    let wrong = || value(at, "must be \"unix:/ABSOLUTE/PATH\" or \"tcp://127.0.0.1:PORT\"");
    let text = attach.as_str().ok_or_else(wrong)?;
    if let Some(path) = text.strip_prefix("unix:").filter(|path| path.starts_with('/')) {
        return Ok(Transport::Unix(path.into()));
    }
    let address = text.strip_prefix("tcp://").and_then(|text| text.parse::<SocketAddr>().ok());
    let loopback = address.filter(|address| address.ip().is_loopback() && address.port() != 0);
    loopback.map(Transport::Tcp).ok_or_else(wrong)
}

fn env_of(at: &str, env: Option<&toml::Value>) -> Result<Vec<(String, String)>, ConfigError> {
    let Some(env) = env else { return Ok(Vec::new()) };
    let table = env.as_table().ok_or_else(|| value(at, "must be a table of texts"))?;
    let (mut found, mut probe) = (Vec::new(), Environment::empty());
    for (name, text) in table {
        let text = text.as_str().ok_or_else(|| value(at, "must be a table of texts"))?;
        // The same filter that every child's environment passes; here it can still be told.
        probe.set(name, text).map_err(|refused| value(at, &format!("is refused: {refused}")))?;
        found.push((name.clone(), text.to_owned()));
    }
    Ok(found)
}

fn texts(at: &str, list: Option<&toml::Value>) -> Result<Vec<String>, ConfigError> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let list = list.as_array().ok_or_else(|| value(at, "must be a list of texts"))?;
    let text = |item: &toml::Value| {
        item.as_str().map(str::to_owned).ok_or_else(|| value(at, "must be a list of texts"))
    };
    list.iter().map(text).collect()
}

fn json_of(at: &str, found: &toml::Value) -> Result<Value, ConfigError> {
    Ok(match found {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) if number.is_finite() => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Array(items) => {
            Value::Array(items.iter().map(|item| json_of(at, item)).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => {
            let fields = table.iter().map(|(name, item)| Ok((name.clone(), json_of(at, item)?)));
            Value::Object(fields.collect::<Result<_, _>>()?)
        }
        toml::Value::Float(_) | toml::Value::Datetime(_) => {
            return Err(value(at, "must hold what JSON has"));
        }
    })
}

fn value(at: &str, why: &str) -> ConfigError {
    ConfigError::Value { at: at.to_owned(), why: why.to_owned() }
}

/// Refuses the first key that is not known.
fn known<'a>(
    at: &str,
    keys: impl Iterator<Item = &'a String>,
    known: &[&str],
) -> Result<(), ConfigError> {
    for key in keys {
        if !known.contains(&key.as_str()) {
            let distance = |known: &&&str| strsim::damerau_levenshtein(key, known);
            let nearest = known.iter().min_by_key(distance).copied().unwrap_or_default();
            let (at, key) = (at.to_owned(), key.clone());
            return Err(ConfigError::Unknown { at, key, nearest: nearest.to_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
