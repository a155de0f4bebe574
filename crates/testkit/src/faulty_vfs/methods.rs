//! The methods of a file: the operations that change the disk are judged, the others passed on.
//!
//! What happens when is the parent's business.

use std::{
    ffi::{c_int, c_void},
    path::PathBuf,
};

use rusqlite::ffi;

use super::{Change, Disk, Verdict, lock, wrapped};

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

pub(super) static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
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
