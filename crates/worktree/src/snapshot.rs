//! One commit of everything in a worktree that is in no commit: what is changed, new, gone, staged.
//!
//! The files are read into an index of their own, which begins from the last commit and knows no flag that
//! would hide a change. An index of the worktree's that says something else becomes a second parent, as in
//! a stash.
//!
//! Not here: commits that are there already, and ignored files, which nobody wanted kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use rustix::fs::FileType;

use crate::{
    git::{GitError, Place},
    ground::{self, Room, Seen},
    keep::{Job, Kept},
    nested,
};

/// The beginning of a `.git` file, and more than any path has.
const GIT_FILE_BYTES: usize = 8 << 10;
/// The mode of a repository in a repository.
const GITLINK: &[u8] = b"160000";

impl Room<'_> {
    /// Writes the commit, none if everything is in `head`.
    pub(crate) fn snapshot(&self, job: &Job<'_>, seen: &Seen<'_>) -> Result<Option<String>, Kept> {
        let (own, head) = (seen.own.as_ref(), seen.head.as_ref());
        let repository = self.repository();
        let committed = match head {
            Some(head) => {
                repository.line(&[&"rev-parse", &"--verify", &format!("{head}^{{tree}}")])?
            }
            None => repository.line(&[&"hash-object", &"-t", &"tree", &"-w", &"--stdin"])?,
        };
        let staged = match own {
            Some(own) if ground::kind(&self.admin().join("index")).is_some() => {
                self.staged(own, &committed)?
            }
            _ => None,
        };
        let tree = match ground::kind(&self.files_at()) {
            Some(FileType::Directory) => self.files(seen)?,
            None => staged.clone().unwrap_or_else(|| committed.clone()),
            Some(_) => return Err(Kept::other("it is no directory any more")),
        };
        let staged = staged.filter(|staged| *staged != committed && *staged != tree);
        if tree == committed && staged.is_none() {
            return Ok(None);
        }
        let author = author(&repository, job);
        let mut parents: Vec<String> = head.cloned().into_iter().collect();
        if let Some(staged) = staged {
            let what = format!("what was staged in the job {} ({})", job.name, job.id);
            parents.push(write(&author, &staged, &parents, &what)?);
        }
        let what = format!("what was not committed in the job {} ({})", job.name, job.id);
        Ok(Some(write(&author, &tree, &parents, &what)?))
    }

    /// Writes the tree of what is staged; none where a merge has left conflicts, whose sides are commits.
    ///
    /// The worktree's own index is only read: a git that was killed may have left it locked.
    fn staged(&self, own: &Place<'_>, committed: &str) -> Result<Option<String>, Kept> {
        let raw: &[&dyn AsRef<OsStr>] =
            &[&"diff-index", &"--cached", &"--raw", &"--no-abbrev", &"--no-renames", &"-z"];
        let changes = own.ok(&[raw, &[&committed]].concat())?;
        let mut staged = Vec::new();
        let mut parts = fields(&changes);
        while let (Some(about), Some(name)) = (parts.next(), parts.next()) {
            // `:old-mode new-mode old-object new-object letter`
            let words: Vec<&[u8]> = about.split(|byte| *byte == b' ').collect();
            let [_, mode, _, object, letter] = words.as_slice() else {
                return Err(Kept::other("git tells changes in a form that is not known"));
            };
            if letter.starts_with(b"U") {
                return Ok(None);
            }
            staged.extend([*mode, b" ", object, b"\t", name, b"\0"].concat());
        }
        if staged.is_empty() {
            return Ok(Some(committed.to_owned()));
        }
        self.clear_index().map_err(|error| Kept::other(error.to_string()))?;
        let place = own.clone().with("GIT_INDEX_FILE", self.index());
        place.ok(&[&"read-tree", &committed])?;
        place.ok_with(&[&"update-index", &"-z", &"--index-info"], &staged)?;
        Ok(Some(place.line(&[&"write-tree"])?))
    }

    /// Writes the tree of all files that are not ignored, and of those that were added all the same.
    fn files(&self, seen: &Seen<'_>) -> Result<String, Kept> {
        let own = seen.own.as_ref();
        self.check_git_file()?;
        self.clear_index().map_err(|error| Kept::other(error.to_string()))?;
        let git_dir = if own.is_some() { self.admin() } else { self.tree.git_dir.clone() };
        let path = &self.files_at();
        let place = self.work.at(path).of(&git_dir).over(path).with("GIT_INDEX_FILE", self.index());
        match &seen.head {
            Some(head) => place.ok(&[&"read-tree", head])?,
            None => place.ok(&[&"read-tree", &"--empty"])?,
        };
        let absent = match own {
            Some(own) => self.mark_absent(own, &place)?,
            None => false,
        };
        if absent {
            place.ok(&[&"add", &"--all", &"--sparse"])?;
        } else {
            place.ok(&[&"add", &"--all"])?;
        }
        let mut entries = entries(&place)?;
        if let Some(own) = own
            && self.add_forced(own, &place, &entries)?
        {
            entries = self::entries(&place)?;
        }
        let inner = entries.iter().filter(|(_, mode)| mode.as_slice() == GITLINK);
        for name in inner.map(|(name, _)| OsStr::from_bytes(name)) {
            let at = path.join(name);
            // Where it is put aside, the repositories in it were looked at before, and find themselves no more.
            if *path != self.tree.path {
                break;
            }
            // Worktrees of this repository have been looked at.
            if !seen.listed.iter().any(|listed| listed.path == at) {
                nested::check(&self.work, path, &at)?;
            }
        }
        let tree = place.line(&[&"write-tree"])?;
        self.clear_index().map_err(|error| Kept::other(error.to_string()))?;
        Ok(tree)
    }

    /// Checks that the directory is still the worktree that was made, and has not become a repository of
    /// its own with commits that would go unseen.
    fn check_git_file(&self) -> Result<(), Kept> {
        let root = self.files_at();
        let path = root.join(".git");
        let named = match ground::kind(&path) {
            // What is saved is found without it.
            None => return Ok(()),
            Some(FileType::RegularFile) => ground::first_bytes(&path, GIT_FILE_BYTES),
            Some(_) => None,
        };
        let named = named.unwrap_or_default();
        let named = named.strip_prefix(b"gitdir: ").unwrap_or_default().trim_ascii_end();
        let named = root.join(OsStr::from_bytes(named));
        let admin = ground::real(&self.admin());
        // One whose worktree git has forgotten names a directory that is gone.
        let is_ours =
            named == self.admin() || ground::real(&named).is_ok_and(|named| admin == Ok(named));
        if is_ours { Ok(()) } else { Err(Kept::other("its .git names another repository")) }
    }

    /// Marks files that are not there because a sparse checkout leaves them out, and tells whether there
    /// are any. What the worktree's index says of files that are there is not believed.
    fn mark_absent(&self, own: &Place<'_>, place: &Place<'_>) -> Result<bool, Kept> {
        let flags = own.ok(&[&"ls-files", &"-t", &"-z"])?;
        let skipped = fields(&flags).filter_map(|field| field.strip_prefix(b"S "));
        let root = self.files_at();
        let is_absent = |name: &&[u8]| ground::kind_below(&root, OsStr::from_bytes(name)).is_none();
        let absent: BTreeSet<&[u8]> = skipped.filter(is_absent).collect();
        if absent.is_empty() {
            return Ok(false);
        }
        let known = place.ok(&[&"ls-files", &"-z"])?;
        let absent: Vec<&[u8]> = fields(&known).filter(|name| absent.contains(name)).collect();
        place
            .ok_with(&[&"update-index", &"--skip-worktree", &"-z", &"--stdin"], &lines(&absent))?;
        Ok(true)
    }

    /// Adds ignored files that were staged all the same, and tells whether there were any.
    fn add_forced(
        &self,
        own: &Place<'_>,
        place: &Place<'_>,
        entries: &BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Result<bool, Kept> {
        let staged = own.ok(&[&"ls-files", &"-z"])?;
        let root = self.files_at();
        let is_file = |name: &&[u8]| {
            let kind = ground::kind_below(&root, OsStr::from_bytes(name));
            matches!(kind, Some(FileType::RegularFile | FileType::Symlink))
        };
        let is_new = |name: &&[u8]| !entries.contains_key(*name);
        let forced: BTreeSet<&[u8]> = fields(&staged).filter(is_new).filter(is_file).collect();
        if forced.is_empty() {
            return Ok(false);
        }
        let forced: Vec<&[u8]> = forced.into_iter().collect();
        place.ok_with(&[&"update-index", &"--add", &"-z", &"--stdin"], &lines(&forced))?;
        Ok(true)
    }
}

/// Returns names and modes in an index.
fn entries(place: &Place<'_>) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, GitError> {
    let staged = place.ok(&[&"ls-files", &"--stage", &"-z"])?;
    let entry = |field: &[u8]| {
        let tab = field.iter().position(|byte| *byte == b'\t')?;
        let (about, name) = (field.get(..tab)?, field.get(tab + 1..)?);
        let mode = about.split(|byte| *byte == b' ').next()?;
        Some((name.to_owned(), mode.to_owned()))
    };
    Ok(fields(&staged).filter_map(entry).collect())
}

/// Writes a commit.
fn write(
    author: &Place<'_>,
    tree: &str,
    parents: &[String],
    message: &str,
) -> Result<String, GitError> {
    let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"commit-tree", &tree];
    for parent in parents {
        args.push(&"-p");
        args.push(parent);
    }
    args.push(&"-m");
    args.push(&message);
    author.line(&args)
}

/// Says who commits and when, so that the same state makes the same commit again.
fn author<'a>(place: &Place<'a>, job: &Job<'_>) -> Place<'a> {
    let mut author = place.clone();
    for who in ["AUTHOR", "COMMITTER"] {
        author = author
            .with(&format!("GIT_{who}_NAME"), "Stead")
            .with(&format!("GIT_{who}_EMAIL"), "stead@localhost")
            .with(&format!("GIT_{who}_DATE"), format!("@{} +0000", job.ended_at));
    }
    author
}

/// Walks over what git ends with NUL bytes.
pub(crate) fn fields(out: &[u8]) -> impl Iterator<Item = &[u8]> {
    out.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

fn lines(names: &[&[u8]]) -> Vec<u8> {
    names.iter().flat_map(|name| name.iter().copied().chain([0])).collect()
}

/// Tells whether a path lies below a directory.
pub(crate) fn is_below(path: &Path, dir: &Path) -> bool {
    path != dir && path.starts_with(dir)
}
