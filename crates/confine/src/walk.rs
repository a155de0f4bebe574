//! From a path to open handles: one component at a time, each beneath the one before.
//!
//! `..` pops the stack of handles, a link's target is walked like any other steps. The kernel never
//! resolves more than one name.

use std::{ffi::OsString, sync::Arc};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use vocab::{
    limits::{PATH_COMPONENTS_MAX, PATH_LINKS_MAX, PATH_RETRIES_MAX},
    path::{Component, WorkspacePath},
};

use crate::{
    dir::{Dir, FileId, Kind, Meta},
    error::{ConfineError, Reason, Result},
    escape::{self, Target},
    root::{Base, Root},
    sys::{self, Opened},
};

/// What to do with a link in the last place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    Follow,
    Keep,
}

/// What to do with a directory that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Refuse,
    /// Makes it, and counts what was made.
    Create,
}

/// A directory on the way, with the name it has in the one before.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) name: OsString,
    pub(crate) dir: Arc<Dir>,
}

/// Where a walk ended.
#[derive(Debug)]
pub(crate) struct Walked {
    /// The root and every directory down to the end; never empty.
    pub(crate) chain: Vec<Step>,
    pub(crate) end: End,
}

#[derive(Debug)]
pub(crate) enum End {
    /// At the last directory of the chain.
    Dir,
    /// At something else in it.
    Entry { name: OsString, meta: Meta },
    /// At a name that the last directory does not hold.
    Missing { name: OsString },
}

impl Walked {
    pub(crate) fn top(&self) -> &Arc<Dir> {
        // The chain begins with the root and never loses it.
        &self.chain[self.chain.len() - 1].dir
    }
}

/// A walk under way.
pub(crate) struct Walker<'a> {
    base: &'a Base,
    mounts: bool,
    pub(crate) last: Last,
    pub(crate) missing: Missing,
    chain: Vec<Step>,
    pending: Vec<Component>,
    entered: Vec<(FileId, bool)>,
    /// Whether the last thing found is mounted there.
    crossed: bool,
    links: usize,
    /// Directories made so far.
    pub(crate) created: usize,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(root: &'a Root, path: &WorkspacePath, last: Last) -> Result<Self> {
        let base = root.base(path.root())?;
        let pending: Vec<_> = path.components().iter().rev().cloned().collect();
        Ok(Self {
            base,
            mounts: base.dir.scope.mounts,
            last,
            missing: Missing::Refuse,
            chain: vec![Step { name: OsString::new(), dir: Arc::clone(&base.dir) }],
            pending,
            entered: Vec::new(),
            crossed: false,
            links: 0,
            created: 0,
        })
    }

    /// Walks to the end. Everything entered is compared with what is protected, as that is after the
    /// last handle was opened.
    pub(crate) fn run(&mut self) -> Result<Walked> {
        let mut end = End::Dir;
        while let Some(component) = self.pending.pop() {
            match component {
                Component::Parent => {
                    if self.chain.len() == 1 {
                        return Err(Reason::Outside);
                    }
                    self.chain.pop();
                }
                Component::Name(name) => end = self.enter(name)?,
            }
        }
        self.check(&end)?;
        Ok(Walked { chain: std::mem::take(&mut self.chain), end })
    }

    fn top(&self) -> Arc<Dir> {
        Arc::clone(&self.chain[self.chain.len() - 1].dir)
    }

    fn enter(&mut self, name: OsString) -> Result<End> {
        let top = self.top();
        let found = match sys::step(&top.fd, &name, OFlags::PATH, self.mounts) {
            Err(Errno::NOENT) if self.missing == Missing::Create => {
                self.create(&top, &name)?;
                sys::step(&top.fd, &name, OFlags::PATH, self.mounts)
            }
            Err(Errno::NOENT) if self.pending.is_empty() => return Ok(End::Missing { name }),
            other => other,
        };
        let Opened { fd, crossed } = found?;
        self.crossed = crossed;
        let meta = Meta::of(&fd)?;
        match meta.kind {
            Kind::Dir => {
                self.check_depth()?;
                self.entered.push((meta.id, crossed));
                let dir = Dir { fd, id: meta.id, scope: top.scope.clone() };
                self.chain.push(Step { name, dir: Arc::new(dir) });
                Ok(End::Dir)
            }
            Kind::Link if self.pending.is_empty() && self.last == Last::Keep => {
                Ok(End::Entry { name, meta })
            }
            Kind::Link => {
                self.links += 1;
                if self.links > PATH_LINKS_MAX {
                    return Err(Reason::TooManyLinks);
                }
                let text = rustix::fs::readlinkat(&fd, c"", Vec::new())?;
                let steps = match escape::target(text.to_bytes(), self.base.spellings())? {
                    Target::Here(steps) => steps,
                    Target::FromRoot(steps) => {
                        self.chain.truncate(1);
                        steps
                    }
                };
                self.pending.extend(steps.into_iter().rev());
                Ok(End::Dir)
            }
            Kind::File | Kind::Other if self.pending.is_empty() => Ok(End::Entry { name, meta }),
            Kind::File | Kind::Other => Err(Reason::NotADirectory),
        }
    }

    fn create(&mut self, top: &Dir, name: &std::ffi::OsStr) -> Result<()> {
        self.check_depth()?;
        // Nothing may be made inside a protected directory, so what was entered is checked first.
        self.check(&End::Missing { name: name.to_owned() })?;
        match rustix::fs::mkdirat(&top.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => self.created += 1,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Refuses one more directory below too many: links may lead deeper than the path has components,
    /// and each directory holds a handle.
    fn check_depth(&self) -> Result<()> {
        // The root is in the chain and no component.
        if PATH_COMPONENTS_MAX < self.chain.len() { Err(Reason::TooDeep) } else { Ok(()) }
    }

    fn check(&self, end: &End) -> Result<()> {
        let guarded = &self.base.dir.scope.guarded;
        guarded.refresh();
        for (id, crossed) in &self.entered {
            guarded.check_dir(*id, *crossed)?;
        }
        match end {
            End::Dir => Ok(()),
            End::Entry { meta, .. } => guarded.check_file_now(meta, self.crossed),
            End::Missing { name } => {
                guarded.check_birth(self.chain[self.chain.len() - 1].dir.id, name)
            }
        }
    }
}

/// Walks `path` and does something with its end, again while the tree changes in between.
pub(crate) fn with<T>(
    root: &Root,
    path: &WorkspacePath,
    last: Last,
    mut act: impl FnMut(Walked) -> Result<T>,
) -> Result<T, ConfineError> {
    for _ in 0..PATH_RETRIES_MAX {
        let walked = Walker::new(root, path, last).and_then(|mut walker| walker.run());
        match walked.and_then(&mut act) {
            Err(Reason::Busy) => {}
            other => return other.map_err(|reason| ConfineError::new(path, reason)),
        }
    }
    Err(ConfineError::new(path, Reason::Busy))
}
