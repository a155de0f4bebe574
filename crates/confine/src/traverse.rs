//! Walks everything below a directory, by handles only, on several threads, in one order.
//!
//! Results come out sorted by path whatever the threads did. Hidden files are met, `.git` is not,
//! links are reported and never descended. What matches is not decided here.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use vocab::{
    limits::{
        TRAVERSE_AHEAD_BYTES_MAX, TRAVERSE_DEPTH_MAX, TRAVERSE_DIR_ENTRIES_MAX,
        TRAVERSE_WORKERS_MAX,
    },
    path::WorkspacePath,
};

use crate::{
    dir::{self, Dir, DirEntry, Kind, Meta, OpenFile},
    error::{ConfineError, Reason, Result},
    ignored::Rules,
    root::Root,
    sys,
    walk::{self, End, Last, Walked},
};

mod order;
mod report;

use order::{Node, Slot};
pub use report::{Report, Skipped};

/// How to walk.
#[derive(Debug, Clone)]
pub struct Traverse {
    /// Whether ignore rules hold.
    pub ignore: bool,
    /// Threads, the calling one included; none means one per processor.
    pub threads: Option<usize>,
    /// Levels below the start; 1 means only its own entries.
    pub max_depth: usize,
    /// Ends the walk when set.
    pub cancel: Arc<AtomicBool>,
    /// Bytes that results hold which are not delivered yet: visitors add to it and the receiver takes
    /// from it. When they are many, threads do only what is needed next.
    pub held: Arc<AtomicUsize>,
}

impl Default for Traverse {
    fn default() -> Self {
        Self {
            ignore: true,
            threads: None,
            max_depth: TRAVERSE_DEPTH_MAX,
            cancel: Arc::default(),
            held: Arc::default(),
        }
    }
}

/// Whether the receiver of results wants more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Continue,
    /// That is enough.
    Stop,
}

/// Something met on a walk.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The open directory that holds it.
    pub dir: &'a Dir,
    /// Its name there.
    pub name: &'a OsStr,
    /// What it is; links are not followed.
    pub kind: Kind,
    /// Its path from the start of the walk, for print and patterns.
    pub path: &'a Path,
}

impl Entry<'_> {
    /// Opens it as a regular file.
    ///
    /// # Errors
    /// When it is none (any more), protected, or not readable.
    pub fn open(&self) -> Result<OpenFile> {
        self.dir.open_file(self.name)
    }

    /// Asks the system about it.
    ///
    /// # Errors
    /// When it is gone.
    pub fn stat(&self) -> Result<Meta> {
        self.dir.stat(self.name)
    }
}

/// A directory whose entries are being met.
#[derive(Debug)]
struct Place {
    dir: Arc<Dir>,
    /// Its path from the root, with a separator at the end unless empty.
    prefix: Vec<u8>,
    rules: Rules,
    depth: usize,
}

/// Something for a thread to do.
#[derive(Debug)]
enum Work {
    /// Read a directory that is open.
    List(Place),
    /// Open a directory and read it.
    Open { parent: Arc<Place>, name: std::ffi::OsString },
    /// Visit some entries.
    Visit { parent: Arc<Place>, entries: Vec<DirEntry> },
}

/// Entries that one task visits. Fewer cost more in handing around, more leave threads idle.
const CHUNK: usize = 24;

/// What all threads of a walk share.
struct Shared<'a> {
    options: &'a Traverse,
    /// Length of the start's own path from the root.
    start: usize,
    stop: AtomicBool,
    visited: AtomicUsize,
    ignored: AtomicUsize,
    unreadable: AtomicUsize,
    protected: AtomicUsize,
    other_mount: AtomicUsize,
    too_deep: AtomicUsize,
    oversized: AtomicUsize,
}

impl Traverse {
    /// Visits everything below `start`; a file as start is visited alone.
    ///
    /// `visitor` makes one visitor per thread; visitors run in any order. `deliver` gets what they
    /// return on the calling thread, sorted by path.
    ///
    /// # Errors
    /// When the start cannot be reached. What cannot be read below it is counted.
    pub fn run<T: Send, V: FnMut(&Entry<'_>) -> Option<T>>(
        &self,
        root: &Root,
        start: &WorkspacePath,
        visitor: impl Fn() -> V + Sync,
        deliver: impl FnMut(T) -> Flow,
    ) -> Result<Report, ConfineError> {
        let (work, prefix) = walk::with(root, start, Last::Follow, |walked| self.start(walked))?;
        let shared = Shared::new(self, prefix);
        let threads = self.threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let threads = threads.clamp(1, TRAVERSE_WORKERS_MAX);
        let run = |visit: &mut V, work: Work| shared.run(visit, work);
        order::drive(work, (threads, &*self.held), (&visitor, &run), deliver, || {
            shared.stop.store(true, Ordering::Relaxed);
        });
        Ok(shared.report())
    }

    /// Finds the first work, with the rules of the directories above it.
    fn start(&self, walked: Walked) -> Result<(Work, usize)> {
        let (mut rules, mut prefix) = (Rules::default(), Vec::new());
        let count = walked.chain.len();
        let mut place = None;
        for (index, step) in walked.chain.into_iter().enumerate() {
            prefix.extend_from_slice(step.name.as_bytes());
            if index > 0 {
                prefix.push(b'/');
            }
            let above = index + 1 < count;
            if self.ignore && (above || !matches!(walked.end, End::Dir)) {
                // A directory above that cannot be listed has no rules to give.
                let entries = step.dir.entries(TRAVERSE_DIR_ENTRIES_MAX).unwrap_or_default();
                rules = rules.enter(&step.dir, &entries, prefix.len());
            }
            if !above {
                let (prefix, rules) = (prefix.clone(), rules.clone());
                place = Some(Place { dir: step.dir, prefix, rules, depth: 0 });
            }
        }
        let place = place.ok_or(Reason::NotFound)?;
        let len = place.prefix.len();
        match walked.end {
            End::Dir => Ok((Work::List(place), len)),
            End::Entry { name, meta } => {
                let entries = vec![DirEntry { name, kind: meta.kind }];
                Ok((Work::Visit { parent: Arc::new(place), entries }, len))
            }
            End::Missing { .. } => Err(Reason::NotFound),
        }
    }
}

impl<'a> Shared<'a> {
    fn new(options: &'a Traverse, start: usize) -> Self {
        Self {
            options,
            start,
            stop: AtomicBool::new(false),
            visited: AtomicUsize::new(0),
            ignored: AtomicUsize::new(0),
            unreadable: AtomicUsize::new(0),
            protected: AtomicUsize::new(0),
            other_mount: AtomicUsize::new(0),
            too_deep: AtomicUsize::new(0),
            oversized: AtomicUsize::new(0),
        }
    }

    fn report(&self) -> Report {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Report {
            visited: count(&self.visited),
            skipped: Skipped {
                ignored: count(&self.ignored),
                unreadable: count(&self.unreadable),
                protected: count(&self.protected),
                other_mount: count(&self.other_mount),
                too_deep: count(&self.too_deep),
                oversized: count(&self.oversized),
            },
            stopped: self.is_stopped(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.options.cancel.load(Ordering::Relaxed)
    }

    fn run<T>(
        &self,
        visit: &mut impl FnMut(&Entry<'_>) -> Option<T>,
        work: Work,
    ) -> Vec<Slot<T, Work>> {
        let mut slots = Vec::new();
        if self.is_stopped() {
            return slots;
        }
        match work {
            Work::Visit { parent, entries } => self.visit(visit, &parent, &entries, &mut slots),
            Work::List(place) => {
                let listed = sys::readable(&place.dir.fd)
                    .map_err(Reason::from)
                    .and_then(|fd| dir::read_entries(&fd, TRAVERSE_DIR_ENTRIES_MAX));
                self.expand(visit, place, listed, &mut slots);
            }
            Work::Open { parent, name } => match parent.dir.open_dir(&name) {
                Ok(dir) => {
                    let listed = dir::read_entries(&dir.fd, TRAVERSE_DIR_ENTRIES_MAX);
                    let prefix = [&parent.prefix, name.as_bytes(), b"/"].concat();
                    let (rules, depth) = (parent.rules.clone(), parent.depth + 1);
                    let place = Place { dir: Arc::new(dir), prefix, rules, depth };
                    self.expand(visit, place, listed, &mut slots);
                }
                Err(reason) => self.count(&reason),
            },
        }
        slots
    }

    fn count(&self, reason: &Reason) {
        // Removed or replaced since its name was read: as if it had never been met.
        if matches!(reason, Reason::NotFound | Reason::NotADirectory | Reason::TooManyLinks) {
            return;
        }
        let known = [
            (Reason::Protected, &self.protected),
            (Reason::OtherMount, &self.other_mount),
            (Reason::TooManyEntries, &self.oversized),
        ];
        let counter = known
            .into_iter()
            .find_map(|(known, counter)| (known == *reason).then_some(counter))
            .unwrap_or(&self.unreadable);
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Turns a directory's entries into results and further work, in order.
    fn expand<T>(
        &self,
        visit: &mut impl FnMut(&Entry<'_>) -> Option<T>,
        mut place: Place,
        listed: Result<Vec<DirEntry>>,
        slots: &mut Vec<Slot<T, Work>>,
    ) {
        let mut entries = match listed {
            Ok(entries) => entries,
            Err(reason) => return self.count(&reason),
        };
        self.keep(&mut place, &mut entries);
        let place = Arc::new(place);
        let inline = entries.len() <= CHUNK;
        let mut batch = Vec::new();
        let mut flush = |batch: &mut Vec<DirEntry>, slots: &mut Vec<Slot<T, Work>>| {
            let entries = std::mem::take(batch);
            if inline {
                self.visit(visit, &place, &entries, slots);
            } else if !entries.is_empty() {
                let work = Work::Visit { parent: Arc::clone(&place), entries };
                slots.push(Slot::Later(Node::new(work)));
            }
        };
        for entry in entries {
            let descend = entry.kind == Kind::Dir;
            let name = descend.then(|| entry.name.clone());
            batch.push(entry);
            if descend || batch.len() == CHUNK {
                flush(&mut batch, slots);
            }
            let Some(name) = name else { continue };
            if place.depth + 1 >= self.options.max_depth.min(TRAVERSE_DEPTH_MAX) {
                // A caller's own limit is no omission.
                let counted = usize::from(place.depth + 1 >= TRAVERSE_DEPTH_MAX);
                self.too_deep.fetch_add(counted, Ordering::Relaxed);
                continue;
            }
            let work = Work::Open { parent: Arc::clone(&place), name };
            slots.push(Slot::Later(Node::new(work)));
        }
        flush(&mut batch, slots);
    }

    /// Drops what is ignored, and `.git`.
    fn keep(&self, place: &mut Place, entries: &mut Vec<DirEntry>) {
        if self.options.ignore {
            place.rules = place.rules.enter(&place.dir, entries, place.prefix.len());
        }
        let mut path = place.prefix.clone();
        entries.retain(|entry| {
            if entry.name.as_bytes() == b".git" {
                return false;
            }
            path.truncate(place.prefix.len());
            path.extend_from_slice(entry.name.as_bytes());
            let ignored = place.rules.ignores(&path, entry.kind == Kind::Dir);
            self.ignored.fetch_add(usize::from(ignored), Ordering::Relaxed);
            !ignored
        });
    }

    fn visit<T>(
        &self,
        visit: &mut impl FnMut(&Entry<'_>) -> Option<T>,
        parent: &Arc<Place>,
        entries: &[DirEntry],
        slots: &mut Vec<Slot<T, Work>>,
    ) {
        let mut path = parent.prefix[self.start..].to_vec();
        let prefix = path.len();
        for (index, entry) in entries.iter().enumerate() {
            if self.is_stopped() {
                return;
            }
            let is_full = TRAVERSE_AHEAD_BYTES_MAX <= self.options.held.load(Ordering::Relaxed);
            if is_full && index > 0 {
                // The rest comes when its turn has come.
                let entries = entries[index..].to_vec();
                let rest = Work::Visit { parent: Arc::clone(parent), entries };
                slots.push(Slot::Later(Node::new(rest)));
                return;
            }
            path.truncate(prefix);
            path.extend_from_slice(entry.name.as_bytes());
            self.visited.fetch_add(1, Ordering::Relaxed);
            let found = visit(&Entry {
                dir: &parent.dir,
                name: &entry.name,
                kind: entry.kind,
                path: Path::new(OsStr::from_bytes(&path)),
            });
            slots.extend(found.map(Slot::Ready));
        }
    }
}

#[cfg(test)]
mod tests;
