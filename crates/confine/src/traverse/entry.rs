//! What a visitor is shown. It is opened by handle, from the directory in which it was met.

use std::{ffi::OsStr, path::Path};

use crate::{
    dir::{Dir, Kind, Meta, OpenFile},
    error::Result,
};

/// Something met on a walk.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The open directory that holds it.
    pub dir: &'a Dir,
    /// Its name there.
    pub name: &'a OsStr,
    /// What it is; links are not followed.
    pub kind: Kind,
    /// Its path from the start of the walk, for print and patterns.
    pub path: &'a Path,
}

impl Entry<'_> {
    /// Opens it as a regular file.
    ///
    /// # Errors
    /// When it is none (any more), protected, or not readable.
    pub fn open(&self) -> Result<OpenFile> {
        self.dir.open_file(self.name)
    }

    /// Asks the system about it.
    ///
    /// # Errors
    /// When it is gone.
    pub fn stat(&self) -> Result<Meta> {
        self.dir.stat(self.name)
    }
}
