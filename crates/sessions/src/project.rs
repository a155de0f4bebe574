//! Reads what a project says about itself, through the primitives of its workspace: the same way here and elsewhere.
//!
//! Nothing above the root is looked at, and no link is followed out of it: where the workspace's own confinement ends,
//! the project does. Read once when a run is set to work, so that what changes meanwhile changes no prompt.

use std::{sync::Arc, time::Duration};

use agent::project::Project;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{PROJECT_ENTRIES_MAX, PROJECT_FILE_BYTES_MAX, PROJECT_READ_MS},
    outcome::Failure,
};
use workspace::{
    primitive::{Kind, Request},
    source::Workspace,
};

/// Files of instructions, by precedence: the first one there counts.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// Directories of rules and skills, by precedence: the first of a name counts.
const HOMES: [&str; 2] = [".stead", ".agents"];
/// Files that are asked for at the same time.
const N_AT_ONCE: usize = 8;

/// Asks one workspace.
struct Reader<'a> {
    workspace: &'a Arc<dyn Workspace>,
    cancel: &'a CancellationToken,
}

/// Reads all of it within its time; what was not read is left out with a word.
pub(crate) async fn read(workspace: &Arc<dyn Workspace>, cancel: &CancellationToken) -> Project {
    let reader = Reader { workspace, cancel };
    let limit = Duration::from_millis(PROJECT_READ_MS);
    let all = async { tokio::join!(reader.instructions(), reader.rules(), reader.skills()) };
    let read = tokio::select! {
        // Whoever cancels the run does not wait for its beginning.
        () = cancel.cancelled() => return Project::default(),
        read = tokio::time::timeout(limit, all) => read,
    };
    let mut project = Project::default();
    match read {
        Ok((instructions, rules, skills)) => {
            [instructions, rules, skills].into_iter().for_each(|part| project.append(part));
        }
        Err(_elapsed) => project.leave_out("the project's files", "they could not be read in time"),
    }
    project
}

/// Tells whether a failure says that there is nothing.
fn is_absent(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "not_found" | "not_a_directory")
}

/// Tells why something was not read, without its path, which stands before that.
fn why(path: &str, failure: &Failure) -> String {
    let message = failure.message.strip_prefix(path).unwrap_or(&failure.message);
    message.trim_start_matches([':', ' ']).to_owned()
}

impl Reader<'_> {
    fn at(&self, path: &str) -> Request {
        let (path, cancel) = (path.to_owned(), self.cancel.clone());
        Request { path, expected: self.workspace.id(), cancel }
    }

    /// Reads a file; none when there is no such file, or the reason why it is not read.
    async fn file(&self, path: &str) -> Result<Option<Bytes>, String> {
        let bytes_max = PROJECT_FILE_BYTES_MAX as u64;
        let read = match self.workspace.stat(self.at(path)).await {
            Ok(stat) if stat.kind != Kind::File => return Ok(None),
            Ok(stat) if stat.size > bytes_max => {
                return Err(format!("it is larger than {bytes_max} bytes"));
            }
            Ok(_) => self.workspace.read(self.at(path), bytes_max).await,
            Err(failure) => Err(failure),
        };
        match read {
            Ok(content) => Ok(Some(content)),
            Err(failure) if is_absent(&failure) => Ok(None),
            Err(failure) => Err(why(path, &failure)),
        }
    }

    async fn instructions(&self) -> Project {
        let mut project = Project::default();
        for path in INSTRUCTIONS {
            match self.file(path).await {
                Ok(Some(content)) => {
                    project.tell(path, &content);
                    break;
                }
                Ok(None) => {}
                // The next one may be readable.
                Err(why) => project.leave_out(path, &why),
            }
        }
        project
    }

    /// Lists what may count in a directory, sorted by name.
    async fn names(&self, dir: &str, project: &mut Project) -> Vec<(String, Kind)> {
        let entries = match self.workspace.readdir(self.at(dir)).await {
            Ok(entries) => entries,
            Err(failure) => {
                if !is_absent(&failure) {
                    project.leave_out(dir, &why(dir, &failure));
                }
                return Vec::new();
            }
        };
        let is_plain = |name: &str| !name.starts_with('.') && name != "node_modules";
        let mut names: Vec<_> = entries
            .into_iter()
            .filter(|entry| is_plain(&entry.name))
            .map(|entry| (entry.name, entry.kind))
            .collect();
        if names.len() > PROJECT_ENTRIES_MAX {
            let why = format!("only the first {PROJECT_ENTRIES_MAX} of {} count", names.len());
            project.leave_out(dir, &why);
            names.truncate(PROJECT_ENTRIES_MAX);
        }
        names
    }

    async fn rules(&self) -> Project {
        let mut project = Project::default();
        let mut paths: Vec<(String, String)> = Vec::new();
        for home in HOMES {
            let dir = format!("{home}/rules");
            for (name, kind) in self.names(&dir, &mut project).await {
                let path = format!("{dir}/{name}");
                if !name.ends_with(".md") || kind == Kind::Dir {
                    continue;
                }
                match paths.iter().find(|(known, _)| *known == name) {
                    Some((_, first)) => {
                        project.leave_out(&path, &format!("{name} stands in {first} already"));
                    }
                    None => paths.push((name, path)),
                }
            }
        }
        for (path, read) in self.all(paths.into_iter().map(|(_, path)| path)).await {
            match read {
                Ok(Some(content)) => project.tell(&path, &content),
                Ok(None) => {}
                Err(why) => project.leave_out(&path, &why),
            }
        }
        project
    }

    async fn skills(&self) -> Project {
        let mut project = Project::default();
        let mut dirs = Vec::new();
        for home in HOMES {
            let dir = format!("{home}/skills");
            let names = self.names(&dir, &mut project).await;
            let names =
                names.into_iter().filter(|(_, kind)| matches!(kind, Kind::Dir | Kind::Link));
            dirs.extend(names.map(|(name, _)| (format!("{dir}/{name}/SKILL.md"), name)));
        }
        let all = self.all(dirs.iter().map(|(path, _)| path.clone())).await;
        for ((path, read), (_, name)) in all.into_iter().zip(&dirs) {
            match read {
                Ok(Some(content)) => project.teach(name, &path, &content),
                Ok(None) => {}
                Err(why) => project.leave_out(&path, &why),
            }
        }
        project
    }

    /// Reads files, in the order in which they were asked for.
    async fn all(
        &self,
        paths: impl Iterator<Item = String>,
    ) -> Vec<(String, Result<Option<Bytes>, String>)> {
        let reads = paths.map(|path| async move {
            let read = self.file(&path).await;
            (path, read)
        });
        stream::iter(reads.collect::<Vec<_>>()).buffered(N_AT_ONCE).collect().await
    }
}

#[cfg(test)]
mod tests;
