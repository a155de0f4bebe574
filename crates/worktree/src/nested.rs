//! Repositories in a worktree: submodules, clones, and worktrees inside of it. Saving the worktree does not
//! save what is in them, so each must have everything somewhere else.
//!
//! Not here: those in ignored directories, unless they are worktrees of the same repository.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use rustix::fs::FileType;
use vocab::limits::{WORKTREE_LEFT_MAX, WORKTREE_NESTED_MAX};

use crate::{
    git::{GitError, Place, Work},
    ground::{self, Listed},
    snapshot::{fields, is_below},
};

/// What is in a repository alone.
#[derive(Debug)]
pub(crate) enum Trouble {
    Git(GitError),
    Unsaved { path: String, what: &'static str },
}

impl From<GitError> for Trouble {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

/// Checks the repository at a path below a worktree.
pub(crate) fn check(work: &Work<'_>, root: &Path, path: &Path) -> Result<(), Trouble> {
    deep(work, root, path, 1)
}

fn deep(work: &Work<'_>, root: &Path, path: &Path, depth: usize) -> Result<(), Trouble> {
    let told = path.strip_prefix(root).unwrap_or(path);
    let unsaved = |what| Err(Trouble::Unsaved { path: told.to_string_lossy().into_owned(), what });
    match ground::kind(path) {
        None => return Ok(()),
        Some(FileType::Directory) => {}
        // A file where the index has a repository is a change like others.
        Some(_) => return Ok(()),
    }
    if ground::kind(&path.join(".git")).is_none() {
        return if is_empty(path) { Ok(()) } else { unsaved("is not one any more, and has files") };
    }
    if WORKTREE_NESTED_MAX < depth {
        return unsaved("lies too deep in others to be looked into");
    }
    // A broken one must not be taken for the worktree around it.
    let there = work.at(path).with("GIT_CEILING_DIRECTORIES", path.parent().unwrap_or(path));
    if is_dirty(&there)? {
        return unsaved("has changes that are not committed");
    }
    if has_own_commits(&there)? {
        return unsaved("has commits that no remote has");
    }
    let staged = there.ok(&[&"ls-files", &"--stage", &"-z"])?;
    for field in fields(&staged).filter(|field| field.starts_with(b"160000 ")) {
        let tab = field.iter().position(|byte| *byte == b'\t').unwrap_or(field.len());
        let name = field.get(tab + 1..).unwrap_or_default();
        deep(work, root, &path.join(OsStr::from_bytes(name)), depth + 1)?;
    }
    Ok(())
}

/// Checks repositories that git keeps for a worktree, whose files may have gone from it: submodules that
/// were removed or turned off.
pub(crate) fn check_kept(work: &Work<'_>, modules: &Path) -> Result<(), Trouble> {
    let mut open = vec![modules.to_owned()];
    while let Some(dir) = open.pop() {
        if ground::kind(&dir.join("HEAD")).is_none() {
            // A submodule's name may have slashes in it.
            let names = stdx::state_file::names(&dir, None, WORKTREE_LEFT_MAX);
            let names = names.unwrap_or_default().into_iter().map(|name| dir.join(name));
            open.extend(names.filter(|path| ground::kind(path) == Some(FileType::Directory)));
            continue;
        }
        // It says where its files were, and need not have any.
        let there = work.at(&dir).of(&dir).with("GIT_WORK_TREE", &dir);
        if has_own_commits(&there)? {
            let path = dir.strip_prefix(modules).unwrap_or(&dir).to_string_lossy().into_owned();
            return Err(Trouble::Unsaved { path, what: "has commits that no remote has" });
        }
        open.push(dir.join("modules"));
    }
    Ok(())
}

/// Tells whether a repository has commits that no remote has, also where only its logs remember them.
fn has_own_commits(there: &Place<'_>) -> Result<bool, GitError> {
    let all: [&dyn AsRef<OsStr>; 6] =
        [&"rev-list", &"--max-count=1", &"--all", &"--reflog", &"--not", &"--remotes"];
    if !there.line(&all)?.is_empty() {
        return Ok(true);
    }
    // One without a commit has no head.
    let Some(head) = ground::commit(there, "HEAD")? else { return Ok(false) };
    Ok(!there.line(&[&"rev-list", &"--max-count=1", &head, &"--not", &"--remotes"])?.is_empty())
}

/// Checks worktrees of the same repository that were made inside of another: their branches stay, but not
/// what is in none.
pub(crate) fn check_worktrees(
    work: &Work<'_>,
    root: &Path,
    listed: &[Listed],
) -> Result<(), Trouble> {
    let inner = listed.iter().map(|listed| &listed.path).filter(|path| is_below(path, root));
    for path in inner.filter(|path| ground::kind(path) == Some(FileType::Directory)) {
        let told = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let there = work.at(path).with("GIT_CEILING_DIRECTORIES", path.parent().unwrap_or(path));
        if is_dirty(&there)? {
            let what = "has changes that are not committed";
            return Err(Trouble::Unsaved { path: told, what });
        }
        let alone = there.line(&[
            &"rev-list",
            &"--max-count=1",
            &"HEAD",
            &"--not",
            &"--branches",
            &"--remotes",
        ])?;
        if !alone.is_empty() {
            return Err(Trouble::Unsaved { path: told, what: "has commits that no branch has" });
        }
    }
    Ok(())
}

/// Tells whether something in a repository is in no commit. Repositories in it are looked at by themselves.
fn is_dirty(there: &Place<'_>) -> Result<bool, GitError> {
    let changes = there.ok(&[
        &"status",
        &"--porcelain",
        &"-z",
        &"--untracked-files=all",
        &"--ignore-submodules=all",
    ])?;
    if !changes.is_empty() {
        return Ok(true);
    }
    // Flags of the index hide changes: a small letter says that nobody looks at a file, an S that it is not to
    // be there.
    let flags = there.ok(&[&"ls-files", &"-v", &"-z"])?;
    let hidden = fields(&flags).filter_map(|field| match field {
        [flag, b' ', name @ ..] if flag.is_ascii_lowercase() || *flag == b'S' => Some(name),
        _ => None,
    });
    let root = there.path(&[&"rev-parse", &"--show-toplevel"])?;
    for name in hidden.map(OsStr::from_bytes) {
        if ground::kind_below(&root, name).is_none() {
            continue;
        }
        let staged = there.line(&[&"rev-parse", &"--verify", &object_of(name)])?;
        let now = there.maybe(&[&"hash-object", &"--", &root.join(name)])?;
        if now.as_deref() != Some(staged.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Names what is staged of a file.
fn object_of(name: &OsStr) -> std::ffi::OsString {
    let mut object = std::ffi::OsString::from(":0:");
    object.push(name);
    object
}

/// Tells whether a directory holds nothing; one that cannot be read may hold something.
fn is_empty(path: &Path) -> bool {
    stdx::state_file::names(path, None, 1).is_ok_and(|names| names.is_empty())
}
