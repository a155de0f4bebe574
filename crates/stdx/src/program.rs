//! Which file a program's name means, and whether a file can be run.
//!
//! Not here: where the list of directories comes from, and what is started.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, FileType, access, stat};

/// Returns the file that a name means in a list of directories such as `PATH`. Relative directories are passed over:
/// what they name depends on where one stands. A name with a slash is none.
#[must_use]
pub fn find(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    if name.is_empty() || name.as_bytes().contains(&b'/') {
        return None;
    }
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(|dir| Path::new(OsStr::from_bytes(dir)))
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file| can_run(file))
}

/// Tells whether a path names a regular file that this user may run.
#[must_use]
pub fn can_run(path: &Path) -> bool {
    let is_file =
        stat(path).is_ok_and(|meta| FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile);
    is_file && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_first_file_that_can_be_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = format!("/nowhere::.:{}:/usr/bin:/bin", dir.path().display());
        let check = |name: &str| find(OsStr::new(&path), OsStr::new(name));
        let shell = check("sh").unwrap();
        assert!(shell.is_absolute() && can_run(&shell));
        // A link is what it leads to; a directory is no program.
        std::os::unix::fs::symlink(&shell, dir.path().join("own")).unwrap();
        assert_eq!(check("own"), Some(dir.path().join("own")));
        for name in ["", "bin/sh", "/bin/sh", "no-such-program", "."] {
            assert_eq!(check(name), None, "{name:?}");
        }
        assert!(!can_run(dir.path()) && !can_run(Path::new("/etc/passwd")));
    }
}
