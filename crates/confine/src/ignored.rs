//! Git's ignore rules, from files read by handle. Only the pattern matcher is borrowed.
//!
//! `.gitignore` and `.git/info/exclude` end at a nested repository, `.ignore` does not. The user's
//! global list is not read: it lies outside every root.

use std::{ffi::OsStr, io::Read, os::unix::ffi::OsStrExt, path::Path, sync::Arc};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use vocab::limits::IGNORE_FILE_BYTES_MAX;

use crate::dir::{Dir, DirEntry};

/// The rules that hold in a directory: its own and those of the directories above.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules(Option<Arc<Level>>);

#[derive(Debug)]
struct Level {
    above: Rules,
    /// Length of the directory's own path with its separator.
    offset: usize,
    dot_ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    repository: bool,
}

impl Rules {
    /// Adds the rules that a directory itself holds. `offset` is the length of its path from the
    /// root, with the separator after it.
    pub(crate) fn enter(&self, dir: &Dir, entries: &[DirEntry], offset: usize) -> Self {
        let holds = |name: &str| {
            entries.binary_search_by(|e| e.name.as_bytes().cmp(name.as_bytes())).is_ok()
        };
        let (dot, git, repository) = (holds(".ignore"), holds(".gitignore"), holds(".git"));
        if !dot && !git && !repository {
            return self.clone();
        }
        let read = |present: bool, name: &str| match present {
            true => patterns(dir, OsStr::new(name)),
            false => Gitignore::empty(),
        };
        let exclude = repository
            .then(|| dir.open_dir(OsStr::new(".git")).and_then(|git| git.open_dir("info".as_ref())))
            .and_then(Result::ok)
            .map_or_else(Gitignore::empty, |info| patterns(&info, "exclude".as_ref()));
        Self(Some(Arc::new(Level {
            above: self.clone(),
            offset,
            dot_ignore: read(dot, ".ignore"),
            gitignore: read(git, ".gitignore"),
            exclude,
            repository,
        })))
    }

    /// Tells whether an entry is ignored. `path` leads to it from the root.
    pub(crate) fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        let mut verdict = None;
        let mut in_repository = true;
        let mut level = self.0.as_deref();
        while let Some(current) = level {
            let rest = Path::new(OsStr::from_bytes(&path[current.offset..]));
            // A word of `.ignore` ends the matter; one of Git's waits whether an `.ignore` above
            // says otherwise.
            if let Some(ignored) = verdict_of(&current.dot_ignore, rest, is_dir) {
                return ignored;
            }
            if in_repository && verdict.is_none() {
                verdict = verdict_of(&current.gitignore, rest, is_dir)
                    .or_else(|| verdict_of(&current.exclude, rest, is_dir));
            }
            in_repository &= !current.repository;
            level = current.above.0.as_deref();
        }
        verdict.unwrap_or(false)
    }
}

fn verdict_of(patterns: &Gitignore, path: &Path, is_dir: bool) -> Option<bool> {
    if patterns.is_empty() {
        return None;
    }
    match patterns.matched(path, is_dir) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// Reads a list of patterns; what cannot be read or is no pattern ignores nothing, as in Git.
fn patterns(dir: &Dir, name: &OsStr) -> Gitignore {
    let mut text = Vec::new();
    let max = u64::try_from(IGNORE_FILE_BYTES_MAX).unwrap_or(u64::MAX);
    let read = dir.open_file(name).ok().filter(|opened| opened.meta.len <= max);
    let Some(opened) = read else { return Gitignore::empty() };
    if opened.file.take(max).read_to_end(&mut text).is_err() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(".");
    let text = String::from_utf8_lossy(&text);
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        // A broken pattern matches nothing; the lines beside it still count.
        builder.add_line(None, line).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests;
