//! Open things: directories, files, and what the system says about them.
//!
//! None of them knows its path; a handle is the only way back to the thing.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{AtFlags, FileType, OFlags, RawDir, Stat},
    io::Errno,
};

use crate::{
    error::{Reason, Result},
    guard::Guarded,
    sys,
};

/// What makes two names the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

impl From<FileType> for Kind {
    fn from(found: FileType) -> Self {
        match found {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Dir,
            FileType::Symlink => Self::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        }
    }
}

/// What the system says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// Device and inode.
    pub id: FileId,
    /// What it is.
    pub kind: Kind,
    /// Length in bytes.
    pub len: u64,
    /// Permission bits, with the set-id and sticky bits.
    pub mode: u32,
    /// Last change of the content, nanoseconds since the epoch.
    pub modified_ns: i128,
    /// Number of names.
    pub links: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Meta {
    pub(crate) fn of(fd: impl AsFd) -> Result<Self, Errno> {
        rustix::fs::fstat(fd).map(|stat| Self::from_stat(&stat))
    }

    #[expect(clippy::useless_conversion, reason = "field widths differ between architectures")]
    #[expect(clippy::cast_sign_loss, reason = "the kernel's lengths are never negative")]
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        Self {
            id: FileId { dev: stat.st_dev, ino: stat.st_ino },
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            len: stat.st_size as u64,
            mode: stat.st_mode & 0o7777,
            modified_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
            links: u64::from(stat.st_nlink),
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }
}

/// An open directory below a root.
#[derive(Debug)]
pub struct Dir {
    pub(crate) fd: OwnedFd,
    pub(crate) id: FileId,
    pub(crate) scope: Scope,
}

/// What travels with every handle: the rules of the root it was reached from.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) mounts: bool,
    pub(crate) guarded: Guarded,
    /// How many names a directory may hold.
    pub(crate) entries_max: usize,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, never `.` or `..`.
    pub name: OsString,
    /// What it stands for; links are not followed.
    pub kind: Kind,
}

/// An open file, checked.
#[derive(Debug)]
pub struct OpenFile {
    /// The handle, for reading only.
    pub file: File,
    /// What the system said about this very handle.
    pub meta: Meta,
}

impl Dir {
    /// Returns what makes it the same directory under another name.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Opens a regular file of this directory without following links.
    ///
    /// # Errors
    /// When it is missing, no regular file, protected, or not readable.
    pub fn open_file(&self, name: &OsStr) -> Result<OpenFile> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = match sys::step(&self.fd, name, flags, self.scope.mounts) {
            // What `open` says of a link that it must not follow.
            Err(Reason::TooManyLinks) => return Err(Reason::NotARegularFile),
            other => other?,
        };
        let meta = Meta::of(&opened.fd)?;
        match meta.kind {
            Kind::File => {}
            Kind::Dir => return Err(Reason::IsADirectory),
            Kind::Link | Kind::Other => return Err(Reason::NotARegularFile),
        }
        self.scope.guarded.check_file(&meta, opened.crossed)?;
        Ok(OpenFile { file: File::from(opened.fd), meta })
    }

    /// Opens a directory of this directory without following links.
    ///
    /// # Errors
    /// When it is missing, no directory, protected, on another mount, or not accessible.
    pub fn open_dir(&self, name: &OsStr) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let opened = sys::step(&self.fd, name, flags, self.scope.mounts)?;
        let id = Meta::of(&opened.fd)?.id;
        self.scope.guarded.check_dir(id, opened.crossed)?;
        Ok(Self { fd: opened.fd, id, scope: self.scope.clone() })
    }

    /// Asks about a name of this directory without following links.
    ///
    /// # Errors
    /// When it is missing or the system refuses.
    pub fn stat(&self, name: &OsStr) -> Result<Meta> {
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Meta::from_stat(&stat))
    }

    /// Lists the directory, sorted by the bytes of the names.
    ///
    /// # Errors
    /// When it cannot be read or holds too many names.
    pub fn entries(&self) -> Result<Vec<DirEntry>> {
        let fd = sys::readable(&self.fd)?;
        read_entries(&fd, self.scope.entries_max)
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Reads all entries through a handle that was opened for reading, from its current position.
pub(crate) fn read_entries(fd: &OwnedFd, max: usize) -> Result<Vec<DirEntry>> {
    let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
    let mut raw = RawDir::new(fd, &mut buffer);
    let mut found = Vec::new();
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if found.len() == max {
            return Err(Reason::TooManyEntries);
        }
        let name = OsStr::from_bytes(name).to_owned();
        let mut kind = entry.file_type().into();
        if entry.file_type() == FileType::Unknown {
            // Some file systems do not say.
            match rustix::fs::statat(fd, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => kind = Meta::from_stat(&stat).kind,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        found.push(DirEntry { name, kind });
    }
    found.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    Ok(found)
}
