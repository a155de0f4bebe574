//! Memory as a child's streams: what it says goes where nobody has to read along, and no more than is bounded.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{MemfdFlags, SealFlags, SeekFrom},
    io::Errno,
};

/// Makes memory that takes so many bytes and no more: an end to write to, and one to read.
pub(super) fn sealed(bytes_max: u64) -> Result<(OwnedFd, OwnedFd), Errno> {
    let file = rustix::fs::memfd_create("git", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&file, bytes_max)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK)?;
    Ok((rustix::io::fcntl_dupfd_cloexec(&file, 0)?, file))
}

/// Reads what was written: the two ends share their place in the file.
pub(super) fn written(file: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let length = rustix::fs::tell(file)?;
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, u64::try_from(at).unwrap_or_default())? {
            0 => break,
            n_read => at += n_read,
        }
    }
    bytes.truncate(at);
    Ok(bytes)
}

/// Makes what a child reads.
pub(super) fn given(input: &[u8]) -> Result<OwnedFd, Errno> {
    let file = rustix::fs::memfd_create("input", MemfdFlags::CLOEXEC)?;
    let mut left = input;
    while !left.is_empty() {
        let n_written = rustix::io::write(&file, left)?;
        left = left.get(n_written..).unwrap_or_default();
    }
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    Ok(file)
}
