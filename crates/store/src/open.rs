//! Opening: checks, repairs that lose nothing, migration, and a new epoch.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{Connection, OpenFlags};
use stdx::clock::Clock;
use vocab::limits::{STORE_CACHE_KIB_MAX, STORE_WAL_PAGES_MAX};

use crate::{
    cursor::Epoch,
    error::StoreError,
    files, migrate,
    sql::{meta, meta_count, set_meta},
};

mod held;

/// `Stea`: says in the file's header whose database it is.
const APPLICATION_ID: i32 = 0x5374_6561;

/// More facts than one start records between two syncs.
const SEQ_LEAP: i64 = 1 << 20;

/// Who took an epoch that was told before it was taken.
const TAKEN_BY: &str = "taken_by";

/// Steps of the engine between two looks at whether a check should stop; some milliseconds.
const STEPS_BETWEEN_LOOKS: i32 = 1_000;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The database file, in a private directory.
    pub path: PathBuf,
    /// Tells the time of facts.
    pub clock: Clock,
    /// The name of a registered SQLite file layer in place of the usual one.
    pub vfs: Option<String>,
    /// Called before work that takes as long as the database is large: the check after an unclean end,
    /// and the copy before a migration.
    pub on_long_work: fn(),
    /// Set by whoever wants that work to stop. The database is as it was then, and the next start begins
    /// the work anew.
    pub stopped: Arc<AtomicBool>,
}

impl Options {
    /// Returns the usual way to open a store.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, clock: Clock) -> Self {
        Self { path: path.into(), clock, vfs: None, on_long_work: || (), stopped: Arc::default() }
    }
}

/// What opening found and did. What is not empty here belongs in the log and in `doctor`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// It was made just now.
    pub created: bool,
    /// The last use did not end cleanly, so the database was checked.
    pub unclean: bool,
    /// The damaged database that was moved away. The store is empty now.
    pub set_aside: Option<SetAside>,
    /// The copy made before the schema was migrated.
    pub migrated_from: Option<PathBuf>,
    /// Whether there was room to write.
    pub room: Room,
}

/// Whether a store can be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Room {
    /// It can.
    #[default]
    Enough,
    /// The disk was full when it was opened: what is stored is read, and nothing is written until
    /// [`crate::Store::make_writable`] finds room.
    Full,
}

/// A damaged database that was moved away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Where it is now.
    pub path: PathBuf,
    /// What was wrong.
    pub problem: String,
}

/// A database ready for the writer.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    pub(crate) store_id: String,
    pub(crate) epoch: u64,
    pub(crate) opening: Opening,
}

/// Opens the database for writing, and sets a damaged one aside.
pub(crate) fn writer(options: &Options, steps: &[&str]) -> Result<Ready, StoreError> {
    let path = files::prepare(&options.path)?;
    match attempt(options, &path, steps) {
        Err(StoreError::Corrupt { detail, .. }) => {
            let aside = files::set_aside(&path, options.clock.now().as_millis())?;
            tracing::error!(moved_to = %aside.display(), problem = %detail,
                "the store was damaged and has been set aside; an empty one takes its place");
            files::make(&path)?;
            let mut ready = attempt(options, &path, steps)?;
            ready.opening.set_aside = Some(SetAside { path: aside, problem: detail });
            Ok(ready)
        }
        // Without room the engine fails in several ways; what it could not do is told by the first one.
        Err(error @ (StoreError::Full { .. } | StoreError::Io { .. })) if files::is_full(&path) => {
            held::open(options, &path, steps.len()).map_err(|reading| {
                tracing::error!(%error, %reading, "the store cannot be opened on a full disk");
                StoreError::Full { effect: vocab::outcome::Effect::NotStarted }
            })
        }
        other => other,
    }
}

/// Opens a database for writing that was opened on a full disk, under the epoch that was told then. `mark` is this
/// start's alone: an epoch that it took before, and could not go on with, is its own.
pub(crate) fn again(
    options: &Options,
    epoch: &Epoch,
    mark: &str,
) -> Result<Connection, StoreError> {
    let (mut conn, opening) = set_up(options, &options.path, migrate::STEPS, Check::Done)?;
    take_told_epoch(&mut conn, opening.unclean, epoch, mark)?;
    Ok(conn)
}

/// Whether a database whose last use did not end cleanly is still to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    Due,
    /// It was when it was opened for reading, and its lock was held since.
    Done,
}

fn attempt(options: &Options, path: &Path, steps: &[&str]) -> Result<Ready, StoreError> {
    let (mut conn, opening) = set_up(options, path, steps, Check::Due)?;
    let (store_id, epoch) = begin_epoch(&mut conn, opening.unclean)?;
    Ok(Ready { conn, path: path.to_owned(), store_id, epoch, opening })
}

/// Opens a database and mends what the last use left; the epoch stays.
fn set_up(
    options: &Options,
    path: &Path,
    steps: &[&str],
    check: Check,
) -> Result<(Connection, Opening), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut conn = connect(path, flags, options.vfs.as_deref())?;
    // A database of a newer program must not be touched at all, not even its journal mode.
    let found: u32 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if usize::try_from(found).unwrap_or(usize::MAX) > steps.len() {
        let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
        return Err(StoreError::Newer { found, known });
    }
    let owner: i32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if found > 0 && owner != APPLICATION_ID {
        let name = path.display();
        return Err(StoreError::conflict(format!("{name} is a database of another program")));
    }
    configure(&conn)?;
    let mut opening = Opening { created: found == 0, ..Opening::default() };
    opening.unclean = found > 0 && meta(&conn, "clean")?.as_deref() != Some("1");
    let migrates = found > 0 && usize::try_from(found).is_ok_and(|found| found < steps.len());
    let is_checked = opening.unclean && check == Check::Due;
    if is_checked || migrates {
        (options.on_long_work)();
    }
    if is_checked {
        quick_check(&mut conn, &options.stopped)?;
    }
    if found == 0 {
        conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    let now = options.clock.now().as_millis();
    opening.migrated_from = migrate::run(&mut conn, path, (steps, now), &options.stopped)?;
    conn.set_prepared_statement_cache_capacity(48);
    Ok((conn, opening))
}

/// Opens the database for reading only. `full` says that nothing can be written beside it either.
pub(crate) fn reader(path: &Path, vfs: Option<&str>, full: bool) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = if full { held::reader(path, vfs)? } else { connect(path, flags, vfs)? };
    conn.execute_batch(&format!(
        "PRAGMA cache_size = -{STORE_CACHE_KIB_MAX}; PRAGMA mmap_size = 0;"
    ))?;
    Ok(conn)
}

fn connect(path: &Path, flags: OpenFlags, vfs: Option<&str>) -> Result<Connection, StoreError> {
    let conn = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs)?,
        None => Connection::open_with_flags(path, flags)?,
    };
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(conn)
}

fn configure(conn: &Connection) -> Result<(), StoreError> {
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        let detail = format!("the database keeps journal mode {mode} where a log is needed");
        return Err(StoreError::Io { detail, effect: vocab::outcome::Effect::NotStarted });
    }
    // The log is kept short enough to be read at once after a crash.
    let log = STORE_WAL_PAGES_MAX * 4_096;
    conn.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA mmap_size = 0; PRAGMA cache_size = -{STORE_CACHE_KIB_MAX}; \
         PRAGMA journal_size_limit = {log}; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;"
    ))?;
    Ok(())
}

fn quick_check(conn: &mut Connection, stopped: &Arc<AtomicBool>) -> Result<(), StoreError> {
    look(conn, stopped)?;
    let found = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    conn.progress_handler(0, None::<fn() -> bool>)?;
    // A check that was broken off tells nothing, least of all a damage.
    if stopped.load(Ordering::Relaxed) {
        return Err(StoreError::Stopped);
    }
    let found = found?;
    if found == "ok" { Ok(()) } else { Err(StoreError::corrupt(found)) }
}

/// Lets a connection look at times whether it should stop.
fn look(conn: &mut Connection, stopped: &Arc<AtomicBool>) -> Result<(), StoreError> {
    let stopped = Arc::clone(stopped);
    conn.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || stopped.load(Ordering::Relaxed)))?;
    Ok(())
}

/// Takes the next epoch. After an unclean end the facts' numbers leap: a loss of power may have taken
/// facts that were already told, and their numbers must not be given to others.
fn begin_epoch(conn: &mut Connection, unclean: bool) -> Result<(String, u64), StoreError> {
    let change = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let store_id = match meta(&change, "store_id")? {
        Some(id) => id,
        None => {
            let id = migrate::new_store_id();
            set_meta(&change, "store_id", &id)?;
            id
        }
    };
    let epoch = meta_count(&change, "epoch")? + 1;
    set_epoch(&change, epoch, unclean)?;
    change.commit()?;
    Ok((store_id, epoch))
}

/// Takes the epoch that was told before, unless somebody else has taken it, who is not kept out by the lock that we
/// hold. Then nothing is changed.
fn take_told_epoch(
    conn: &mut Connection,
    unclean: bool,
    told: &Epoch,
    mark: &str,
) -> Result<(), StoreError> {
    let change = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let current = meta_count(&change, "epoch")?;
    let is_same = meta(&change, "store_id")?.as_ref() == Some(&told.store_id);
    if is_same && current == told.number && meta(&change, TAKEN_BY)?.as_deref() == Some(mark) {
        return Ok(());
    }
    if !is_same || current + 1 != told.number {
        return Err(StoreError::StaleEpoch { held: told.number, current });
    }
    set_meta(&change, TAKEN_BY, mark)?;
    set_epoch(&change, told.number, unclean)?;
    Ok(change.commit()?)
}

fn set_epoch(change: &Connection, epoch: u64, unclean: bool) -> Result<(), StoreError> {
    set_meta(change, "epoch", &epoch.to_string())?;
    set_meta(change, "clean", "0")?;
    if unclean {
        let last = crate::sql::int(crate::sql::last_seq(change)?);
        change.execute("DELETE FROM sqlite_sequence WHERE name = 'facts'", [])?;
        change.execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('facts', ?1)",
            [last.saturating_add(SEQ_LEAP)],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
