//! What a disk holds under a database: what was synced, what was not, and when it fails.

#![expect(clippy::disallowed_methods, reason = "restores the files of the database under test")]

use std::{collections::HashMap, ffi::c_int, fs, path::PathBuf};

use rusqlite::ffi;

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails once; a failed sync also makes the kernel forget what it was to bring to the disk.
    IoOnce,
    /// It and all later ones fail.
    IoFromThere,
    /// A write finds no room, once.
    FullOnce,
    /// No write finds room from there on.
    FullFromThere,
    /// Half of a write happens, then it fails.
    Short,
    /// The process dies: nothing reaches the files from there on.
    Kill,
    /// The power goes: what was not synced is lost, or a part of it.
    PowerLoss,
}

/// A write or cut that is not synced yet.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// What a disk holds of one file.
#[derive(Debug, Default)]
pub(crate) struct Platter {
    pub(crate) synced: Vec<u8>,
    pub(crate) pending: Vec<Change>,
}

impl Platter {
    pub(crate) fn change(&mut self, change: Change) {
        match change {
            Change::Write(at, bytes) => {
                if self.synced.len() < at + bytes.len() {
                    self.synced.resize(at + bytes.len(), 0);
                }
                self.synced[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            Change::Truncate(len) => self.synced.truncate(len),
        }
    }
}

/// The disk under one database.
#[derive(Debug)]
pub(crate) struct Disk {
    /// Operations that changed the disk so far.
    pub(crate) ops: u64,
    /// Those of them that were syncs.
    pub(crate) syncs: u64,
    /// Nothing reaches the files any more.
    pub(crate) dead: bool,
    fault: Option<(u64, Fault)>,
    pub(crate) files: HashMap<PathBuf, Platter>,
}

/// What becomes of an operation.
pub(crate) enum Verdict {
    Pass,
    Fail(c_int),
    Half(c_int),
}

impl Disk {
    pub(crate) fn new(fault: Option<(u64, Fault)>) -> Self {
        Self { ops: 0, syncs: 0, dead: false, fault, files: HashMap::new() }
    }

    pub(crate) fn judge(&mut self, is_sync: bool) -> Verdict {
        if self.dead {
            return Verdict::Fail(ffi::SQLITE_IOERR);
        }
        self.ops += 1;
        self.syncs += u64::from(is_sync);
        let Some((at, fault)) = self.fault else { return Verdict::Pass };
        let (now, since) = (self.ops == at, self.ops >= at);
        let strikes = match fault {
            Fault::IoOnce | Fault::Short | Fault::Kill | Fault::PowerLoss => now,
            Fault::IoFromThere => since,
            Fault::FullOnce => now && !is_sync,
            Fault::FullFromThere => since && !is_sync,
        };
        if !strikes {
            return Verdict::Pass;
        }
        match fault {
            Fault::IoOnce | Fault::IoFromThere => Verdict::Fail(ffi::SQLITE_IOERR),
            Fault::FullOnce | Fault::FullFromThere => Verdict::Fail(ffi::SQLITE_FULL),
            Fault::Short => Verdict::Half(ffi::SQLITE_IOERR),
            Fault::Kill | Fault::PowerLoss => {
                self.dead = true;
                Verdict::Half(ffi::SQLITE_IOERR)
            }
        }
    }

    /// Puts on the files what a disk holds after the power went; `keep` says which unsynced writes made it.
    pub(crate) fn lose_power(&mut self, mut keep: impl FnMut() -> bool) {
        for (path, mut platter) in self.files.drain() {
            for change in std::mem::take(&mut platter.pending) {
                if keep() {
                    platter.change(change);
                }
            }
            fs::write(&path, &platter.synced).unwrap();
        }
    }
}
