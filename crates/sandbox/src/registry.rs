//! Which children of this process are ours to wait for, and which are orphans it inherited.
//!
//! A subreaper gets the orphans of all scopes as its own children. Whoever waits for "any child" would
//! steal exit codes, so nobody does: each direct child is waited for by the call that started it, and
//! only a dead child that no call started is reaped here, by pid. A start holds the gate for reading
//! until its child is entered; a sweep holds it for writing, so it never sees a child that is not yet in
//! the book.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::proc_fs::{self, Process};

static GATE: RwLock<()> = RwLock::new(());
static BOOK: Mutex<Book> = Mutex::new(Book {
    direct: BTreeSet::new(),
    abandoned: BTreeSet::new(),
    adopted: BTreeMap::new(),
    parents: Parents { now: 0, most: 0 },
});
static CALLS: AtomicU64 = AtomicU64::new(1);

#[derive(Debug)]
struct Book {
    /// Children started here and not waited for yet.
    direct: BTreeSet<u32>,
    /// Those of them that nobody waits for any more.
    abandoned: BTreeSet<u32>,
    /// Living orphans that were looked at once, with their start time.
    adopted: BTreeMap<u32, u64>,
    parents: Parents,
}

/// Scopes that gave birth and have not ended: an orphan belongs to one of them.
#[derive(Debug, PartialEq, Eq)]
struct Parents {
    now: usize,
    /// How many there were at a time since there was none.
    most: usize,
}

fn book() -> MutexGuard<'static, Book> {
    // The book is consistent between any two statements, so a panic elsewhere does not spoil it.
    BOOK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child under the gate and enters it.
pub(crate) fn enter<T, E>(start: impl FnOnce() -> Result<(u32, T), E>) -> Result<T, E> {
    let _open = GATE.read().unwrap_or_else(PoisonError::into_inner);
    let (pid, started) = start()?;
    book().direct.insert(pid);
    Ok(started)
}

/// Strikes out a child that was waited for.
pub(crate) fn leave(pid: u32) {
    book().direct.remove(&pid);
}

/// Notes that a child has nobody left who would wait for it; a sweep does once it is dead.
pub(crate) fn abandon(pid: u32) {
    let mut book = book();
    if book.direct.contains(&pid) {
        book.abandoned.insert(pid);
    }
}

/// Tells whether a call started this child and has not waited for it.
pub(crate) fn is_direct(pid: u32) -> bool {
    book().direct.contains(&pid)
}

/// Returns a number no other call of this process has.
pub(crate) fn next_call() -> u64 {
    CALLS.fetch_add(1, Ordering::Relaxed)
}

/// Notes that a scope gives birth for the first time.
pub(crate) fn parent_came() {
    let parents = &mut book().parents;
    parents.now += 1;
    parents.most = parents.most.max(parents.now);
}

/// Returns how many scopes with children remain.
pub(crate) fn parent_went() -> usize {
    let parents = &mut book().parents;
    parents.now = parents.now.saturating_sub(1);
    if parents.now == 0 {
        parents.most = 0;
    }
    parents.now
}

/// Tells whether one scope alone gave birth, so that every orphan is its own: there is no other, and the
/// last of the others did not leave any behind.
pub(crate) fn is_only_parent() -> bool {
    book().parents == Parents { now: 1, most: 1 }
}

/// Tells whether an orphan came to us that nobody has looked at. True where the kernel cannot tell.
pub(crate) fn has_unknown_orphans() -> bool {
    let Some(children) = proc_fs::adopted_children() else { return true };
    let book = book();
    children.iter().any(|pid| !book.direct.contains(pid) && !book.adopted.contains_key(pid))
}

/// Reaps the dead among inherited orphans, for whoever hears that some child has died. Nobody else would:
/// those of jobs are no call's, and a zombie looks alive to a program that waits for its pid to go.
pub(crate) fn reap_orphans() {
    let _shut = GATE.write().unwrap_or_else(PoisonError::into_inner);
    let direct = book().direct.clone();
    let orphans = proc_fs::adopted_children().unwrap_or_default();
    for pid in orphans.into_iter().filter(|pid| !direct.contains(pid)) {
        if proc_fs::process(pid).is_some_and(|process| process.zombie) {
            reap(pid);
        }
    }
}

/// Reaps the dead among inherited orphans and abandoned children, and remembers the living orphans as
/// looked at.
pub(crate) fn sweep() {
    let _shut = GATE.write().unwrap_or_else(PoisonError::into_inner);
    let mut book = book();
    let mut living = BTreeMap::new();
    for pid in proc_fs::adopted_children().unwrap_or_default() {
        if book.direct.contains(&pid) {
            continue;
        }
        match proc_fs::process(pid) {
            Some(Process { zombie: true, .. }) => reap(pid),
            Some(process) => {
                living.insert(pid, process.started);
            }
            None => {}
        }
    }
    book.adopted = living;
    for pid in book.abandoned.clone() {
        // While it is in the book nobody has waited for it, so the number is still its own.
        if proc_fs::process(pid).is_none_or(|process| process.zombie) {
            reap(pid);
            book.direct.remove(&pid);
            book.abandoned.remove(&pid);
        }
    }
}

/// Waits for one dead child by its pid.
fn reap(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It is a zombie child of ours; the only other outcome is that it is gone already.
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG).ok();
    }
}

static DETACHED: AtomicBool = AtomicBool::new(false);

/// Notes that a child was started which outlives us: from now on an orphan may be one of its own.
pub(crate) fn detach() {
    DETACHED.store(true, Ordering::SeqCst);
}

/// Returns living orphans that came to us from somebody; none once a child was detached, whose they may
/// be. Only where one scope alone gave birth are they all its own.
pub(crate) fn unclaimed(since: u64) -> Vec<Process> {
    if DETACHED.load(Ordering::SeqCst) || !crate::probe::is_subreaper() {
        return Vec::new();
    }
    let orphans = proc_fs::adopted_children().unwrap_or_default();
    orphans
        .into_iter()
        .filter(|pid| !is_direct(*pid))
        .filter_map(proc_fs::process)
        .filter(|orphan| !orphan.zombie && orphan.started >= since)
        .collect()
}
