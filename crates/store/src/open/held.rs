//! Opening on a full disk: to read what is there, and to write nothing.
//!
//! A database whose last use ended cleanly has no log, and is read as a file that nobody changes: we hold
//! the lock of its directory. One with a log needs the memory that is shared beside it, which is there as
//! long as the log is. Where neither is so, it cannot be opened.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use rusqlite::{Connection, OpenFlags};

use super::{Opening, Options, Ready, Room, connect, quick_check};
use crate::{
    error::StoreError,
    files,
    sql::{meta, meta_count},
};

/// Opens the database without writing to it.
pub(super) fn open(options: &Options, path: &Path, n_steps: usize) -> Result<Ready, StoreError> {
    let mut conn = reader(path, options.vfs.as_deref())?;
    let found: u32 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let is_current = usize::try_from(found).is_ok_and(|found| found == n_steps);
    let store_id = if is_current { meta(&conn, "store_id")? } else { None };
    let Some(store_id) = store_id else {
        // A new one, or one that is to be migrated.
        return Err(StoreError::Full { effect: vocab::outcome::Effect::NotStarted });
    };
    let unclean = meta(&conn, "clean")?.as_deref() != Some("1");
    if unclean {
        (options.on_long_work)();
        quick_check(&mut conn, &options.stopped)?;
    }
    // The next one, which is taken once there is room. Nothing is written until then.
    let epoch = meta_count(&conn, "epoch")? + 1;
    let opening = Opening { unclean, room: Room::Full, ..Opening::default() };
    Ok(Ready { conn, path: path.to_owned(), store_id, epoch, opening })
}

/// Opens a connection that reads.
pub(super) fn reader(path: &Path, vfs: Option<&str>) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    if files::has_log(path) {
        return connect(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE, vfs);
    }
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect(Path::new(OsStr::from_bytes(&uri(path))), flags, vfs)
}

/// Writes a path as the engine reads it, with the promise that nobody changes the file.
fn uri(path: &Path) -> Vec<u8> {
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(*byte),
            byte if byte.is_ascii_alphanumeric() => uri.push(*byte),
            byte => uri.extend(format!("%{byte:02x}").into_bytes()),
        }
    }
    uri.extend(b"?immutable=1");
    uri
}
