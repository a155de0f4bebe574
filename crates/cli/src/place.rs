//! A local directory as a workspace, with the language servers of its files beside it.
//!
//! Not here: who may do what there (the grants are handed in), and where the servers' layers come from.

#![expect(clippy::disallowed_methods, reason = "reads the files that an operator names")]

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use lsp::{Lsp, ProjectTrust};
use vocab::outcome::Failure;
use workspace::source::OwnedWorkspace;
use workspace_local::{Listener, LocalWorkspace, OpenError, Options};

/// Which language servers there are.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// The text of the operator's layer.
    pub(crate) operator: Option<String>,
    /// The directories that are trusted, in them and below: their own layer counts.
    pub(crate) trusted: Vec<PathBuf>,
}

/// Opens it. Blocks, on a thread of a runtime.
///
/// # Errors
/// When the directory cannot be served, or the operator's layer cannot be used.
pub(crate) fn open(
    mut options: Options,
    servers: Servers,
) -> Result<Box<dyn OwnedWorkspace>, Failure> {
    let root = options.open_root().map_err(OpenError::Root)?;
    let trust = is_below(root.real(), &servers.trusted).then(ProjectTrust::by_owner);
    if servers.operator.is_none() && trust.is_none() {
        return Ok(LocalWorkspace::open(options)?);
    }
    let lsp = Lsp::open(lsp::Options {
        root,
        operator: servers.operator,
        exec: options.grants.exec.clone(),
        trust,
        environment: options.programs.environment.clone(),
        bounds: lsp::Bounds::default(),
    })?;
    for note in lsp.notes() {
        tracing::warn!(note, "language servers");
    }
    let told = lsp.clone();
    options.listener = Listener::new(move |path| told.changed(path));
    Ok(lsp.beside(LocalWorkspace::open(options)?))
}

/// Tells whether a directory is one of those, or lies below one, by what they are and not by their names.
fn is_below(real_dir: &Path, all: &[PathBuf]) -> bool {
    let identity =
        |path: &Path| rustix::fs::stat(path).ok().map(|found| (found.st_dev, found.st_ino));
    let all: Vec<_> = all.iter().filter_map(|path| identity(path)).collect();
    real_dir.ancestors().filter_map(identity).any(|one| all.contains(&one))
}

/// Says that a file which somebody named cannot be used.
pub(crate) fn unusable(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let message = format!("the {what} {} cannot be used: {error}", path.display());
    Failure::not_started("file_unusable", message)
}

/// Reads a file that somebody named.
///
/// # Errors
/// When it cannot be read, or is larger than such a file is.
pub(crate) fn read_bounded(what: &str, path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    let read = file.and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| unusable(what, path, &error))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(unusable(what, path, &format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
