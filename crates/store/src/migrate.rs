//! The steps from one schema to the next. Each is one transaction; a copy is made before the first.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rusqlite::Connection;

use crate::{error::StoreError, files, sql::set_meta};

/// The schema's steps; a database's `user_version` is how many it has taken.
pub(crate) const STEPS: &[&str] =
    &[include_str!("../migrations/0001.sql"), include_str!("../migrations/0002.sql")];

/// Pages copied at a time.
const BACKUP_PAGES: i32 = 1_024;

/// Brings a database to the newest schema. Returns the copy made before, unless it was new.
pub(crate) fn run(
    conn: &mut Connection,
    path: &Path,
    (steps, millis): (&[&str], i64),
    stopped: &AtomicBool,
) -> Result<Option<PathBuf>, StoreError> {
    let found: u32 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    if found == known {
        return Ok(None);
    }
    let copy = if found == 0 {
        None
    } else {
        let copy = files::beside(path, &format!(".schema{found}-{millis}"));
        files::make_new(&copy)?;
        if let Err(error) = backup(conn, &copy, stopped) {
            // Half a copy is none. It is ours: nothing stood there before.
            stdx::state_file::remove(&copy).ok();
            return Err(error);
        }
        Some(copy)
    };
    for (step, version) in steps.iter().zip(1_u32..).skip(usize::try_from(found).unwrap_or(0)) {
        let change = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        change.execute_batch(step)?;
        change.pragma_update(None, "user_version", version)?;
        change.commit()?;
    }
    Ok(copy)
}

/// Copies a database into a new private file. The copy is a store of its own: sequence numbers given
/// out after this moment would mean something else in it, so cursors must not fit both.
fn backup(conn: &Connection, to: &Path, stopped: &AtomicBool) -> Result<(), StoreError> {
    let mut copy = Connection::open(to)?;
    let steps = rusqlite::backup::Backup::new(conn, &mut copy)?;
    while steps.step(BACKUP_PAGES)? != rusqlite::backup::StepResult::Done {
        if stopped.load(Ordering::Relaxed) {
            return Err(StoreError::Stopped);
        }
    }
    drop(steps);
    copy.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")?;
    set_meta(&copy, "store_id", &new_store_id())?;
    set_meta(&copy, "clean", "1")?;
    copy.close().map_err(|(_, error)| error)?;
    files::sync_parent(to)
}

/// Returns eight random hexadecimal digits.
pub(crate) fn new_store_id() -> String {
    // It needs to differ from other stores, not to be secret.
    let mut bytes = [0_u8; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(4) => {}
        _ => bytes = std::process::id().to_be_bytes(),
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
