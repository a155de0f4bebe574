//! Who may begin: places that are counted, per connection and for the whole runtime.
//!
//! A place is a value; it is given back once, when the value goes.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use vocab::limits::{
    REMOTE_CALLS_ALL_MAX, REMOTE_CALLS_MAX, REMOTE_CONNECTIONS_MAX, REMOTE_GATHERED_ALL_BYTES_MAX,
    REMOTE_GATHERED_BYTES_MAX, REMOTE_TRANSFERS_ALL_MAX, REMOTE_TRANSFERS_MAX,
};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Connections, held ones included.
    Connections,
    /// Requests that run, transfers left out.
    Calls,
    /// Uploads.
    Uploads,
    /// Downloads.
    Downloads,
    /// Bytes of writes that are still coming.
    Gathered,
}

/// How many places there are of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    /// Connections.
    pub connections: u64,
    /// Requests.
    pub calls: u64,
    /// Uploads, and as many downloads.
    pub transfers: u64,
    /// Bytes.
    pub gathered: u64,
}

impl Places {
    /// Returns what one connection may take.
    #[must_use]
    pub const fn of_connection() -> Self {
        Self {
            connections: 1,
            calls: REMOTE_CALLS_MAX,
            transfers: REMOTE_TRANSFERS_MAX,
            gathered: REMOTE_GATHERED_BYTES_MAX,
        }
    }

    /// Returns what all connections of a runtime may take together.
    #[must_use]
    pub const fn of_runtime() -> Self {
        Self {
            connections: REMOTE_CONNECTIONS_MAX,
            calls: REMOTE_CALLS_ALL_MAX,
            transfers: REMOTE_TRANSFERS_ALL_MAX,
            gathered: REMOTE_GATHERED_ALL_BYTES_MAX,
        }
    }

    fn of(&self, room: Room) -> u64 {
        match room {
            Room::Connections => self.connections,
            Room::Calls => self.calls,
            Room::Uploads | Room::Downloads => self.transfers,
            Room::Gathered => self.gathered,
        }
    }
}

/// Counts places. Clones count together.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Counted>);

#[derive(Debug)]
struct Counted {
    places: Places,
    taken: [AtomicU64; 5],
}

/// Places that are taken until this goes.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    gate: Gate,
    room: Room,
    count: u64,
}

impl Gate {
    /// Builds a gate with so many places.
    #[must_use]
    pub fn new(places: Places) -> Self {
        Self(Arc::new(Counted { places, taken: [const { AtomicU64::new(0) }; 5] }))
    }

    /// Returns how many places there are.
    #[must_use]
    pub fn places(&self) -> Places {
        self.0.places
    }

    fn count(&self, room: Room) -> &AtomicU64 {
        &self.0.taken[room as usize]
    }

    /// Returns how many places are taken.
    #[must_use]
    pub fn taken(&self, room: Room) -> u64 {
        self.count(room).load(Ordering::SeqCst)
    }

    /// Takes places, all or none.
    #[must_use]
    pub fn take(&self, room: Room, count: u64) -> Option<Permit> {
        let max = self.0.places.of(room);
        let more = |taken: u64| taken.checked_add(count).filter(|taken| *taken <= max);
        let taken = self.count(room).fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        taken.ok().map(|_| Permit { gate: self.clone(), room, count })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.count(self.room).fetch_sub(self.count, Ordering::SeqCst);
    }
}
