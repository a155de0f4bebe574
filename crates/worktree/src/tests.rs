//! Worktrees of real repositories, made by real git, with whatever a program may do to them.

#![expect(clippy::disallowed_methods, reason = "makes repositories and asks git the plain way")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use vocab::{ids::JobId, job::Worktree};

use crate::{Job, Planned, Saved, TreeError, Trees, Wish};

mod faults;
mod hands;
mod hostile;
mod making;
mod saving;
mod within;

/// What every repository here begins with.
const BEGIN: &str = "
    git init -q -b main . && printf 'one\\ntwo\\n' >a.txt && mkdir b && echo c >b/c.txt
    printf '#!/bin/sh\\n' >run.sh && chmod 755 run.sh && ln -s a.txt link
    printf 'ignored/\\n*.log\\n' >.gitignore && git add -A && git commit -qm begin";

/// A person with a repository.
struct Rig {
    dir: tempfile::TempDir,
    repository: PathBuf,
    trees: Trees,
    id: JobId,
}

/// A job's worktree.
struct Made<'a> {
    rig: &'a Rig,
    planned: Planned,
    id: JobId,
}

impl Rig {
    fn new() -> Self {
        Self::named("repository")
    }

    fn named(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let repository = base.join("src").join(name);
        fs::create_dir_all(&repository).unwrap();
        fs::create_dir(base.join("home")).unwrap();
        let search = std::env::var_os("PATH").unwrap();
        let environment = [("PATH".into(), search), ("HOME".into(), base.join("home").into())];
        let trees = Trees::new(&base.join("data"), &environment);
        let rig = Self { dir, repository, trees, id: "0123abcd".parse().unwrap() };
        rig.sh(&rig.repository, BEGIN);
        rig
    }

    /// Runs a script as the person would.
    fn sh(&self, cwd: &Path, script: &str) -> String {
        let output = self.command(cwd, script).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{script}: {}", text(&output.stderr));
        text(&output.stdout).trim_end().to_owned()
    }

    fn command(&self, cwd: &Path, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-euc", script]).current_dir(cwd).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.dir.path().join("home"));
        command.env("REPO", &self.repository);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Person");
            command.env(format!("GIT_{who}_EMAIL"), "person@localhost");
        }
        command.env("GIT_EDITOR", "true");
        command
    }

    fn wish<'a>(&'a self, cwd: &'a Path) -> Wish<'a> {
        Wish { job: &self.id, name: "fix the build", cwd, branch: None, taken: &[] }
    }

    fn made(&self) -> Made<'_> {
        self.made_by("0123abcd")
    }

    fn made_by(&self, job: &str) -> Made<'_> {
        let id = job.parse().unwrap();
        let wish = Wish { job: &id, ..self.wish(&self.repository) };
        let planned = self.trees.plan(&wish).unwrap();
        self.trees.make(&planned).unwrap();
        Made { rig: self, planned, id }
    }

    /// Returns all references and worktrees of the repository.
    fn known(&self) -> String {
        let refs = "git for-each-ref --format='%(refname) %(objectname)'; git worktree list";
        self.sh(&self.repository, refs)
    }
}

impl Made<'_> {
    fn tree(&self) -> &Worktree {
        &self.planned.tree
    }

    fn path(&self) -> &Path {
        &self.planned.tree.path
    }

    fn sh(&self, script: &str) -> String {
        self.rig.sh(self.path(), script)
    }

    fn retire(&self) -> Result<Vec<Saved>, TreeError> {
        let job = Job { id: &self.id, name: "fix the build", ended_at: 1_700_000_000 };
        self.rig.trees.retire(self.tree(), &job)
    }

    /// Asserts that nothing of it is left but what was saved.
    fn assert_gone(&self) {
        let left: Vec<_> = fs::read_dir(self.rig.trees.root()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        let repository = &self.rig.repository;
        let listed = self.rig.sh(repository, "git worktree list --porcelain | grep -c ^worktree");
        assert_eq!(listed, "1");
        assert_eq!(self.rig.sh(repository, "git for-each-ref refs/heads/stead"), "");
    }
}

/// What stands below a directory: type, mode bits that git keeps, and content.
fn contents(root: &Path) -> BTreeMap<PathBuf, (char, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            let meta = fs::symlink_metadata(&path).unwrap();
            if name == Path::new(".git") || name == Path::new("ignored") {
                continue;
            } else if meta.is_dir() {
                left.push(path);
            } else if meta.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                found.insert(name, ('l', target.into_os_string().into_encoded_bytes()));
            } else if meta.is_file() {
                let kind = if meta.mode() & 0o100 == 0 { 'f' } else { 'x' };
                found.insert(name, (kind, fs::read(&path).unwrap()));
            }
        }
    }
    found
}
