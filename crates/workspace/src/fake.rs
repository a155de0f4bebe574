//! A workspace in memory, for tests of what stands above the seam: a map of files, scripted tools.
//!
//! Patterns of `grep` are plain texts here, and there are neither links nor modes. Programs are not run.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use vocab::{
    ids::WorkspaceId,
    outcome::{Failure, Outcome},
    schema::{Property, Schema},
    tool::{Execution, Reach, ToolSpec},
};

use crate::{call::Call, catalog::Catalog, primitive::Request};

mod glob;
mod serve;
mod tree;

/// A workspace in memory. Clones are the same workspace.
#[derive(Debug, Clone)]
pub struct Fake(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    id: WorkspaceId,
    files: BTreeMap<String, Bytes>,
    dirs: BTreeSet<String>,
    catalog: Arc<Catalog>,
    scripts: HashMap<&'static str, VecDeque<Outcome>>,
    calls: Vec<Call>,
}

impl Default for Fake {
    fn default() -> Self {
        Self::new("fake")
    }
}

impl Fake {
    /// Builds an empty workspace with the tools `look` (it only reads) and `change` (it writes).
    #[must_use]
    pub fn new(id: &str) -> Self {
        let tools = [("look", Reach::Reads), ("change", Reach::Writes)];
        let catalog = Catalog::new(1, tools.map(|(name, reach)| Arc::new(spec(name, reach))));
        Self(Arc::new(Mutex::new(State {
            id: WorkspaceId(id.to_owned()),
            files: BTreeMap::new(),
            dirs: BTreeSet::from([String::new()]),
            catalog: Arc::new(catalog),
            scripts: HashMap::new(),
            calls: Vec::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a file there, with the directories above it.
    pub fn put(&self, path: &str, content: impl Into<Bytes>) {
        let mut state = self.state();
        let mut above = String::new();
        for name in path.split('/') {
            state.dirs.insert(above.clone());
            above = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        }
        state.files.insert(path.to_owned(), content.into());
    }

    /// Says what the next calls of a tool shall end like. A call without a script answers with the
    /// arguments it got.
    pub fn script(&self, tool: &'static str, outcomes: impl IntoIterator<Item = Outcome>) {
        self.state().scripts.entry(tool).or_default().extend(outcomes);
    }

    /// Publishes another generation of the catalog.
    pub fn publish(&self, tools: impl IntoIterator<Item = Arc<ToolSpec>>) {
        let mut state = self.state();
        let generation = state.catalog.generation + 1;
        state.catalog = Arc::new(Catalog::new(generation, tools));
    }

    /// Returns the calls that were made, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }
}

fn spec(name: &'static str, reach: Reach) -> ToolSpec {
    ToolSpec {
        name,
        description: "Answers as a test has scripted it.",
        parameters: Schema::Object(vec![Property::optional(
            "text",
            Schema::Text { description: "Any text" },
        )]),
        reach,
        execution: Execution::Parallel,
        prepare: |arguments| arguments,
    }
}

impl State {
    /// Checks a request and turns its path into the name of an entry; the root is the empty name.
    fn resolve(&self, at: &Request) -> Result<String, Failure> {
        if at.expected != self.id {
            let message = format!("this is workspace {}, not {}", self.id, at.expected);
            return Err(Failure::not_started("wrong_workspace", message));
        }
        if at.cancel.is_cancelled() {
            return Err(Failure::not_started("aborted", "stopped because the call was cancelled"));
        }
        let outside = || {
            let message = format!("path lies outside the workspace: {}", at.path);
            Failure::not_started("path_outside_root", message)
        };
        if at.path.starts_with('/') {
            return Err(outside());
        }
        let mut names: Vec<&str> = Vec::new();
        for name in at.path.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop().ok_or_else(outside)?),
                name => names.push(name),
            }
        }
        Ok(names.join("/"))
    }

    fn file(&self, path: &str) -> Result<&Bytes, Failure> {
        self.files.get(path).ok_or_else(|| {
            if self.dirs.contains(path) {
                Failure::not_started("is_a_directory", format!("{path}: is a directory"))
            } else {
                missing(path)
            }
        })
    }

    fn dir(&self, path: &str) -> Result<(), Failure> {
        if self.dirs.contains(path) {
            return Ok(());
        }
        if self.files.contains_key(path) {
            return Err(Failure::not_started(
                "not_a_directory",
                format!("{path}: not a directory"),
            ));
        }
        Err(missing(path))
    }

    /// Checks that a file may be put at a path.
    fn place(&self, path: &str) -> Result<(), Failure> {
        if self.dirs.contains(path) {
            return Err(Failure::not_started("is_a_directory", format!("{path}: is a directory")));
        }
        self.dir(path.rsplit_once('/').map_or("", |(above, _)| above))
    }

    /// Returns names below a directory, relative to it: directories first where they share a path's
    /// beginning, which is the order of their paths.
    fn below(&self, start: &str) -> Vec<(String, bool)> {
        let prefix = if start.is_empty() { String::new() } else { format!("{start}/") };
        let dirs = self.dirs.iter().filter(|dir| !dir.is_empty()).map(|dir| (dir, true));
        let files = self.files.keys().map(|file| (file, false));
        let mut all: Vec<(String, bool)> = dirs
            .chain(files)
            .filter_map(|(path, dir)| Some((path.strip_prefix(&prefix)?.to_owned(), dir)))
            .collect();
        all.sort_by(|one, two| one.0.split('/').cmp(two.0.split('/')));
        all
    }
}

fn missing(path: &str) -> Failure {
    Failure::not_started("not_found", format!("{path}: no such file or directory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law;

    #[tokio::test]
    async fn the_law_holds_in_memory() {
        assert_eq!(law::broken(Arc::new(Fake::default())).await, Vec::<String>::new());
    }
}
