//! Where worktrees stand, and which one a record means.
//!
//! Not here: what is done with them.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags},
    io::Errno,
};
use stdx::state_file;
use vocab::job::Worktree;

use crate::{
    error::TreeError,
    git::{Git, GitError, Place, Work},
};

/// All worktrees of a person's jobs, in one directory.
#[derive(Debug, Clone)]
pub struct Trees {
    root: PathBuf,
    pub(crate) git: Git,
}

impl Trees {
    /// Says in which directory of data they stand, and what git is given of an environment.
    #[must_use]
    pub fn new(data: &Path, environment: &[(OsString, OsString)]) -> Self {
        Self { root: data.join("worktrees"), git: Git::new(environment) }
    }

    /// Says to which state directory they belong, so that what git leaves running when its daemon dies is known for
    /// that one's. Another daemon's is left alone.
    #[must_use]
    pub fn owned_by(self, state: &Path) -> Self {
        // By what it is: it may have several names.
        let Ok(found) = rustix::fs::stat(state) else { return self };
        let git = self.git.marked(&format!("{:x}.{:x}", found.st_dev, found.st_ino));
        Self { git, ..self }
    }

    /// Ends what git has left running for a daemon of the same state directory before this process. Returns how many
    /// that were. Blocks.
    #[must_use]
    pub fn end_leftovers(&self) -> usize {
        self.git.end_leftovers()
    }

    /// Returns the directory that they stand in. It may not be there yet.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the directory that they stand in, and returns it without links, as git writes it.
    pub(crate) fn prepare(&self) -> Result<PathBuf, TreeError> {
        if let Some(data) = self.root.parent() {
            state_file::ensure_dir(data).map_err(TreeError::Root)?;
        }
        state_file::ensure_dir(&self.root).map_err(TreeError::Root)?;
        real(&self.root).map_err(|errno| TreeError::Root(errno.into()))
    }

    /// Turns to a worktree that was recorded.
    pub(crate) fn room<'a>(&'a self, tree: &'a Worktree) -> Result<Room<'a>, TreeError> {
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        let name = tree.path.components().next_back().filter(|part| is_plain(*part));
        let parent = tree.path.parent();
        let is_ours = parent.is_some_and(|parent| {
            parent == self.root || real(&self.root).is_ok_and(|root| root == parent)
        });
        match name {
            Some(name) if is_ours => {
                Ok(Room { work: self.git.work(), tree, name: name.as_os_str().to_owned() })
            }
            _ => Err(TreeError::Foreign(tree.path.clone())),
        }
    }
}

/// A worktree of ours: only such a one is ever looked into or removed.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    pub(crate) work: Work<'a>,
    pub(crate) tree: &'a Worktree,
    name: OsString,
}

/// A worktree that git knows, besides what is recorded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    /// The whole name of its branch; none when its head is detached.
    pub(crate) branch: Option<String>,
}

/// What git knows of a worktree, looked at once.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    /// All worktrees of the repository.
    pub(crate) listed: Vec<Listed>,
    /// The worktree as git knows it; none when git has forgotten it.
    pub(crate) own: Option<Place<'a>>,
    /// The commit of its branch.
    pub(crate) tip: Option<String>,
    /// The commit that its files began from.
    pub(crate) head: Option<String>,
}

impl Room<'_> {
    /// Looks at what git knows of it.
    pub(crate) fn look(&self) -> Result<Seen<'_>, GitError> {
        let listed = self.list()?;
        let is_known = listed.iter().any(|one| one.path == self.tree.path)
            && kind(&self.admin()) == Some(FileType::Directory);
        let own = is_known.then(|| self.work.at(&self.tree.git_dir).of(&self.admin()));
        let tip = self.tip()?;
        let head = match (&own, &tip) {
            (Some(own), _) => commit(own, "HEAD")?,
            // git has forgotten it, but its files may be there.
            (None, Some(tip)) => Some(tip.clone()),
            (None, None) => commit(&self.repository(), &self.tree.base)?,
        };
        Ok(Seen { listed, own, tip, head })
    }

    /// Returns the commit of the branch; none if there is no such branch.
    pub(crate) fn tip(&self) -> Result<Option<String>, GitError> {
        commit(&self.repository(), &self.branch())
    }

    /// Turns to the repository itself.
    pub(crate) fn repository(&self) -> Place<'_> {
        self.work.at(&self.tree.git_dir).of(&self.tree.git_dir)
    }

    /// Tells whether the repository is where it was.
    pub(crate) fn has_repository(&self) -> bool {
        kind(&self.tree.git_dir) == Some(FileType::Directory)
            && kind(&self.tree.git_dir.join("objects")).is_some()
    }

    /// Returns where git keeps what it knows of this worktree alone.
    pub(crate) fn admin(&self) -> PathBuf {
        self.tree.git_dir.join("worktrees").join(&self.name)
    }

    /// Returns where it is put once everything of it is saved, to be looked at once more: whoever writes there
    /// by its name meanwhile writes no more.
    pub(crate) fn closed(&self) -> PathBuf {
        self.beside(".closed")
    }

    /// Returns where it is put after that, to be removed from there.
    pub(crate) fn aside(&self) -> PathBuf {
        self.beside(".gone")
    }

    /// Returns where its files are now.
    pub(crate) fn files_at(&self) -> PathBuf {
        let closed = self.closed();
        let is_closed = kind(&self.tree.path).is_none() && kind(&closed).is_some();
        if is_closed { closed } else { self.tree.path.clone() }
    }

    /// Returns the index that what is saved is gathered in.
    pub(crate) fn index(&self) -> PathBuf {
        self.beside(".index")
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.name.clone();
        name.push(suffix);
        self.tree.path.with_file_name(name)
    }

    /// Removes the index that what is saved was gathered in, and what a killed git has left of it.
    pub(crate) fn clear_index(&self) -> io::Result<()> {
        let index = self.index();
        let mut lock = index.clone().into_os_string();
        lock.push(".lock");
        state_file::remove(&index)?;
        state_file::remove(Path::new(&lock))?;
        Ok(())
    }

    /// Returns the whole name of its branch.
    pub(crate) fn branch(&self) -> String {
        format!("refs/heads/{}", self.tree.branch)
    }

    /// Lists all worktrees of the repository.
    pub(crate) fn list(&self) -> Result<Vec<Listed>, GitError> {
        list(&self.repository())
    }
}

/// Lists all worktrees of a repository, its main one first.
pub(crate) fn list(repository: &Place<'_>) -> Result<Vec<Listed>, GitError> {
    let out = repository.ok(&[&"worktree", &"list", &"--porcelain", &"-z"])?;
    let mut all: Vec<Listed> = Vec::new();
    for field in out.split(|byte| *byte == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            all.push(Listed { path: OsStr::from_bytes(path).into(), branch: None });
        } else if let (Some(branch), Some(last)) = (field.strip_prefix(b"branch "), all.last_mut())
        {
            last.branch = Some(String::from_utf8_lossy(branch).into_owned());
        }
    }
    Ok(all)
}

/// Returns the commit that a name means; none if it means none.
pub(crate) fn commit(place: &Place<'_>, name: &str) -> Result<Option<String>, GitError> {
    let name = format!("{name}^{{commit}}");
    place.maybe(&[&"rev-parse", &"--quiet", &"--verify", &name])
}

/// Returns what stands at a path, of the last component itself; none if nothing does.
pub(crate) fn kind(path: &Path) -> Option<FileType> {
    let meta = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(meta.st_mode))
}

/// Returns where something else is mounted below a directory; none if nothing is, or there is no directory.
pub(crate) fn mounted_below(path: &Path) -> io::Result<Option<PathBuf>> {
    real(path).map_or(Ok(None), |real| stdx::mounts::below(&real))
}

/// Returns how long a plain file is; none if there is none.
pub(crate) fn length(path: &Path) -> Option<u64> {
    let meta = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_file = FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile;
    u64::try_from(meta.st_size).ok().filter(|_| is_file)
}

/// Returns what stands at a path below a directory, none if a link stands on the way there.
pub(crate) fn kind_below(root: &Path, path: &OsStr) -> Option<FileType> {
    let mut at = root.to_owned();
    let mut found = None;
    for part in Path::new(path).components() {
        if !matches!(found, None | Some(FileType::Directory)) {
            return None;
        }
        at.push(part);
        found = Some(kind(&at)?);
    }
    found
}

/// Returns a directory's path without links.
pub(crate) fn real(dir: &Path) -> Result<PathBuf, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle: OwnedFd = rustix::fs::open(dir, flags, Mode::empty())?;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let target = rustix::fs::readlink(link, Vec::new())?;
    Ok(OsStr::from_bytes(target.as_bytes()).into())
}

/// Reads the beginning of a small file that anybody may have written; none if it cannot be read.
pub(crate) fn first_bytes(path: &Path, n_max: usize) -> Option<Vec<u8>> {
    // Without waiting: what stands there may be a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut bytes = vec![0; n_max];
    let n_read = rustix::io::read(&file, &mut bytes).ok()?;
    bytes.truncate(n_read);
    Some(bytes)
}
