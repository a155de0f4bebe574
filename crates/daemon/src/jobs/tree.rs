//! Worktrees of jobs: planned before a job is written down, made before it begins, and saved before it goes.
//!
//! Not here: git, and everything else that can be done with a worktree.

use std::sync::Arc;

use vocab::{
    ids::JobId,
    job::Worktree,
    outcome::{Effect, Failure},
};
use worktree::{Job, Planned, Saved, TreeError, Wish};

use super::{Dispatch, Jobs, missing};

/// What a job's worktree is to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeWish {
    /// What to call its branch; made from the job's name when absent.
    pub branch: Option<String>,
}

/// What becomes of the work in a job's worktree when the job is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// What is nowhere else is saved first, and a job whose work cannot be saved stays.
    Saving,
    /// It goes.
    Discarding,
}

impl Jobs {
    /// Finds out what the worktree of a job will be; none where none is wished for.
    pub(super) async fn plan_tree(
        self: &Arc<Self>,
        id: &JobId,
        wish: &Dispatch,
    ) -> Result<Option<Planned>, Failure> {
        let Some(TreeWish { branch }) = wish.worktree.clone() else { return Ok(None) };
        let root = self.parts.trees.root();
        if root.starts_with(&self.parts.home) {
            return Err(TreeError::InState(root.to_owned()).into());
        }
        let taken = self.book().trees();
        let (job, name, cwd) = (id.clone(), wish.wanted_name(), wish.cwd.clone());
        self.with_trees(move |jobs| {
            let branch = branch.as_deref();
            let wish = Wish { job: &job, name: &name, cwd: &cwd, branch, taken: &taken };
            jobs.parts.trees.plan(&wish).map(Some)
        })
        .await
    }

    pub(super) async fn make_tree(self: &Arc<Self>, planned: &Planned) -> Result<(), Failure> {
        let planned = planned.clone();
        self.with_trees(move |jobs| jobs.parts.trees.make(&planned)).await
    }

    /// Removes the worktree of a job that did not begin.
    pub(super) async fn unmake_tree(self: &Arc<Self>, id: &JobId, tree: Worktree) {
        if let Err(failure) = self.with_trees(move |jobs| jobs.parts.trees.unmake(&tree)).await {
            tracing::warn!(job = %id, why = failure.message, "a worktree of no job is left");
        }
    }

    /// Saves what is in the worktree of an ended job alone, unless it is given up, and removes it. What the
    /// program had left in the background was ended before: it would write while its work is saved.
    pub(super) async fn clear_tree(
        self: &Arc<Self>,
        id: &JobId,
        how: Removal,
    ) -> Result<Vec<Saved>, Failure> {
        let entry = self.book().get(id).cloned().ok_or_else(|| missing(id))?;
        let Some(tree) = entry.record.worktree.clone() else { return Ok(Vec::new()) };
        let ended_at = entry.note.ended_at.unwrap_or_else(|| self.now()) / 1_000;
        let id = id.clone();
        self.with_trees(move |jobs| {
            let job = Job { id: &id, name: entry.name(), ended_at };
            match how {
                Removal::Saving => jobs.parts.trees.retire(&tree, &job),
                Removal::Discarding => jobs.parts.trees.discard(&tree).map(|()| Vec::new()),
            }
        })
        .await
    }

    pub(super) fn has_tree(&self, id: &JobId) -> bool {
        self.book().get(id).is_some_and(|entry| entry.record.worktree.is_some())
    }

    /// Does what git takes its time for, beside the runtime's threads.
    async fn with_trees<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, TreeError> + Send + 'static,
    ) -> Result<T, Failure> {
        let jobs = Arc::clone(self);
        match tokio::task::spawn_blocking(move || work(&jobs)).await {
            Ok(done) => Ok(done?),
            Err(_) => {
                let why = "the work on the worktree broke off";
                Err(Failure::new("internal", Effect::Indeterminate, why))
            }
        }
    }
}
