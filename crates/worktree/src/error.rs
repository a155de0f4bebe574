//! Why there is no worktree, or why there still is one.

use std::{io, path::PathBuf};

use vocab::outcome::{Effect, Failure};

use crate::git::GitError;

/// A worktree was not made, or not removed.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The directory is gone.
    #[error("{cwd} cannot be entered: {source}")]
    Cwd {
        /// Where the job was to begin.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no repository with files around the directory.
    #[error("{cwd} is in no working tree of git: {why}")]
    NotARepository {
        /// Where the job was to begin.
        cwd: PathBuf,
        /// What git said.
        why: String,
    },
    /// The repository has nothing to begin from.
    #[error("{repository} has no commit that a worktree could begin from")]
    NoCommit {
        /// The repository.
        repository: PathBuf,
    },
    /// The directory is not part of the commit.
    #[error("{prefix} is not in the last commit of {repository}, and so in no worktree of it")]
    NotCommitted {
        /// The directory, from the repository's root on.
        prefix: String,
        /// The repository.
        repository: PathBuf,
    },
    /// A path is no text, which a job's record cannot hold.
    #[error("{0} is not UTF-8, and no worktree can be noted there")]
    NoText(PathBuf),
    /// No branch can be called so.
    #[error("{0:?} is no name that git gives to a branch")]
    BranchInvalid(String),
    /// There is a branch of that name.
    #[error("the branch {0} is there already, and a job works on a branch of its own")]
    BranchExists(String),
    /// The directory of all worktrees cannot be used.
    #[error("the directory of worktrees cannot be used: {0}")]
    Root(io::Error),
    /// The directory of all worktrees lies where no tool may work.
    #[error("{0} lies in Stead's own state, where no tool may work")]
    InState(PathBuf),
    /// git could not make it; nothing of it is left.
    #[error("the worktree was not made: {0}")]
    NotMade(String),
    /// git itself did not run.
    #[error("{0}")]
    Git(#[from] GitError),
    /// What is recorded is no worktree of ours.
    #[error("{0} is no directory that Stead makes worktrees in")]
    Foreign(PathBuf),
    /// The repository is gone or was moved.
    #[error("the repository {repository} is not there any more, so nothing can be saved in it")]
    RepositoryMissing {
        /// Its directory.
        repository: PathBuf,
    },
    /// Something could not be saved, so everything stays.
    #[error("the work in {path} could not be saved, so nothing of it was removed: {why}")]
    Unsaved {
        /// The worktree.
        path: PathBuf,
        /// Why.
        why: String,
        /// What a person can do about it, where that is known.
        hint: Option<String>,
    },
    /// Everything is saved, and something could not be removed.
    #[error("the work is saved, and {path} could not be removed: {why}")]
    NotRemoved {
        /// The worktree.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl TreeError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Cwd { .. } | Self::NotCommitted { .. } => "cwd_missing",
            Self::NotARepository { .. } => "not_a_repository",
            Self::NoCommit { .. } => "no_commit",
            Self::NoText(_) => "path_invalid",
            Self::BranchInvalid(_) => "branch_invalid",
            Self::BranchExists(_) => "branch_exists",
            Self::Root(_) | Self::InState(_) => "state_refused",
            Self::NotMade(_) => "worktree_not_made",
            Self::Git(error) => error.code(),
            Self::Foreign(_) => "worktree_foreign",
            Self::RepositoryMissing { .. } => "repository_missing",
            Self::Unsaved { .. } => "worktree_unsaved",
            Self::NotRemoved { .. } => "worktree_not_removed",
        }
    }

    /// Returns what changed: nothing that would be in the way of another try, unless removal had begun.
    #[must_use]
    pub fn effect(&self) -> Effect {
        if matches!(self, Self::NotRemoved { .. }) {
            Effect::Indeterminate
        } else {
            Effect::NotStarted
        }
    }

    /// Returns the next step, where somebody can take one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotARepository { .. } => "go into a repository, or leave --worktree out",
            Self::NoCommit { .. } => "git commit --allow-empty -m start",
            Self::NotCommitted { .. } => "commit it, or begin at the repository's root: -C DIR",
            Self::BranchInvalid(_) | Self::BranchExists(_) => "name another one: --worktree=BRANCH",
            Self::InState(_) => "set XDG_DATA_HOME to a directory outside of it",
            Self::RepositoryMissing { .. } => {
                "put it back where it was, or give the work up: stead rm --discard JOB"
            }
            Self::Unsaved { hint: None, .. } => {
                "mend that and try again, or give the work up: stead rm --discard JOB"
            }
            Self::Unsaved { hint: Some(hint), .. } => hint,
            Self::NotRemoved { .. } => "mend that and try again; what is saved is not saved twice",
            Self::Git(error) => return error.hint().map(str::to_owned),
            Self::Cwd { .. }
            | Self::NoText(_)
            | Self::Root(_)
            | Self::NotMade(_)
            | Self::Foreign(_) => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        let hint = error.hint();
        let failure = Self::new(error.code(), error.effect(), error.to_string());
        Self { hint, ..failure }
    }
}
