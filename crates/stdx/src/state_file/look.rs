//! What stands in a directory of ours that may have been touched meanwhile: whose it is, and since when.
//!
//! Not here: reading any of it.

use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use super::{named, refused};
use crate::clock::Timestamp;

/// Takes away what group and others may do with a file or a directory of ours, and tells whether there was
/// anything to take. Its last component is never followed.
///
/// # Errors
/// When it is missing, a link or of another kind, belongs to somebody else, or cannot be changed.
pub fn tighten(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path).map_err(|error| named(path, &error))?;
    check(path, &found)?;
    if found.mode() & 0o077 == 0 {
        return Ok(false);
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| named(path, &error))?;
    // Of what was opened: another thing may have that name by now.
    let opened = file.metadata()?;
    check(path, &opened)?;
    file.set_permissions(Permissions::from_mode(opened.mode() & 0o700))
        .map_err(|error| named(path, &error))?;
    Ok(true)
}

fn check(path: &Path, meta: &fs::Metadata) -> io::Result<()> {
    if !meta.is_file() && !meta.is_dir() {
        return Err(refused(path, "is a link or of another kind; move it away"));
    }
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != me {
        return Err(refused(path, &format!("belongs to uid {}, not to {me}", meta.uid())));
    }
    Ok(())
}

/// Returns when a file or a directory was changed last, links not followed; none if it is missing.
///
/// # Errors
/// When it cannot be asked for.
pub fn written_at(path: &Path) -> io::Result<Option<Timestamp>> {
    match fs::symlink_metadata(path) {
        Ok(meta) => {
            let millis = meta.mtime().saturating_mul(1_000);
            Ok(Some(Timestamp::from_millis(millis.saturating_add(meta.mtime_nsec() / 1_000_000))))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(named(path, &error)),
    }
}

/// Tells whether a directory stands there, links not followed.
#[must_use]
pub fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}
