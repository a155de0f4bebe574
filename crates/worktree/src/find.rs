//! From a wish to a plan: which repository is meant, from which commit its worktree begins, and what it is
//! called. Nothing is changed.

use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use vocab::{ids::JobId, job::Worktree};

use crate::{
    error::TreeError,
    git::{GitError, Place},
    ground::{self, Trees},
    naming,
};

/// What is wished for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Whose it will be.
    pub job: &'a JobId,
    /// What people call the job.
    pub name: &'a str,
    /// The directory that the job was to begin in.
    pub cwd: &'a Path,
    /// What to call the branch; made from the job's name when absent.
    pub branch: Option<&'a str>,
    /// Worktrees that others have, or are about to make.
    pub taken: &'a [Worktree],
}

/// A worktree that can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// What it will be.
    pub tree: Worktree,
    /// The directory in it that the job begins in.
    pub cwd: PathBuf,
}

impl Trees {
    /// Finds out what the worktree of a job would be.
    ///
    /// # Errors
    /// When there is no repository, it has no commit, or the branch cannot be made.
    pub fn plan(&self, wish: &Wish<'_>) -> Result<Planned, TreeError> {
        let failed = |errno: rustix::io::Errno| TreeError::Cwd {
            cwd: wish.cwd.to_owned(),
            source: errno.into(),
        };
        let cwd = ground::real(wish.cwd).map_err(failed)?;
        let work = self.git.work();
        let here = work.at(&cwd);
        let top =
            here.path(&[&"rev-parse", &"--show-toplevel"]).map_err(|error| no(&cwd, error))?;
        let git_dir = absolute(&here, "--git-common-dir")?;
        let own = absolute(&here, "--git-dir")?;
        let repository = if own == git_dir { top } else { main_of(&here, &git_dir)? };
        let base = here.maybe(&[&"rev-parse", &"--quiet", &"--verify", &"HEAD^{commit}"])?;
        let base = base.ok_or_else(|| TreeError::NoCommit { repository: repository.clone() })?;
        let prefix = here.path(&[&"rev-parse", &"--show-prefix"])?;
        if !is_committed(&here, &base, &prefix) {
            let prefix = prefix.to_string_lossy().into_owned();
            return Err(TreeError::NotCommitted { prefix, repository });
        }
        let branch = branch(&here, &git_dir, wish)?;
        let root = self.prepare()?;
        let place = repository.file_name().map(|name| name.to_string_lossy().into_owned());
        let place = naming::slug(place.as_deref().unwrap_or_default(), "repository");
        let path = root.join(format!("{place}-{}", wish.job));
        let planned = Planned {
            // Put together anew, without a slash at the end.
            cwd: path.join(&prefix).components().collect(),
            tree: Worktree { path, branch, base, repository, git_dir },
        };
        let tree = &planned.tree;
        for path in [&planned.cwd, &tree.repository, &tree.git_dir] {
            if path.to_str().is_none() {
                return Err(TreeError::NoText(path.clone()));
            }
        }
        Ok(planned)
    }
}

/// Says that a directory is in no repository, or what else git has against it.
fn no(cwd: &Path, error: GitError) -> TreeError {
    match error {
        GitError::Failed { ref why, .. }
            if why.contains("not a git repository") || why.contains("work tree") =>
        {
            TreeError::NotARepository { cwd: cwd.to_owned(), why: why.clone() }
        }
        GitError::Failed { .. } | GitError::Plan(_) | GitError::Begin(_) | GitError::Streams(_) => {
            error.into()
        }
    }
}

fn absolute(here: &Place<'_>, what: &str) -> Result<PathBuf, TreeError> {
    let path = here.path(&[&"rev-parse", &"--path-format=absolute", &what])?;
    if path.is_absolute() && !path.as_os_str().as_bytes().starts_with(b"--") {
        return Ok(path);
    }
    // It has repeated an option that it does not know.
    let why = "version 2.36 or later is needed".to_owned();
    Err(GitError::Failed { step: "rev-parse".to_owned(), why }.into())
}

/// Returns where people find the repository whose worktree this is: its main working tree, else its own
/// directory.
fn main_of(here: &Place<'_>, git_dir: &Path) -> Result<PathBuf, TreeError> {
    let listed = ground::list(here)?;
    let main = listed.into_iter().next().map(|first| first.path);
    let is_main = |path: &PathBuf| {
        let there = here.clone().moved_to(path);
        let found = there.path(&[&"rev-parse", &"--path-format=absolute", &"--git-common-dir"]);
        let is_bare = there.line(&[&"rev-parse", &"--is-inside-work-tree"]);
        found.is_ok_and(|found| found == git_dir) && is_bare.is_ok_and(|is| is == "true")
    };
    Ok(main.filter(is_main).unwrap_or_else(|| git_dir.to_owned()))
}

/// Tells whether a directory is one of a commit.
fn is_committed(here: &Place<'_>, base: &str, prefix: &Path) -> bool {
    let bytes = prefix.as_os_str().as_bytes();
    let Some(inner) = bytes.strip_suffix(b"/") else { return bytes.is_empty() };
    let mut object = std::ffi::OsString::from(format!("{base}:"));
    object.push(std::ffi::OsStr::from_bytes(inner));
    here.line(&[&"cat-file", &"-t", &object]).is_ok_and(|kind| kind == "tree")
}

fn branch(here: &Place<'_>, git_dir: &Path, wish: &Wish<'_>) -> Result<String, TreeError> {
    let refs = here.ok(&[&"for-each-ref", &"--format=%(refname:lstrip=2)", &"refs/heads/"])?;
    let mut taken: Vec<String> =
        String::from_utf8_lossy(&refs).lines().map(str::to_owned).collect();
    let ours = wish.taken.iter().filter(|tree| tree.git_dir == git_dir);
    taken.extend(ours.map(|tree| tree.branch.clone()));
    let Some(name) = wish.branch else {
        return Ok(naming::branch(&naming::slug(wish.name, "job"), &taken));
    };
    let whole = format!("refs/heads/{name}");
    let is_name = !name.starts_with('-')
        && here.maybe(&[&"check-ref-format", &whole]).is_ok_and(|found| found.is_some());
    if !is_name {
        return Err(TreeError::BranchInvalid(name.to_owned()));
    }
    if !naming::is_free(name, &taken) {
        return Err(TreeError::BranchExists(name.to_owned()));
    }
    Ok(name.to_owned())
}
