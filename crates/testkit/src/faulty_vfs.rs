//! A file layer for SQLite that fails, dies or loses power at the n-th operation that changes a disk.
//!
//! It passes everything to the usual layer and keeps, for each file, what a disk would hold: what was
//! synced, and the writes that were not. Shared memory and locks are passed through untouched.

#![expect(unsafe_code, reason = "SQLite's file layer is a table of C functions")]
#![expect(
    clippy::disallowed_methods,
    reason = "reads and restores the files of the database under test"
)]
#![expect(clippy::unwrap_used, reason = "a layer that cannot do its work is a failed test")]

use std::{
    collections::HashMap,
    ffi::{CStr, CString, c_char, c_int},
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rusqlite::ffi;

mod methods;

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
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

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

#[derive(Debug, Default)]
struct Platter {
    synced: Vec<u8>,
    pending: Vec<Change>,
}

impl Platter {
    fn change(&mut self, change: Change) {
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
pub struct Disk {
    /// Operations that changed the disk so far.
    pub ops: u64,
    /// Those of them that were syncs.
    pub syncs: u64,
    /// Nothing reaches the files any more.
    pub dead: bool,
    fault: Option<(u64, Fault)>,
    files: HashMap<PathBuf, Platter>,
}

enum Verdict {
    Pass,
    Fail(c_int),
    Half(c_int),
}

impl Disk {
    fn judge(&mut self, is_sync: bool) -> Verdict {
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

    /// Lets a fault begin with the next operation.
    pub fn fail_from_now(&mut self, fault: Fault) {
        self.fault = Some((self.ops + 1, fault));
    }

    /// Ends every fault that the disk outlives.
    pub fn heal(&mut self) {
        self.fault = None;
    }

    /// Puts on the files what a disk holds after the power went; `keep` says which unsynced writes made it.
    pub fn lose_power(&mut self, mut keep: impl FnMut() -> bool) {
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

/// A registered layer; it lives as long as the process, as connections may still end in other threads.
#[derive(Debug, Clone, Copy)]
pub struct Layer {
    disk: &'static Mutex<Disk>,
    /// The name that a connection asks for it by.
    pub name: &'static str,
}

impl Layer {
    /// Returns its disk.
    pub fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct App {
    disk: &'static Mutex<Disk>,
    real: *mut ffi::sqlite3_vfs,
}

#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    disk: &'static Mutex<Disk>,
    path: *mut PathBuf,
    real: *mut ffi::sqlite3_file,
}

/// Registers a layer with its own disk, on which `fault` happens at operation `at`, counted from 1.
pub fn register(name: &str, fault: Option<(u64, Fault)>) -> Layer {
    let disk = Disk { ops: 0, syncs: 0, dead: false, fault, files: HashMap::new() };
    let disk: &'static Mutex<Disk> = Box::leak(Box::new(Mutex::new(disk)));
    // SAFETY: a null name asks for the default layer, which lives as long as the process.
    let real = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
    assert!(!real.is_null());
    // SAFETY: just checked; the table is plain data and never changes.
    let mut vfs = unsafe { *real };
    vfs.szOsFile += c_int::try_from(size_of::<File>()).unwrap();
    vfs.zName = CString::new(name).unwrap().into_raw();
    vfs.pAppData = Box::into_raw(Box::new(App { disk, real })).cast();
    vfs.pNext = std::ptr::null_mut();
    vfs.xOpen = Some(open);
    vfs.xDelete = Some(delete);
    // SAFETY: the table is leaked, so it outlives every connection.
    let done = unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 0) };
    assert_eq!(done, ffi::SQLITE_OK);
    Layer { disk, name: Box::leak(name.to_owned().into_boxed_str()) }
}

fn app(vfs: *mut ffi::sqlite3_vfs) -> &'static App {
    // SAFETY: SQLite hands back the table that `register` leaked.
    let data = unsafe { (*vfs).pAppData };
    // SAFETY: `register` put a leaked `App` there.
    unsafe { &*data.cast::<App>() }
}

fn path_of(name: *const c_char) -> PathBuf {
    // SAFETY: SQLite passes a text that ends in a zero byte.
    let text = unsafe { CStr::from_ptr(name) };
    PathBuf::from(text.to_str().unwrap())
}

fn wrapped(file: *mut ffi::sqlite3_file) -> &'static File {
    // SAFETY: only files that `open` filled in have our table of methods.
    unsafe { &*file.cast::<File>() }
}

fn lock(disk: &'static Mutex<Disk>) -> MutexGuard<'static, Disk> {
    disk.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let app = app(vfs);
    // SAFETY: SQLite allocated `szOsFile` bytes, ours first and the real layer's behind them.
    let real = unsafe { file.cast::<u8>().add(size_of::<File>()) }.cast::<ffi::sqlite3_file>();
    // SAFETY: every layer has this function.
    let inner = unsafe { (*app.real).xOpen.unwrap() };
    // SAFETY: the same arguments, for the layer they are meant for.
    let done = unsafe { inner(app.real, name, real, flags, out) };
    let mut opened = File {
        base: ffi::sqlite3_file { pMethods: std::ptr::null() },
        disk: app.disk,
        path: std::ptr::null_mut(),
        real,
    };
    if done == ffi::SQLITE_OK {
        let path = if name.is_null() { PathBuf::from("temporary") } else { path_of(name) };
        if !name.is_null() {
            let synced = fs::read(&path).unwrap_or_default();
            let fresh = Platter { synced, pending: Vec::new() };
            lock(app.disk).files.entry(path.clone()).or_insert(fresh);
        }
        opened.path = Box::into_raw(Box::new(path));
        opened.base.pMethods = &raw const methods::METHODS;
    }
    // SAFETY: the place is ours to fill, and nothing was there before.
    unsafe { file.cast::<File>().write(opened) };
    done
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_dir: c_int,
) -> c_int {
    let app = app(vfs);
    let mut disk = lock(app.disk);
    if disk.dead {
        return ffi::SQLITE_IOERR;
    }
    disk.files.remove(&path_of(name));
    drop(disk);
    // SAFETY: every layer has this function.
    let inner = unsafe { (*app.real).xDelete.unwrap() };
    // SAFETY: the same arguments, for the layer they are meant for.
    unsafe { inner(app.real, name, sync_dir) }
}
