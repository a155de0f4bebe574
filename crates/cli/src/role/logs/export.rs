//! The file of an export. What it holds is written beside it and takes its name once all of it is there: an export
//! that fails leaves what stood there, and nobody else can read it, whatever the modes of the file before were.
//!
//! A place that is no file, such as a pipe or a device, is written to as it is. Not here: what is exported.

#![expect(clippy::disallowed_methods, reason = "the file that the person asked for")]

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use vocab::outcome::{Effect, Failure};

/// A file that is being written.
pub(super) struct Draft {
    file: File,
    /// Where it is written, and where it goes; none for a place that is no file.
    beside: Option<(PathBuf, PathBuf)>,
    replaces: bool,
}

impl Draft {
    /// Begins to write for a path. What is there is left alone until the end, and for good unless `replaces`.
    pub(super) fn begin(path: &Path, replaces: bool) -> Result<Self, Failure> {
        let refused = |error: &io::Error| unwritable(path, error);
        let is_there = path.symlink_metadata().is_ok();
        if is_there && !replaces {
            return Err(refused(&io::ErrorKind::AlreadyExists.into()));
        }
        if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            let file = OpenOptions::new().write(true).open(path);
            return Ok(Self {
                file: file.map_err(|error| refused(&error))?,
                beside: None,
                replaces,
            });
        }
        // The file that a link leads to is replaced, and the link stays.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut name = std::ffi::OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        let beside = target.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
        let file = file.map_err(|error| refused(&error))?;
        Ok(Self { file, beside: Some((beside, target)), replaces })
    }

    /// Gives what was written its name.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let Some((beside, target)) = self.beside.take() else { return Ok(()) };
        let named =
            if self.replaces { fs::rename(&beside, &target) } else { put(&beside, &target) };
        named.map_err(|error| {
            fs::remove_file(&beside).ok();
            unwritable(&target, &error)
        })
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.beside {
            fs::remove_file(beside).ok();
        }
    }
}

/// Gives a file a name that nothing else has.
fn put(beside: &Path, target: &Path) -> io::Result<()> {
    match renameat_with(CWD, beside, CWD, target, RenameFlags::NOREPLACE) {
        // A file system that cannot promise it; nothing stood there when it was begun.
        Err(Errno::INVAL | Errno::NOSYS) if target.symlink_metadata().is_err() => {
            fs::rename(beside, target)
        }
        renamed => Ok(renamed?),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let text = format!("{} cannot be written: {error}", path.display());
    let failure = Failure::new("failed", Effect::NotStarted, text);
    let is_there = error.kind() == io::ErrorKind::AlreadyExists;
    if is_there { failure.with_hint("--force replaces it") } else { failure }
}
