//! The requests of a connection: what runs, what is over, and the order in which changes begin.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use vocab::limits::{
    REMOTE_CHARGE_BYTES_MIN, REMOTE_TOMBSTONE_MS, REMOTE_TOMBSTONES_MAX, REMOTE_WINDOW_BYTES,
};

use super::{
    gate::Permit,
    work::{At, Work},
};

/// A request that has not ended.
#[derive(Debug)]
pub(super) struct Live {
    /// Its places, given back with it.
    pub(super) _permits: Vec<Permit>,
    pub(super) content: Content,
    pub(super) nature: Nature,
    pub(super) cancelled: bool,
    /// Whether it is to end because its generation did.
    pub(super) retired: bool,
}

/// How far a request can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    Looks,
    Changes,
    /// It runs programs, which end with their generation.
    Runs,
}

/// What flows under a request's id besides its first and last message.
#[derive(Debug)]
pub(super) enum Content {
    /// Nothing.
    None,
    /// A write whose content is still coming.
    Gathering { at: At, size: u64, parts: Vec<Bytes>, flow: Inflow },
    /// An upload; after `finish`, nothing more may come.
    Feeding { flow: Inflow, finished: bool },
    /// Content for the client.
    Sending(Outflow),
    /// Progress of a call.
    Telling { offset: u64, gap: u64 },
}

/// What a piece is charged.
#[must_use]
pub fn charge(len: usize) -> u64 {
    (len as u64).max(REMOTE_CHARGE_BYTES_MIN)
}

/// Content that comes.
#[derive(Debug)]
pub struct Inflow {
    offset: u64,
    credit: u64,
    owed: u64,
}

impl Default for Inflow {
    fn default() -> Self {
        Self { offset: 0, credit: REMOTE_WINDOW_BYTES, owed: 0 }
    }
}

impl Inflow {
    /// Returns how many bytes have come.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes a piece in; false when it is out of place or beyond its credit.
    #[must_use]
    pub fn take(&mut self, offset: u64, len: usize) -> bool {
        let Some(credit) = self.credit.checked_sub(charge(len)) else { return false };
        if offset != self.offset {
            return false;
        }
        self.credit = credit;
        self.offset += len as u64;
        true
    }

    /// Says that a piece was used up; returns the credit to give, once it is worth a message.
    #[must_use]
    pub fn used(&mut self, charge: u64) -> Option<u64> {
        self.owed += charge;
        if self.owed < REMOTE_WINDOW_BYTES / 2 {
            return None;
        }
        let given = std::mem::take(&mut self.owed);
        self.credit += given;
        Some(given)
    }
}

/// Content that goes.
#[derive(Debug)]
pub struct Outflow {
    offset: u64,
    credit: u64,
}

impl Default for Outflow {
    fn default() -> Self {
        Self { offset: 0, credit: REMOTE_WINDOW_BYTES }
    }
}

impl Outflow {
    /// Tells whether a piece of that length may go.
    #[must_use]
    pub fn allows(&self, len: usize) -> bool {
        charge(len) <= self.credit
    }

    /// Lets a piece go and returns its offset.
    pub fn send(&mut self, len: usize) -> u64 {
        let offset = self.offset;
        self.credit = self.credit.saturating_sub(charge(len));
        self.offset += len as u64;
        offset
    }

    /// Takes credit.
    pub fn more(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_add(bytes);
    }
}

/// Ids that are over and may not be used again for a while.
#[derive(Debug, Default)]
pub(super) struct Tombs {
    known: HashSet<u64>,
    by_age: VecDeque<(Duration, u64)>,
}

impl Tombs {
    pub(super) fn insert(&mut self, id: u64, now: Duration) {
        if !self.known.insert(id) {
            return;
        }
        self.by_age.push_back((now, id));
        let oldest = now.saturating_sub(Duration::from_millis(REMOTE_TOMBSTONE_MS));
        while let Some(&(at, id)) = self.by_age.front() {
            if oldest <= at && self.by_age.len() <= REMOTE_TOMBSTONES_MAX {
                break;
            }
            self.by_age.pop_front();
            self.known.remove(&id);
        }
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.known.contains(&id)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_age.len()
    }
}

/// Changes that wait for the content of an earlier write, so that they begin in the order they were asked.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// `None` is the work of a write whose content is still coming.
    waiting: VecDeque<(u64, Option<Work>)>,
}

impl Order {
    /// Puts a write in the queue whose content is still coming.
    pub(super) fn expect(&mut self, id: u64) {
        self.waiting.push_back((id, None));
    }

    /// Returns work that may begin at once; else it waits.
    pub(super) fn pass(&mut self, id: u64, work: Work) -> Option<Work> {
        if let Some(waiting) = self.waiting.iter_mut().find(|(waiting, _)| *waiting == id) {
            waiting.1 = Some(work);
            return None;
        }
        if self.waiting.is_empty() || !work.changes() {
            return Some(work);
        }
        self.waiting.push_back((id, Some(work)));
        None
    }

    /// Takes a request out; true when it had not begun.
    pub(super) fn remove(&mut self, id: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(waiting, _)| *waiting != id);
        self.waiting.len() < before
    }

    /// Takes all out and returns them.
    pub(super) fn clear(&mut self) -> Vec<u64> {
        self.waiting.drain(..).map(|(id, _)| id).collect()
    }

    /// Returns the next work whose turn has come.
    pub(super) fn next(&mut self) -> Option<(u64, Work)> {
        match self.waiting.pop_front()? {
            (id, Some(work)) => Some((id, work)),
            (id, None) => {
                self.waiting.push_front((id, None));
                None
            }
        }
    }
}

/// The requests that have not ended.
pub(super) type Requests = HashMap<u64, Live>;
