//! The repository as rules see it, read once: the files git knows or would add, the package graph, and
//! the table of limits.

#![expect(
    clippy::disallowed_methods,
    reason = "reads the repository it checks and asks git and cargo about it; never part of the product"
)]

use std::{fs, path::Path, process::Command};

use anyhow::{Context, bail};
use vocab::limits::{self, Limit};

use crate::{graph::Graph, source::File};

/// Everything that rules look at.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The text files, sorted by path.
    pub(crate) files: Vec<File>,
    /// The packages.
    pub(crate) graph: Graph,
    /// The table of limits.
    pub(crate) limits: Vec<Limit>,
}

impl Tree {
    /// Reads the repository that holds this program's sources.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let root = root()?;
        let safe = format!("safe.directory={root}");
        let listed = ask("git", &["-c", &safe, "ls-files", "-co", "--exclude-standard", "-z"])?;
        let mut files = Vec::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            // A file that git still lists may be gone, and one that is not text is nobody's source.
            if let Ok(text) = fs::read_to_string(Path::new(&root).join(path)) {
                files.push(File { path: path.to_owned(), text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let metadata = ask(
            "cargo",
            &[
                "metadata",
                "--locked",
                "--format-version=1",
                "--filter-platform=x86_64-unknown-linux-gnu",
            ],
        )?;
        let graph = Graph::from_metadata(&metadata).context("the output of cargo metadata")?;
        Ok(Self { files, graph, limits: limits::TABLE.to_vec() })
    }

    /// Returns a file by its path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns the Rust files below a folder.
    pub(crate) fn rust_below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a File> {
        let rust = self.files.iter().filter(|file| file.is_rust());
        rust.filter(move |file| {
            file.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

/// Writes a generated file.
pub(crate) fn write(path: &str, text: &str) -> anyhow::Result<()> {
    fs::write(Path::new(&root()?).join(path), text).with_context(|| path.to_owned())
}

fn root() -> anyhow::Result<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("xtask lies below the root")?.display().to_string())
}

fn ask(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let asked = Command::new(program).args(arguments).current_dir(root()?).output();
    let output = asked.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of {program}"))
}
