//! Saving what a worktree alone has, as references in its repository, and then removing the worktree.
//!
//! Every step can be done again: what was saved is not saved twice, and what was removed is not missed.

use std::{ffi::OsStr, path::PathBuf};

use vocab::{
    ids::JobId,
    job::Worktree,
    limits::{JOBS_MAX, WORKTREE_LEFT_MAX},
};

use crate::{
    error::TreeError,
    git::{GitError, Place},
    ground::{self, Room, Trees},
    nested::{self, Trouble},
};

/// Where saved work stands in a repository, before the job's id.
const SAVED: &str = "refs/stead/saved/";

/// Heads of what was begun and not finished, which may be of commits that nothing else names, and what git has
/// put away meanwhile.
const BEGUN: &[&str] = &["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_AUTOSTASH"];
/// The same in files of a rebase, below what git knows of the worktree.
const REBASED: &[&str] = &[
    "rebase-merge/autostash",
    "rebase-merge/orig-head",
    "rebase-apply/autostash",
    "rebase-apply/orig-head",
];
/// Patches that are still to be applied are in no commit.
const APPLYING: &str = "rebase-apply/applying";

/// Whose work it is.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The job.
    pub id: &'a JobId,
    /// What people call it.
    pub name: &'a str,
    /// When it ended, in seconds since the Unix epoch: the same state of a worktree is the same commit.
    pub ended_at: i64,
}

/// Work that was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The reference that holds it.
    pub reference: String,
    /// The repository that the reference is in.
    pub repository: PathBuf,
    /// The command of a shell that makes a branch of it.
    pub command: String,
}

/// Why nothing may be removed.
#[derive(Debug)]
pub(crate) enum Kept {
    Git(GitError),
    Other { why: String, hint: Option<String> },
}

impl From<GitError> for Kept {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

impl From<Trouble> for Kept {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Git(error) => Self::Git(error),
            Trouble::Unsaved { path, what } => Self::Other {
                why: format!("the repository {path} in it {what}"),
                hint: Some(format!(
                    "commit and push what is in {path}, or give it up with all the work: stead rm --discard JOB"
                )),
            },
        }
    }
}

impl Kept {
    pub(crate) fn other(why: impl Into<String>) -> Self {
        Self::Other { why: why.into(), hint: None }
    }
}

impl Trees {
    /// Saves what no other branch has, then removes the worktree and its branch. Returns all that is saved
    /// of this job.
    ///
    /// # Errors
    /// When something cannot be saved: nothing is removed then. Or when something cannot be removed.
    pub fn retire(&self, tree: &Worktree, job: &Job<'_>) -> Result<Vec<Saved>, TreeError> {
        let room = self.room(tree)?;
        if !room.has_repository() {
            let places = [tree.path.clone(), room.closed(), room.aside()];
            let is_there = places.iter().any(|at| ground::kind(at).is_some());
            // Where all are gone there is nothing left to lose.
            if is_there {
                return Err(TreeError::RepositoryMissing { repository: tree.repository.clone() });
            }
            return Ok(Vec::new());
        }
        // Two that save at once would each rely on the other's branch.
        let _turn = room.turn()?;
        let unsaved = |kept| {
            let (why, hint) = match kept {
                Kept::Git(error) => (error.to_string(), None),
                Kept::Other { why, hint } => (why, hint),
            };
            TreeError::Unsaved { path: tree.path.clone(), why, hint }
        };
        room.save(job).map_err(unsaved)?;
        // What was written meanwhile is seen by a second look, at a place where nobody finds it by its name.
        room.close()?;
        let tip = room.save(job).map_err(|kept| {
            room.open_again();
            unsaved(kept)
        })?;
        room.remove(tip.as_deref())?;
        Ok(room.saved(job)?)
    }
}

impl Room<'_> {
    /// Saves everything, and returns the commit of the branch.
    fn save(&self, job: &Job<'_>) -> Result<Option<String>, Kept> {
        let seen = self.look()?;
        let mut commits = Vec::new();
        let is_gone = ground::kind(&self.files_at()).is_none();
        // One that was put aside was saved whole before that.
        if !is_gone || ground::kind(&self.aside()).is_none() {
            self.check_ground()?;
            nested::check_kept(&self.work, &self.admin().join("modules"))?;
            nested::check_worktrees(&self.work, &self.tree.path, &seen.listed)?;
            commits.extend(self.snapshot(job, &seen)?);
        }
        let (head, tip) = (seen.own.as_ref().and(seen.head.clone()), seen.tip.clone());
        commits.extend(head.into_iter().chain(tip));
        if let Some(own) = &seen.own {
            for begun in BEGUN {
                commits.extend(ground::commit(own, begun)?);
            }
            commits.extend(self.own_commits(own)?);
            let is_there = |name| ground::kind(&self.admin().join(name)).is_some();
            if is_there("rebase-merge") || is_there("rebase-apply") {
                commits.extend(ground::commit(own, "ORIG_HEAD")?);
            }
        }
        self.refer_all(job, commits)?;
        if let Some(own) = &seen.own {
            // Most of these are in what has just been saved.
            self.refer_all(job, self.left_behind(own, job, seen.head.is_some())?)?;
        }
        Ok(seen.tip)
    }

    /// Refuses what a removal would reach that is none of the worktree's, and what no commit can hold.
    fn check_ground(&self) -> Result<(), Kept> {
        let mounted = ground::mounted_below(&self.files_at());
        let mounted = mounted.map_err(|error| Kept::other(error.to_string()))?;
        if let Some(point) = mounted {
            let point = point.display();
            return Err(Kept::Other {
                why: format!("something else is mounted at {point}"),
                hint: Some(format!("umount {point}")),
            });
        }
        if ground::kind(&self.admin().join(APPLYING)).is_some() {
            return Err(Kept::Other {
                why: "git am has patches that are not applied yet".into(),
                hint: Some("git am --continue, or git am --abort, in the worktree".into()),
            });
        }
        Ok(())
    }

    /// Returns the commits that git keeps for this worktree alone, besides its head.
    fn own_commits(&self, own: &Place<'_>) -> Result<Vec<String>, Kept> {
        let mut found = Vec::new();
        for name in REBASED {
            let text = ground::first_bytes(&self.admin().join(name), 128).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let named = text.trim();
            if !named.is_empty() && named.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                found.extend(ground::commit(own, named)?);
            }
        }
        let format = "--format=%(refname)";
        let own_names: [&dyn AsRef<OsStr>; 5] =
            [&"for-each-ref", &format, &"refs/worktree/", &"refs/bisect/", &"refs/rewritten/"];
        let names = own.ok(&own_names)?;
        let names = String::from_utf8_lossy(&names);
        if WORKTREE_LEFT_MAX < names.lines().count() {
            return Err(Kept::other("it has too many references of its own to save each"));
        }
        for name in names.lines() {
            found.extend(ground::commit(own, name)?);
        }
        Ok(found)
    }

    /// Makes references to those commits that nothing else holds.
    fn refer_all(&self, job: &Job<'_>, commits: Vec<String>) -> Result<(), Kept> {
        let repository = self.repository();
        for commit in commits {
            if self.is_alone(&repository, job, &commit)? {
                self.refer(&repository, job, &commit)?;
            }
        }
        Ok(())
    }

    /// Returns the words by which git leaves out what other branches have, of here or of a remote, and what
    /// was saved already.
    pub(crate) fn elsewhere(&self, job: &Job<'_>) -> [String; 5] {
        [
            "--not".into(),
            format!("--exclude={}", self.tree.branch),
            "--branches".into(),
            "--remotes".into(),
            format!("--glob={SAVED}{}*", job.id),
        ]
    }

    /// Tells whether a commit is in no other branch, of here or of a remote, and not saved yet.
    fn is_alone(
        &self,
        repository: &Place<'_>,
        job: &Job<'_>,
        commit: &str,
    ) -> Result<bool, GitError> {
        let elsewhere = self.elsewhere(job);
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"rev-list", &"--max-count=1", &commit];
        args.extend(elsewhere.iter().map(|word| word as &dyn AsRef<OsStr>));
        let alone = repository.line(&args)?;
        Ok(!alone.is_empty())
    }

    /// Makes a new reference to a commit.
    fn refer(&self, repository: &Place<'_>, job: &Job<'_>, commit: &str) -> Result<(), Kept> {
        let taken = self.references(job)?;
        let plain = format!("{SAVED}{}", job.id);
        let numbered = (2..=JOBS_MAX).map(|n| format!("{plain}-{n}"));
        let free = std::iter::once(plain.clone()).chain(numbered);
        let free = free.into_iter().find(|name| !taken.contains(name));
        let name = free.ok_or_else(|| Kept::other("too much was saved of this job"))?;
        // The empty one says that there must be none.
        repository.ok(&[&"update-ref", &"--no-deref", &name, &commit, &""])?;
        Ok(())
    }

    /// Returns the references to what was saved of a job.
    fn references(&self, job: &Job<'_>) -> Result<Vec<String>, GitError> {
        let pattern = format!("{SAVED}{}*", job.id);
        let sorted = "--sort=version:refname";
        let format = "--format=%(refname)";
        let out = self.repository().ok(&[&"for-each-ref", &sorted, &format, &pattern])?;
        Ok(String::from_utf8_lossy(&out).lines().map(str::to_owned).collect())
    }

    /// Returns what was saved of a job, with the way back.
    fn saved(&self, job: &Job<'_>) -> Result<Vec<Saved>, GitError> {
        let mut taken = Vec::new();
        if self.tip()?.is_some() {
            taken.push(self.tree.branch.clone());
        }
        let tree = self.tree;
        let has_files = tree.repository != tree.git_dir;
        let told = self.references(job)?.into_iter().map(|reference| {
            let numbered = (2_usize..).map(|n| format!("{}-{n}", tree.branch));
            let names = std::iter::once(tree.branch.clone()).chain(numbered);
            // There are fewer branches than numbers.
            let name = names.into_iter().find(|name| !taken.contains(name)).unwrap_or_default();
            taken.push(name.clone());
            let place = quoted(&tree.repository.to_string_lossy());
            let verb = if has_files { "switch -c" } else { "branch" };
            let command = format!("git -C {place} {verb} {} {reference}", quoted(&name));
            Saved { reference, repository: tree.repository.clone(), command }
        });
        Ok(told.collect())
    }
}

/// Writes a word so that a shell reads it as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
