//! The files of the database: private, local, and set aside whole when they are damaged.

#![expect(clippy::disallowed_methods, reason = "the door to the database's own files")]

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use stdx::state_file;
use vocab::limits::STORE_ROOM_BYTES_MIN;

use crate::error::StoreError;

/// Resolves the directory and checks or makes the database file.
pub(crate) fn prepare(path: &Path) -> Result<PathBuf, StoreError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    state_file::ensure_dir(parent).map_err(|e| StoreError::io(parent, &e))?;
    let parent = fs::canonicalize(parent).map_err(|error| StoreError::io(parent, &error))?;
    if let Some(kind) = network(&parent)? {
        return Err(StoreError::NetworkFileSystem { path: parent, kind });
    }
    let Some(name) = path.file_name() else {
        return Err(StoreError::not_found("database name in", path.display().to_string()));
    };
    let path = parent.join(name);
    for suffix in ["-wal", "-shm"] {
        let beside = beside(&path, suffix);
        state_file::check_private(&beside).map_err(|error| StoreError::io(&beside, &error))?;
    }
    make(&path)?;
    Ok(path)
}

/// Makes an empty private database file unless there is one. SQLite gives its siblings the same mode.
pub(crate) fn make(path: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::io(path, &error);
    let new = !path.exists();
    let file = state_file::open_or_create(path).map_err(io)?;
    if new {
        file.sync_all().map_err(io)?;
        sync_parent(path)?;
    }
    Ok(())
}

/// Makes an empty private file that did not exist.
pub(crate) fn make_new(path: &Path) -> Result<(), StoreError> {
    if path.exists() {
        return Err(StoreError::conflict(format!("{} exists", path.display())));
    }
    make(path)
}

/// Moves a damaged database and what belongs to it out of the way; nothing is deleted.
pub(crate) fn set_aside(path: &Path, millis: i64) -> Result<PathBuf, StoreError> {
    let mut number = 0_u32;
    let target = loop {
        let tail = if number == 0 { String::new() } else { format!("-{number}") };
        let target = beside(path, &format!(".corrupt-{millis}{tail}"));
        if !target.exists() {
            break target;
        }
        number += 1;
    };
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (beside(path, suffix), beside(&target, suffix));
        if from.exists() {
            fs::rename(&from, &to).map_err(|error| StoreError::io(&from, &error))?;
        }
    }
    sync_parent(path)?;
    Ok(target)
}

/// Returns the path with `suffix` behind its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Tells whether there is no room for what the engine writes at least: too few bytes, no name for a new file,
/// or a quota that is used up, which shows only when it is tried.
pub(crate) fn is_full(path: &Path) -> bool {
    let room = rustix::fs::statvfs(path).map(|found| found.f_bavail.saturating_mul(found.f_frsize));
    if room.is_ok_and(|room| room < STORE_ROOM_BYTES_MIN) {
        return true;
    }
    let probe = beside(path, "-room");
    let mut options = File::options();
    let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&probe);
    let zeros = vec![0; usize::try_from(STORE_ROOM_BYTES_MIN).unwrap_or(0)];
    let tried = opened.and_then(|mut file| file.write_all(&zeros));
    fs::remove_file(&probe).ok();
    tried.is_err_and(|error| state_file::is_full(&error))
}

/// Tells whether there is a log beside the database.
pub(crate) fn has_log(path: &Path) -> bool {
    fs::symlink_metadata(beside(path, "-wal")).is_ok_and(|log| 0 < log.len())
}

/// Makes sure that names in the file's directory survive the loss of power.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let parent = path.parent().unwrap_or_else(|| Path::new("."));
    File::open(parent)
        .and_then(|dir| dir.sync_all())
        .map_err(|error| StoreError::io(parent, &error))
}

/// Names the network file system that a directory lies on, if it does.
///
/// Shared memory beside the log does not work across machines. FUSE and 9p are let through: both are
/// also how containers and virtual machines see a local disk.
fn network(dir: &Path) -> Result<Option<&'static str>, StoreError> {
    let found = rustix::fs::statfs(dir).map_err(|errno| StoreError::io(dir, &errno.into()))?;
    // The numbers are 32 bits wide, whatever the width of the field.
    Ok(network_name(u64::try_from(found.f_type).unwrap_or(0) & 0xFFFF_FFFF))
}

fn network_name(magic: u64) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517B => "SMB",
        0xFF53_4D42 => "CIFS",
        0xFE53_4D42 => "SMB 2",
        0x5346_414F => "AFS",
        0x7375_7245 => "Coda",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert_eq!(network_name(0x6969), Some("NFS"));
        assert_eq!(network_name(0xFF53_4D42), Some("CIFS"));
        assert_eq!(network_name(0xEF53), None);
        assert_eq!(network(Path::new("/proc")).unwrap(), None);
    }
}
