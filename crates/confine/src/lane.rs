//! One change at a time per file, in the order in which they were asked for.
//!
//! A lane is the file's directory and name, not its inode: publication gives the name a new inode,
//! and whoever waited for the old one must still come before whoever asks for the new one. The lanes
//! are those of the process, so that all roots over one directory share them.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    ffi::OsString,
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
};

use vocab::limits::LANE_WAITERS_MAX;

use crate::{dir::FileId, error::Reason};

/// Names a lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaneKey {
    pub(crate) dir: FileId,
    pub(crate) name: OsString,
}

/// A position in a lane. Dropping it gives the position up.
#[derive(Debug)]
pub struct Ticket {
    key: LaneKey,
    number: u64,
}

/// The first position of a lane. Dropping it lets the next one in.
#[derive(Debug)]
pub struct Guard(#[expect(dead_code, reason = "held for its drop")] Ticket);

#[derive(Default)]
struct Table {
    lanes: HashMap<LaneKey, VecDeque<u64>>,
    next: u64,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);
static MOVED: Condvar = Condvar::new();

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the next position in a lane without waiting.
///
/// # Errors
/// When too many wait there already.
pub fn register(key: LaneKey) -> Result<Ticket, Reason> {
    let mut table = table();
    table.next += 1;
    let number = table.next;
    let lane = table.lanes.entry(key.clone()).or_default();
    if lane.len() >= LANE_WAITERS_MAX {
        return Err(Reason::LaneFull);
    }
    lane.push_back(number);
    Ok(Ticket { key, number })
}

/// Acts on a directory in which no lane is, and keeps it so meanwhile. False where there is one.
pub(crate) fn unless_used(dir: FileId, act: impl FnOnce() -> bool) -> bool {
    let table = table();
    table.lanes.keys().all(|key| key.dir != dir) && act()
}

impl Ticket {
    /// Waits until every earlier position is given up.
    #[must_use]
    pub fn wait(self) -> Guard {
        let mut table = table();
        while !self.is_first(&table) {
            table = MOVED.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
        drop(table);
        Guard(self)
    }

    /// Enters if every earlier position is given up already.
    ///
    /// # Errors
    /// Gives the ticket back when somebody is before it.
    pub fn try_enter(self) -> Result<Guard, Self> {
        if self.is_first(&table()) { Ok(Guard(self)) } else { Err(self) }
    }

    fn is_first(&self, table: &Table) -> bool {
        table.lanes.get(&self.key).and_then(VecDeque::front) == Some(&self.number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut table = table();
        if let Entry::Occupied(mut lane) = table.lanes.entry(self.key.clone()) {
            lane.get_mut().retain(|number| *number != self.number);
            if lane.get().is_empty() {
                lane.remove();
            }
        }
        MOVED.notify_all();
    }
}

#[cfg(test)]
mod tests;
