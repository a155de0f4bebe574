//! Stead's own files: private, checked when opened, published whole or not at all.
//!
//! A directory is 0700 and a file 0600, both owned by the caller and reached through no final
//! symbolic link. What is looser is refused with the command that mends it, never repaired silently.

#![expect(clippy::disallowed_methods, reason = "the door to Stead's own state, not to workspaces")]

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use crate::clock::Timestamp;

mod look;
mod unlock;

pub use look::{is_dir, tighten, written_at};

/// Makes a private directory with its parents, or checks the one that is there.
///
/// # Errors
/// When it cannot be made, or exists with another owner, a looser mode, or as a link.
pub fn ensure_dir(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) => check(path, &meta, Kind::Dir),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            }
            match fs::DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    check(path, &fs::symlink_metadata(path)?, Kind::Dir)
                }
                other => other,
            }
        }
        Err(error) => Err(error),
    }
}

/// Opens a private file for reading and writing, making it if it is missing.
///
/// # Errors
/// When it cannot be opened, or is not a regular private file of ours.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))
}

/// Opens a private file for appending, making it if it is missing.
///
/// # Errors
/// When it cannot be opened, or is not a regular private file of ours.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().append(true).create(true))
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
        .map_err(|error| named(path, &error))?;
    check(path, &file.metadata()?, Kind::File)?;
    Ok(file)
}

/// Reads a private file of at most `bytes_max`; none if it is missing.
///
/// # Errors
/// When it cannot be read, is longer, or is not a regular private file of ours.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(named(path, &error)),
    };
    let meta = file.metadata()?;
    check(path, &meta, Kind::File)?;
    whole(path, &file, meta.len(), bytes_max).map(Some)
}

/// Reads a configuration of at most `bytes_max`: ours and private, links followed, since people keep
/// such files elsewhere.
///
/// # Errors
/// When it cannot be read, is longer, has another owner, or a looser mode.
pub fn read_config(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path)
    {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(named(path, &error)),
    };
    let meta = file.metadata()?;
    let me = rustix::process::geteuid().as_raw();
    if !meta.is_file() {
        return Err(refused(path, "is no regular file"));
    }
    if meta.uid() != me {
        return Err(refused(
            path,
            &format!("belongs to uid {}; run: chown {me} {path:?}", meta.uid()),
        ));
    }
    if meta.mode() & 0o077 != 0 {
        let found = meta.mode() & 0o777;
        return Err(refused(path, &format!("has mode {found:03o}; run: chmod 600 {path:?}")));
    }
    whole(path, &file, meta.len(), bytes_max).map(Some)
}

/// Reads all of a file, or nothing: half of a configuration would be another one.
fn whole(path: &Path, file: &File, len: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
    // With room for everything, since a buffer that grows would leave copies of a key behind.
    let room = usize::try_from(len.min(bytes_max) + 1).unwrap_or_default();
    let mut bytes = Vec::with_capacity(room);
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > bytes_max {
        return Err(refused(path, &format!("has more than {bytes_max} bytes; none of ours has")));
    }
    Ok(bytes)
}

/// Publishes a private file: readers see the old content or the new, never a part.
///
/// # Errors
/// When the temporary sibling cannot be written or renamed; the old content then stands.
pub fn publish(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, Care::PowerLoss)
}

/// Publishes a private file as [`publish`] does, without waiting for the disk: it survives the death of
/// any process, but not that of the machine. For what is written often and can be done without.
///
/// # Errors
/// When the temporary sibling cannot be written or renamed; the old content then stands.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, Care::Crash)
}

/// What a file has to survive.
#[derive(Clone, Copy, PartialEq)]
enum Care {
    Crash,
    PowerLoss,
}

fn put(path: &Path, bytes: &[u8], care: Care) -> io::Result<()> {
    let sync = |file: &File| if care == Care::PowerLoss { file.sync_all() } else { Ok(()) };
    let parent = path.parent().unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A kill before the rename leaves it behind; [`sweep`] knows it by this name.
    let temporary = parent.join(format!(".{name}.{}.tmp", uuid::Uuid::new_v4().simple()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| sync(&file)))
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| sync(&File::open(parent)?));
    if written.is_err() {
        // The rename may already have happened; a missing temporary is what we want.
        fs::remove_file(&temporary).ok();
    }
    written.map_err(|error| named(path, &error))
}

/// Removes what killed publications left in a directory: temporaries of ours that were last written
/// before `since`. They hold content, keys among it. Returns how many went; a missing directory has none.
///
/// Whoever calls it owns the directory since then, so that no temporary of a living process is older.
///
/// # Errors
/// When the directory cannot be read, or a leftover cannot be removed.
pub fn sweep(dir: &Path, since: Timestamp) -> io::Result<usize> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(named(dir, &error)),
    };
    let me = rustix::process::geteuid().as_raw();
    let mut swept = 0;
    for entry in entries {
        let entry = entry.map_err(|error| named(dir, &error))?;
        if !is_temporary(&entry.file_name()) {
            continue;
        }
        // Of the entry itself: a link is never followed.
        let Ok(meta) = entry.metadata() else { continue };
        let written =
            meta.mtime().saturating_mul(1_000).saturating_add(meta.mtime_nsec() / 1_000_000);
        if meta.is_file() && meta.uid() == me && written < since.as_millis() {
            remove(&entry.path()).map_err(|error| named(&entry.path(), &error))?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Tells whether a name is one that [`publish`] gives: `.NAME.<32 hexadecimal digits>.tmp`.
fn is_temporary(name: &OsStr) -> bool {
    let parts = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp"));
    parts.and_then(|parts| parts.rsplit_once('.')).is_some_and(|(name, hex)| {
        !name.is_empty() && hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Removes a file; a missing one is fine.
///
/// # Errors
/// When it exists and cannot be removed.
pub fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a directory with all that is below it, or whatever else has that name; a missing one is fine. Links
/// are removed, also the directory itself when it is one, and never followed. Directories of ours that may not be changed, as
/// caches of modules are, are made changeable first.
///
/// # Errors
/// When something of it cannot be removed; the rest may be gone.
pub fn remove_tree(path: &Path) -> io::Result<bool> {
    let removed = match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock::tree(path).and_then(|()| fs::remove_dir_all(path))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => fs::remove_file(path),
        removed => removed,
    };
    match removed {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(named(path, &error)),
    }
}

/// Removes a directory if it is empty, and tells whether it was.
///
/// # Errors
/// When it is empty and cannot be removed, or is no directory.
pub fn remove_empty(path: &Path) -> io::Result<bool> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(named(path, &error)),
    }
}

/// Returns the first `n_max` names in a directory of ours that come behind `after`, in their order; a
/// missing one holds none.
///
/// # Errors
/// When it cannot be read.
pub fn names(dir: &Path, after: Option<&OsStr>, n_max: usize) -> io::Result<Vec<OsString>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(named(dir, &error)),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = entry.map_err(|error| named(dir, &error))?.file_name();
        if after.is_none_or(|after| after < name.as_os_str()) {
            names.insert(name);
        }
        if n_max < names.len() {
            names.pop_last();
        }
    }
    Ok(names.into_iter().collect())
}

/// Renames a state file, over an older one of that name.
///
/// # Errors
/// When it cannot be renamed.
pub fn set_aside(path: &Path, aside: &Path) -> io::Result<()> {
    fs::rename(path, aside)
}

/// Returns the size of a state file; none if it is missing.
///
/// # Errors
/// When it cannot be asked for.
pub fn size(path: &Path) -> io::Result<Option<u64>> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some(meta.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Checks that an existing file or directory is ours and private; a missing one passes.
///
/// # Errors
/// When it exists with another owner, a looser mode, or as a link.
pub fn check_private(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => check(path, &meta, Kind::Dir),
        Ok(meta) => check(path, &meta, Kind::File),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Dir,
    File,
}

/// Tells whether a write failed for want of room: on the disk, in what its owner may use of it, or in what the
/// process may make of one file.
#[must_use]
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn check(path: &Path, meta: &fs::Metadata, kind: Kind) -> io::Result<()> {
    let (right_kind, mode, fix) = match kind {
        Kind::Dir => (meta.is_dir(), 0o700, "chmod 700"),
        Kind::File => (meta.is_file(), 0o600, "chmod 600"),
    };
    if !right_kind {
        return Err(refused(path, "is a link or of another kind; move it away"));
    }
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != me {
        let uid = meta.uid();
        return Err(refused(path, &format!("belongs to uid {uid}; run: chown {me} {path:?}")));
    }
    if meta.mode() & 0o777 & !mode != 0 {
        let found = meta.mode() & 0o777;
        return Err(refused(path, &format!("has mode {found:03o}; run: {fix} {path:?}")));
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display()))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
