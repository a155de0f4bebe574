//! Files appear whole: a temporary sibling is written, the place is checked again, then renamed.
//!
//! Nothing is ever written into an existing inode, so other names of a file and programs that have it
//! open keep what they had. Extended attributes are not carried over.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
};

use rustix::{
    fs::{AtFlags, Gid, OFlags, RenameFlags, Uid},
    io::Errno,
};
use sha2::{Digest, Sha256};
use vocab::outcome::Effect;

use crate::{
    dir::{FileId, Meta},
    error::{ConfineError, Reason, Result},
    place::Place,
};

/// The permission bits of the published file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Those of the file it replaces; for a new file what the system gives (0666 without the umask).
    #[default]
    Keep,
    /// Exactly these.
    Exact(u32),
}

/// What may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replace {
    /// Any regular file.
    #[default]
    Any,
    /// Nothing: the file must be new.
    Never,
    /// Only this inode.
    Id(FileId),
    /// Only this content (SHA-256).
    Content([u8; 32]),
}

/// How a file is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublishOptions {
    /// Its permission bits.
    pub mode: Mode,
    /// What may be replaced.
    pub replace: Replace,
    /// Whether content and name must survive a power cut when the call returns.
    pub sync: bool,
}

/// What publication did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Whether nothing had that name before.
    pub created: bool,
    /// The new file.
    pub meta: Meta,
}

/// A file being written beside its place. Dropping it leaves no trace.
#[derive(Debug)]
pub struct Pending {
    place: Place,
    file: File,
    options: PublishOptions,
    /// The temporary's name; empty once it has the final one.
    temporary: OsString,
}

impl Place {
    /// Publishes a whole file.
    ///
    /// # Errors
    /// When it cannot be written or the place changed; then nothing did.
    pub fn publish(self, bytes: &[u8], options: PublishOptions) -> Result<Published, ConfineError> {
        let mut pending = self.writer(options)?;
        match pending.write_all(bytes) {
            Ok(()) => pending.commit(),
            Err(error) => Err(pending.place.error(error)),
        }
    }

    /// Starts a file that is published by [`Pending::commit`].
    ///
    /// # Errors
    /// When the directory takes no file, or the one that is there may not be replaced.
    pub fn writer(self, options: PublishOptions) -> Result<Pending, ConfineError> {
        check_replaced(&self, self.existing(), options.replace)
            .map_err(|reason| self.error(reason))?;
        // A new file gets its mode from the kernel, which knows the umask and default ACLs. One that
        // replaces another is private until its mode is set.
        let fresh = self.existing().is_none() && options.mode == Mode::Keep;
        let mode = rustix::fs::Mode::from_raw_mode(if fresh { 0o666 } else { 0o600 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let temporary = temporary_name().map_err(|errno| self.error(errno))?;
        let fd = rustix::fs::openat(&self.dir().fd, &temporary, flags, mode)
            .map_err(|errno| self.error(errno))?;
        Ok(Pending { place: self, file: File::from(fd), options, temporary })
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pending {
    /// Turns an error of writing into one that names the file.
    #[must_use]
    pub fn error(&self, error: io::Error) -> ConfineError {
        self.place.error(error)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When the place changed or the system refuses; nothing changed unless the effect says so.
    pub fn commit(mut self) -> Result<Published, ConfineError> {
        let existing = self.ready()?;
        check_replaced(&self.place, existing.as_ref(), self.options.replace)
            .map_err(|reason| self.place.error(reason))?;
        let created = self.rename(existing.is_some()).map_err(|errno| self.place.error(errno))?;
        self.temporary.clear();
        let completed = |errno: Errno| self.place.error(errno).with_effect(Effect::Completed);
        if self.options.sync {
            let dir = crate::sys::readable(&self.place.dir().fd).map_err(completed)?;
            rustix::fs::fsync(dir).map_err(completed)?;
        }
        let meta = Meta::of(&self.file).map_err(completed)?;
        Ok(Published { created, meta })
    }

    /// Makes the temporary ready to take the place, so that nothing slow is left between the check of
    /// what it replaces and the rename. Returns what is there.
    fn ready(&self) -> Result<Option<Meta>, ConfineError> {
        let seen = self.place.recheck()?;
        self.finish(seen.as_ref()).map_err(|reason| self.place.error(reason))?;
        let now = self.place.recheck()?;
        let dress = |meta: &Meta| (meta.uid, meta.gid, meta.mode);
        if now.as_ref().map(dress) != seen.as_ref().map(dress) {
            self.finish(now.as_ref()).map_err(|reason| self.place.error(reason))?;
        }
        Ok(now)
    }

    /// Gives the temporary the owner and mode of what it becomes, and syncs it.
    fn finish(&self, existing: Option<&Meta>) -> Result<()> {
        if let Some(old) = existing {
            let own = Meta::of(&self.file)?;
            if (own.uid, own.gid) != (old.uid, old.gid) {
                let (uid, gid) = (Uid::from_raw(old.uid), Gid::from_raw(old.gid));
                // Only root may give files away; others keep what they make.
                rustix::fs::fchown(&self.file, Some(uid), Some(gid)).ok();
            }
        }
        let mode = match (self.options.mode, existing) {
            (Mode::Exact(mode), _) => Some(mode & 0o7777),
            // A write by anybody else than root drops the set-id bits; so does this.
            (Mode::Keep, Some(old)) => Some(old.mode & 0o1777),
            (Mode::Keep, None) => None,
        };
        if let Some(mode) = mode {
            rustix::fs::fchmod(&self.file, rustix::fs::Mode::from_raw_mode(mode))?;
        }
        if self.options.sync {
            rustix::fs::fsync(&self.file)?;
        }
        Ok(())
    }

    /// Returns whether the name is new.
    fn rename(&self, exists: bool) -> Result<bool, Errno> {
        let dir = self.place.dir().as_fd();
        let name = self.place.name();
        let may_replace = self.options.replace != Replace::Never;
        if !exists || !may_replace {
            let flags = RenameFlags::NOREPLACE;
            let made = match rustix::fs::renameat_with(dir, &self.temporary, dir, name, flags) {
                // Some file systems lack the flag; a hard link refuses an existing name as well.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    rustix::fs::linkat(dir, &self.temporary, dir, name, AtFlags::empty()).map(
                        |()| {
                            rustix::fs::unlinkat(dir, &self.temporary, AtFlags::empty()).ok();
                        },
                    )
                }
                other => other,
            };
            match made {
                Err(Errno::EXIST) if may_replace => {}
                other => return other.map(|()| true),
            }
        }
        rustix::fs::renameat(dir, &self.temporary, dir, name).map(|()| false)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.temporary.is_empty() {
            let dir = self.place.dir().as_fd();
            // It may be gone already; nothing else can be done here.
            rustix::fs::unlinkat(dir, &self.temporary, AtFlags::empty()).ok();
        }
    }
}

fn check_replaced(place: &Place, existing: Option<&Meta>, replace: Replace) -> Result<()> {
    let Some(meta) = existing else {
        return match replace {
            Replace::Any | Replace::Never => Ok(()),
            Replace::Id(_) | Replace::Content(_) => Err(Reason::Stale),
        };
    };
    match replace {
        Replace::Never => return Err(Reason::Exists),
        Replace::Id(id) if id != meta.id => return Err(Reason::Stale),
        Replace::Content(hash) if hash_of(place)? != hash => return Err(Reason::Stale),
        Replace::Any | Replace::Id(_) | Replace::Content(_) => {}
    }
    // The rename would succeed on a file that its owner made read-only; a write would not.
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    let access = rustix::fs::Access::WRITE_OK;
    match rustix::fs::accessat(&place.dir().fd, place.name(), access, flags) {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

fn hash_of(place: &Place) -> Result<[u8; 32]> {
    let mut file = place.open().map_err(|error| error.reason)?.file;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

pub(crate) fn temporary_name() -> Result<OsString, Errno> {
    let mut random = [0_u8; 12];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!(".stead-{hex}.tmp").into())
}
