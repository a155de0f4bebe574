//! A place of its own for a job: a git worktree on a branch of its own, made when the job begins. When the
//! job goes, what is in no other branch is saved in the repository first, and then the worktree goes.
//!
//! git does all of it, as a child with an environment from nothing, without the repository's hooks. The
//! program that works in a worktree may have done anything to it, so nothing that stands in the worktree
//! itself (its `.git` file, its index flags) decides what is saved or removed.
//!
//! Not here: jobs and their files, any asynchronous runtime, ignored files, and what a branch is good for.

mod error;
mod find;
mod git;
mod ground;
mod keep;
mod left;
mod make;
mod naming;
mod nested;
mod snapshot;

pub use error::TreeError;
pub use find::{Planned, Wish};
pub use ground::Trees;
pub use keep::{Job, Saved};

#[cfg(test)]
mod tests;
