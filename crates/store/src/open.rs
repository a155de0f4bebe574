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

/// Opens a database for writing that was opened on a full disk, under the epoch that was told then.
pub(crate) fn again(options: &Options, epoch: &Epoch) -> Result<Connection, StoreError> {
    let ready = attempt(options, &options.path, migrate::STEPS)?;
    if (&ready.store_id, ready.epoch) != (&epoch.store_id, epoch.number) {
        // Somebody else has taken it, who is not kept out by the lock that we hold.
        return Err(StoreError::StaleEpoch { held: epoch.number, current: ready.epoch });
    }
    Ok(ready.conn)
}

fn attempt(options: &Options, path: &Path, steps: &[&str]) -> Result<Ready, StoreError> {
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
    if opening.unclean || migrates {
        (options.on_long_work)();
    }
    if opening.unclean {
        quick_check(&mut conn, &options.stopped)?;
    }
    if found == 0 {
        conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    let now = options.clock.now().as_millis();
    opening.migrated_from = migrate::run(&mut conn, path, (steps, now), &options.stopped)?;
    let (store_id, epoch) = begin_epoch(&mut conn, opening.unclean)?;
    conn.set_prepared_statement_cache_capacity(48);
    Ok(Ready { conn, path: path.to_owned(), store_id, epoch, opening })
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
    set_meta(&change, "epoch", &epoch.to_string())?;
    set_meta(&change, "clean", "0")?;
    if unclean {
        let last = crate::sql::int(crate::sql::last_seq(&change)?);
        change.execute("DELETE FROM sqlite_sequence WHERE name = 'facts'", [])?;
        change.execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('facts', ?1)",
            [last.saturating_add(SEQ_LEAP)],
        )?;
    }
    change.commit()?;
    Ok((store_id, epoch))
}

#[cfg(test)]
mod tests;
