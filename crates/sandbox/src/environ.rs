//! The environment of a child: built from nothing, deny by default, filtered last.
//!
//! The parent's environment is handed in as a value; this module never reads it. An [`Environment`] has
//! no other way in than [`Environment::set`], which asks the filter, so none exists that did not pass it.
//! The filter is the last step because names come from three sides (the base, the operator, the
//! callers), and a name that looks harmless to one of them may end in what marks a secret.

use std::{
    collections::BTreeMap,
    ffi::{CString, OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use vocab::ids::{JOB_MARKER, RUN_MARKER};

/// How a row of the base table compares with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// The whole name.
    Exact,
    /// The beginning of the name.
    Prefix,
    /// The whole name, in any case, on Windows alone.
    WindowsExact,
}

/// A row of the base: a name that is copied from the parent without being asked for.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// The name, or its beginning.
    pub name: &'static str,
    /// How it compares.
    pub matches: Match,
    /// Why a command may see it.
    pub because: &'static str,
}

const fn row(name: &'static str, matches: Match, because: &'static str) -> Allowed {
    Allowed { name, matches, because }
}

/// What every child may inherit. Everything else must be named by the operator.
pub const BASE: &[Allowed] = &[
    row("PATH", Match::Exact, "commands are found through it"),
    row("HOME", Match::Exact, "tools keep their configuration and caches below it"),
    row("USER", Match::Exact, "commit authors and prompts fall back to it"),
    row("LOGNAME", Match::Exact, "the older name of USER, which some tools read instead"),
    row("SHELL", Match::Exact, "tools that start a shell ask for the user's own"),
    row("TMPDIR", Match::Exact, "where scratch files go on Unix"),
    row("TEMP", Match::Exact, "where scratch files go on Windows"),
    row("TMP", Match::Exact, "the older name of TEMP"),
    row("LANG", Match::Exact, "decides the encoding of output"),
    row("LC_", Match::Prefix, "the parts of the locale that LANG does not decide"),
    row("TERM", Match::Exact, "tools decide about control sequences by it"),
    row("COLORTERM", Match::Exact, "tools decide about colours by it"),
    row("NO_COLOR", Match::Exact, "a wish for plain output must reach the command"),
    row("SystemRoot", Match::WindowsExact, "Windows programs cannot load libraries without it"),
    row("ComSpec", Match::WindowsExact, "names the command interpreter"),
    row("PATHEXT", Match::WindowsExact, "says which file names are programs"),
];

/// What a job's program may inherit from whoever asked for the job. Everything else must be named.
pub const JOB_BASE: &[Allowed] = &[
    row("PATH", Match::Exact, "commands are found through it"),
    row("HOME", Match::Exact, "programs keep their configuration and sign-in below it"),
    row("USER", Match::Exact, "commit authors and prompts fall back to it"),
    row("SHELL", Match::Exact, "agents start the person's own"),
    row("LANG", Match::Exact, "decides the encoding of output"),
    row("LC_", Match::Prefix, "the parts of the locale that LANG does not decide"),
    row("COLORTERM", Match::Exact, "programs decide about colors by it"),
    row("HTTP_PROXY", Match::Exact, "an agent without its proxy reaches no model"),
    row("HTTPS_PROXY", Match::Exact, "an agent without its proxy reaches no model"),
    row("NO_PROXY", Match::Exact, "what must not go through the proxy"),
    row("http_proxy", Match::Exact, "the spelling that older libraries read"),
    row("https_proxy", Match::Exact, "the spelling that older libraries read"),
    row("no_proxy", Match::Exact, "the spelling that older libraries read"),
];

/// Names that carry Stead's own credentials, compared without regard to case.
const OWN_NAMES: &[&str] = &["STEAD_WORKSPACE_TOKEN", "STEAD_REMOTE_TOKEN"];
/// Beginnings of names that carry Stead's own credentials.
const OWN_PREFIXES: &[&str] = &["STEAD_WORKSPACE_TLS_"];
/// Endings of names by which people mark a secret.
const SECRET_SUFFIXES: &[&str] =
    &["_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PRIVATE_KEY", "_CREDENTIALS"];

/// The variable that names the call within the run. Its value is unique within the starting process.
pub(crate) const CALL_MARKER: &str = "STEAD_CALL";

/// Why a variable was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The final filter removes this name, whoever asked for it.
    #[error("{0:?} looks like a credential and never reaches a child")]
    Credential(OsString),
    /// The operating system cannot carry it.
    #[error("{0:?} is no name or value an environment can carry")]
    Malformed(OsString),
}

impl Refused {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Credential(_) => "environment_credential",
            Self::Malformed(_) => "environment_malformed",
        }
    }

    /// Returns what changed: nothing.
    #[must_use]
    pub fn effect(&self) -> vocab::outcome::Effect {
        vocab::outcome::Effect::NotStarted
    }
}

/// Tells whether the final filter removes `name`.
#[must_use]
pub fn is_filtered(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let ends = |suffix: &&str| {
        let at = name.len().checked_sub(suffix.len());
        at.and_then(|at| name.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(suffix.as_bytes()))
    };
    is_own(name) || SECRET_SUFFIXES.iter().any(ends)
}

/// Tells whether `name` carries a credential of Stead's own.
fn is_own(name: &[u8]) -> bool {
    let begins = |prefix: &&str| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
    };
    OWN_NAMES.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
        || OWN_PREFIXES.iter().any(begins)
}

/// Tells whether a base table lets `name` through.
fn is_base(table: &[Allowed], name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    table.iter().any(|row| match row.matches {
        Match::Exact if cfg!(windows) => bytes.eq_ignore_ascii_case(row.name.as_bytes()),
        Match::Exact => bytes == row.name.as_bytes(),
        Match::Prefix => bytes.starts_with(row.name.as_bytes()),
        Match::WindowsExact => cfg!(windows) && bytes.eq_ignore_ascii_case(row.name.as_bytes()),
    })
}

/// Which names never pass, whoever asked for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Filter {
    /// For tools, which a model calls: whatever looks like a secret.
    #[default]
    Tool,
    /// For jobs, which a person asks for and names variables for: Stead's own credentials.
    Job,
}

/// What a child sees. Every name in it passed the filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    filter: Filter,
}

impl Environment {
    /// Returns an environment with nothing in it.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Builds the environment of a tool: the base table and the names the operator gave, each copied from
    /// `parent` where it is set, and then filtered.
    #[must_use]
    pub fn for_tools(parent: &[(OsString, OsString)], operator: &[OsString]) -> Self {
        let mut built = Self::empty();
        for (name, value) in parent {
            if is_base(BASE, name) || operator.contains(name) {
                // A name the filter refuses is left out: that is what the filter is for.
                built.set(name, value).ok();
            }
        }
        built
    }

    /// Builds the environment of a job's program: what the job's table lets through from `parent`, and
    /// what a person named, which wins. Only Stead's own credentials are left out.
    #[must_use]
    pub fn for_jobs(parent: &[(OsString, OsString)], named: &[(OsString, OsString)]) -> Self {
        let mut built = Self { variables: BTreeMap::new(), filter: Filter::Job };
        let inherited = parent.iter().filter(|(name, _)| is_base(JOB_BASE, name));
        for (name, value) in inherited.chain(named) {
            // A name the filter refuses is left out: that is what the filter is for.
            built.set(name, value).ok();
        }
        built
    }

    /// Sets a variable, replacing an earlier value.
    ///
    /// # Errors
    /// When the filter refuses the name, or the system cannot carry the name or the value.
    pub fn set(
        &mut self,
        name: impl AsRef<OsStr>,
        value: impl AsRef<OsStr>,
    ) -> Result<(), Refused> {
        let (name, value) = (name.as_ref(), value.as_ref());
        let bytes = name.as_bytes();
        if bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0) {
            return Err(Refused::Malformed(name.to_owned()));
        }
        if value.as_bytes().contains(&0) {
            return Err(Refused::Malformed(name.to_owned()));
        }
        let is_refused = match self.filter {
            Filter::Tool => is_filtered(name),
            Filter::Job => is_own(name.as_bytes()),
        };
        if is_refused {
            return Err(Refused::Credential(name.to_owned()));
        }
        self.variables.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// Takes a variable out.
    pub fn remove(&mut self, name: impl AsRef<OsStr>) {
        self.variables.remove(name.as_ref());
    }

    /// Returns a variable's value.
    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Walks over names and values, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Marks every process of a run, so that it can be told apart after it lost its parent.
    #[must_use]
    pub fn with_run(mut self, run: &str) -> Self {
        // A run id with a NUL byte cannot be carried; such a process is found by its other traces.
        self.set(RUN_MARKER, run).ok();
        self
    }

    /// Marks every process of a job, so that it is found also after it left its terminal.
    #[must_use]
    pub(crate) fn with_job(mut self, job: &str) -> Self {
        // As above: a job's id is digits.
        self.set(JOB_MARKER, job).ok();
        self
    }

    /// Returns `NAME=value` strings as the kernel takes them.
    pub(crate) fn to_exec(&self) -> Vec<CString> {
        self.iter()
            .filter_map(|(name, value)| {
                let mut line = name.as_bytes().to_vec();
                line.push(b'=');
                line.extend_from_slice(value.as_bytes());
                // `set` refused NUL bytes already.
                CString::new(line).ok()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
