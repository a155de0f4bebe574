//! A file layer for SQLite that fails, dies or loses power at the n-th operation that changes a disk.
//!
//! It passes everything to the usual layer and keeps, for each file, what a disk would hold: what was
//! synced, and the writes that were not. Shared memory and locks are passed through untouched.

#![expect(unsafe_code, reason = "SQLite's file layer is a table of C functions")]
#![expect(clippy::disallowed_methods, reason = "reads the files of the database under test")]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rusqlite::ffi;

use crate::disk::{Change, Disk, Fault, Platter, Verdict};

/// A registered layer; it lives as long as the process, as connections may still end in other threads.
#[derive(Clone, Copy)]
pub(crate) struct Layer {
    disk: &'static Mutex<Disk>,
    pub(crate) name: &'static str,
}

impl Layer {
    pub(crate) fn disk(&self) -> MutexGuard<'_, Disk> {
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
pub(crate) fn register(name: &str, fault: Option<(u64, Fault)>) -> Layer {
    let disk = Disk::new(fault);
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
        opened.base.pMethods = &raw const METHODS;
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

/// Calls a method of the real file.
macro_rules! real {
    ($file:expr, $method:ident $(, $arg:expr)*) => {{
        let real = wrapped($file).real;
        // SAFETY: the real layer opened this file and filled in its methods.
        let methods = unsafe { &*(*real).pMethods };
        let method = methods.$method.unwrap();
        // SAFETY: the same arguments that SQLite gave us, for the file behind ours.
        unsafe { method(real $(, $arg)*) }
    }};
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let path = wrapped(file).path;
    let done = real!(file, xClose);
    // SAFETY: `open` made this box, and a file is closed once.
    drop(unsafe { Box::from_raw(path) });
    done
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    len: c_int,
    at: i64,
) -> c_int {
    let ours = wrapped(file);
    let mut disk = lock(ours.disk);
    let (len, code) = match disk.judge(false) {
        Verdict::Pass => (len, ffi::SQLITE_OK),
        Verdict::Fail(code) => return code,
        Verdict::Half(code) => (len / 2, code),
    };
    // SAFETY: SQLite passes at least so many bytes.
    let copy =
        unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), usize::try_from(len).unwrap()) };
    // SAFETY: `open` made this path, `close` takes it.
    let path = unsafe { &*ours.path };
    if let Some(platter) = disk.files.get_mut(path) {
        platter.pending.push(Change::Write(usize::try_from(at).unwrap(), copy.to_vec()));
    }
    drop(disk);
    let done = real!(file, xWrite, bytes, len, at);
    if done == ffi::SQLITE_OK { code } else { done }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    let ours = wrapped(file);
    let mut disk = lock(ours.disk);
    if let Verdict::Fail(code) | Verdict::Half(code) = disk.judge(false) {
        return code;
    }
    // SAFETY: `open` made this path, `close` takes it.
    let path = unsafe { &*ours.path };
    if let Some(platter) = disk.files.get_mut(path) {
        platter.pending.push(Change::Truncate(usize::try_from(size).unwrap()));
    }
    drop(disk);
    real!(file, xTruncate, size)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    let ours = wrapped(file);
    let mut disk = lock(ours.disk);
    let verdict = disk.judge(true);
    // SAFETY: `open` made this path, `close` takes it.
    let path = unsafe { &*ours.path };
    let Some(platter) = disk.files.get_mut(path) else { return ffi::SQLITE_OK };
    match verdict {
        // The real sync is left out: this disk is the one that counts.
        Verdict::Pass => {
            for change in std::mem::take(&mut platter.pending) {
                platter.change(change);
            }
            ffi::SQLITE_OK
        }
        Verdict::Fail(code) | Verdict::Half(code) => {
            // A kernel marks the pages of a failed sync clean, so the next sync does not bring them.
            if !disk.dead {
                forget(&mut disk, path);
            }
            code
        }
    }
}

fn forget(disk: &mut Disk, path: &PathBuf) {
    if let Some(platter) = disk.files.get_mut(path) {
        platter.pending.clear();
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    len: c_int,
    at: i64,
) -> c_int {
    real!(file, xRead, to, len, at)
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    real!(file, xFileSize, size)
}

unsafe extern "C" fn lock_file(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    real!(file, xLock, level)
}

unsafe extern "C" fn unlock_file(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    real!(file, xUnlock, level)
}

unsafe extern "C" fn check_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    real!(file, xCheckReservedLock, out)
}

unsafe extern "C" fn control(file: *mut ffi::sqlite3_file, op: c_int, arg: *mut c_void) -> c_int {
    real!(file, xFileControl, op, arg)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    real!(file, xSectorSize)
}

unsafe extern "C" fn traits(file: *mut ffi::sqlite3_file) -> c_int {
    real!(file, xDeviceCharacteristics)
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    page: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    real!(file, xShmMap, page, size, extend, out)
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    at: c_int,
    n: c_int,
    flags: c_int,
) -> c_int {
    real!(file, xShmLock, at, n, flags)
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    real!(file, xShmBarrier);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    real!(file, xShmUnmap, delete)
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock_file),
    xUnlock: Some(unlock_file),
    xCheckReservedLock: Some(check_lock),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(traits),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};
