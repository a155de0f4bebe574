//! The right to write a file that other programs write as well, said in a file beside it: `{pid, token, at}`.
//!
//! Programs that know the convention look who stands there and whether that process lives. Among our own
//! a kernel lock on the same file decides, so that two of us never believe a dead one's note at once. The
//! file goes with its holder; what a killed one leaves is taken over.
//!
//! Not here: which file it protects, and what to do when somebody else holds it.

use std::{
    fs::{File, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, open, statat, unlinkat};

use crate::{clock::Timestamp, proc_id::ProcId};

/// A note is shorter; what is longer is none of this convention.
const NOTE_BYTES_MAX: u64 = 4_096;

/// How often the file is opened anew because another holder removed it just then.
const N_TRIES: usize = 16;

/// The right to write. Dropping it gives it back.
#[derive(Debug)]
pub struct WriterLock {
    path: PathBuf,
    file: File,
}

/// Why the right cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A process that lives holds it.
    #[error("process {} holds {path}", .holder.map_or_else(|| "of another kind".to_owned(), |pid| pid.to_string()))]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// Who holds it, where that is said.
        holder: Option<u32>,
    },
    /// The file cannot be used.
    #[error("{path}: {source}")]
    Io {
        /// The lock's file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl WriterLock {
    /// Takes the right for this process.
    ///
    /// # Errors
    /// When a process that lives holds it, or the file cannot be written.
    pub fn acquire(path: &Path, at: Timestamp) -> Result<Self, Refused> {
        let failed = |source| Refused::Io { path: path.to_owned(), source };
        for _ in 0..N_TRIES {
            let mut file = open_note(path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = read_note(&mut file).ok().and_then(|note| note.pid);
                    return Err(Refused::Held { path: path.to_owned(), holder });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // Its last holder may have removed it between the opening and the locking.
            if !is_at(&file, path).map_err(failed)? {
                continue;
            }
            let note = read_note(&mut file).map_err(failed)?;
            if note.is_held() {
                return Err(Refused::Held { path: path.to_owned(), holder: note.pid });
            }
            write_note(&mut file, at).map_err(failed)?;
            return Ok(Self { path: path.to_owned(), file });
        }
        Err(failed(io::Error::other("it comes and goes")))
    }
}

impl Drop for WriterLock {
    fn drop(&mut self) {
        // While the kernel lock is held nobody of ours puts another one there.
        if is_at(&self.file, &self.path).unwrap_or(false) {
            unlinkat(CWD, &self.path, AtFlags::empty()).ok();
        }
    }
}

/// What stands in a note.
#[derive(Debug, Default, PartialEq, Eq)]
struct Note {
    pid: Option<u32>,
    token: Option<String>,
}

impl Note {
    /// Tells whether its writer lives. A token of another program's making cannot be compared, so that its
    /// pid alone counts; our own tokens are known by their form.
    fn is_held(&self) -> bool {
        let Some(pid) = self.pid else { return false };
        let Some(living) = ProcId::of(pid) else { return false };
        if living == ProcId::current() && self.token.as_ref() == Some(&living.token) {
            // Ours from before we became another program in place, which gave the kernel's lock back.
            return false;
        }
        match &self.token {
            Some(token) if is_own_form(token) => *token == living.token,
            _ => true,
        }
    }
}

/// Tells whether a token is `<boot>.<ticks>`, as [`ProcId`] writes it.
fn is_own_form(token: &str) -> bool {
    token.split_once('.').is_some_and(|(boot, ticks)| {
        boot.len() == 8
            && boot.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !ticks.is_empty()
            && ticks.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn open_note(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(open(path, flags | OFlags::NONBLOCK, Mode::RUSR | Mode::WUSR)?);
    let meta = file.metadata()?;
    let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
    if !meta.is_file() || !is_ours {
        return Err(io::Error::other("is no regular file of ours"));
    }
    Ok(file)
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = fstat(file)?;
    match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => Ok((there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

fn read_note(file: &mut File) -> io::Result<Note> {
    let mut text = String::new();
    file.rewind()?;
    let read = file.take(NOTE_BYTES_MAX).read_to_string(&mut text);
    // What is no text is no note of this convention, and nobody's.
    if read.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::InvalidData) {
        read?;
    }
    Ok(parse(&text))
}

fn write_note(file: &mut File, at: Timestamp) -> io::Result<()> {
    let ProcId { pid, token } = ProcId::current();
    file.set_len(0)?;
    file.rewind()?;
    // The token is hexadecimal digits, a dot and digits: nothing that JSON would escape.
    write!(file, "{{\"pid\":{pid},\"token\":\"{token}\",\"at\":{}}}", at.as_millis())
}

/// Reads a note: the two fields of it that matter, wherever they stand.
fn parse(text: &str) -> Note {
    let after = |name: &str| {
        let rest = &text[text.find(&format!("\"{name}\""))? + name.len() + 2..];
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    };
    let pid = after("pid").and_then(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    });
    let token = after("token").and_then(|rest| {
        let rest = rest.strip_prefix('"')?;
        Some(rest[..rest.find('"')?].to_owned())
    });
    Note { pid, token }
}

#[cfg(test)]
mod tests;
