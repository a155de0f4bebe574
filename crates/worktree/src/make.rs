//! Making a worktree, and unmaking one in which nobody has worked.

use std::{os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{FileType, FlockOperation, Mode, OFlags},
    io::Errno,
};
use stdx::state_file;
use vocab::job::Worktree;

use crate::{
    error::TreeError,
    find::Planned,
    git::GitError,
    ground::{self, Listed, Room, Trees},
};

impl Trees {
    /// Makes a worktree that was planned.
    ///
    /// # Errors
    /// When it cannot be made; nothing of it is left.
    pub fn make(&self, planned: &Planned) -> Result<(), TreeError> {
        let tree = &planned.tree;
        self.prepare()?;
        let room = self.room(tree)?;
        // git reads what it has of all worktrees, and fails over one that another git is just writing down.
        let _turn = room.turn().map_err(|error| TreeError::NotMade(error.to_string()))?;
        if ground::kind(&tree.path).is_some() || ground::kind(&room.admin()).is_some() {
            return Err(TreeError::NotMade(format!("{} is there", tree.path.display())));
        }
        if room.tip()?.is_some() {
            return Err(TreeError::BranchExists(tree.branch.clone()));
        }
        let made = room.repository().that_fetches().ok(&[
            &"worktree",
            &"add",
            &"--quiet",
            &"--no-guess-remote",
            &"-b",
            &tree.branch,
            &"--",
            &tree.path,
            &tree.base,
        ]);
        let made = made.map_err(|error| match error {
            GitError::Failed { why, .. } => TreeError::NotMade(why),
            GitError::Plan(_) | GitError::Begin(_) | GitError::Streams(_) => error.into(),
        });
        let made = made.and_then(|_| room.check(&planned.cwd));
        if made.is_err() {
            // The first failure is the one to tell.
            room.unmake().ok();
        }
        made
    }

    /// Removes a worktree in which nothing was begun, with its branch.
    ///
    /// # Errors
    /// When something of it cannot be removed.
    pub fn unmake(&self, tree: &Worktree) -> Result<(), TreeError> {
        let room = self.room(tree)?;
        let _turn = room.has_repository().then(|| room.turn()).transpose()?;
        room.unmake()
    }

    /// Gives a worktree up: removes it with its branch and with everything that is nowhere else.
    ///
    /// # Errors
    /// When something of it cannot be removed.
    pub fn discard(&self, tree: &Worktree) -> Result<(), TreeError> {
        let room = self.room(tree)?;
        if !room.has_repository() {
            return room.remove(None);
        }
        // Another one that is saved meanwhile may rely on this one's branch.
        let _turn = room.turn()?;
        let tip = room.tip()?;
        room.remove(tip.as_deref())
    }
}

impl Room<'_> {
    /// Checks that git has made what was planned.
    fn check(&self, cwd: &Path) -> Result<(), TreeError> {
        let there = self.work.at(&self.tree.path);
        let own = there.path(&[&"rev-parse", &"--absolute-git-dir"])?;
        if own != self.admin() {
            let why = format!("git keeps it in {}, and not where it was to", own.display());
            return Err(TreeError::NotMade(why));
        }
        if ground::kind(cwd) != Some(FileType::Directory) {
            return Err(TreeError::NotMade(format!("{} is not in it", cwd.display())));
        }
        Ok(())
    }

    fn unmake(&self) -> Result<(), TreeError> {
        let tip = self.tip()?.filter(|tip| *tip == self.tree.base);
        self.remove(tip.as_deref())
    }

    /// Removes all of it, and its branch where that is still at `tip`. What was begun goes on.
    pub(crate) fn remove(&self, tip: Option<&str>) -> Result<(), TreeError> {
        let not = |why: String| TreeError::NotRemoved { path: self.tree.path.clone(), why };
        let aside = self.aside();
        for path in [&self.tree.path, &self.closed(), &aside] {
            if let Some(point) =
                ground::mounted_below(path).map_err(|error| not(error.to_string()))?
            {
                return Err(not(format!("something else is mounted at {}", point.display())));
            }
        }
        let clear = || state_file::remove_tree(&aside).map_err(|error| not(error.to_string()));
        for path in [&self.closed(), &self.tree.path] {
            if ground::kind(path).is_none() {
                continue;
            }
            clear()?;
            // From here on it is under another name, so that nobody takes what is left of it for the whole:
            // this name goes last.
            state_file::set_aside(path, &aside).map_err(|error| not(error.to_string()))?;
        }
        if self.has_repository() {
            self.forget(tip).map_err(|error| not(error.to_string()))?;
        }
        self.clear_index().map_err(|error| not(error.to_string()))?;
        clear()?;
        Ok(())
    }

    /// Takes the turn of whoever makes, saves and removes worktrees of the repository, for as long as what is returned
    /// is held.
    pub(crate) fn turn(&self) -> Result<OwnedFd, TreeError> {
        let not = |why: String| TreeError::NotRemoved { path: self.tree.path.clone(), why };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&self.tree.git_dir, flags, Mode::empty())
            .map_err(|errno| not(errno.to_string()))?;
        // The kernel gives it back whoever dies, and whoever has it ends: each of its steps is bounded.
        loop {
            match rustix::fs::flock(&dir, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(dir),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(not(errno.to_string())),
            }
        }
    }

    /// Puts the files where nobody finds them by their name, unless there are submodules in it, whose
    /// repositories know it by its name: then it stays.
    pub(crate) fn close(&self) -> Result<(), TreeError> {
        let (path, closed) = (&self.tree.path, self.closed());
        let has_modules = ground::kind(&self.admin().join("modules")).is_some();
        if ground::kind(path).is_none() || has_modules {
            return Ok(());
        }
        let not = |why: String| TreeError::NotRemoved { path: path.clone(), why };
        if ground::kind(&closed).is_some() {
            return Err(not(format!("{} is there as well", closed.display())));
        }
        state_file::set_aside(path, &closed).map_err(|error| not(error.to_string()))
    }

    /// Puts them back.
    pub(crate) fn open_again(&self) {
        let (path, closed) = (&self.tree.path, self.closed());
        // Where that fails, the next try goes on from there.
        if ground::kind(path).is_none() {
            state_file::set_aside(&closed, path).ok();
        }
    }

    /// Makes git forget it, and its branch.
    fn forget(&self, tip: Option<&str>) -> Result<(), GitError> {
        let repository = self.repository();
        if self.list()?.iter().any(|listed| listed.path == self.tree.path) {
            // Twice: also one that somebody has locked, or that was never finished.
            let force = "--force";
            repository.ok(&[&"worktree", &"remove", &force, &force, &"--", &self.tree.path])?;
        }
        let Some(tip) = tip else { return Ok(()) };
        let branch = self.branch();
        let is_elsewhere = |listed: &Listed| {
            listed.branch.as_deref() == Some(branch.as_str()) && listed.path != self.tree.path
        };
        if self.list()?.iter().any(is_elsewhere) {
            return Ok(());
        }
        repository.ok(&[&"update-ref", &"--no-deref", &"-d", &branch, &tip])?;
        // Where it has no configuration there is none to remove.
        let section = format!("branch.{}", self.tree.branch);
        repository.maybe(&[&"config", &"--local", &"--remove-section", &section]).ok();
        Ok(())
    }
}
