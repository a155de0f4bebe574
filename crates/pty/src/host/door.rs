//! The host's socket: private, in the runtime directory, and open to our own user alone.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, chmod},
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen,
        socket_with, sockopt::socket_peercred,
    },
};
use stdx::{lock::Lock, state_file};

/// Connections that wait to be taken, as many as the kernel usually lets.
const BACKLOG: i32 = 128;

#[derive(Debug)]
pub(super) struct Door {
    listener: OwnedFd,
    path: PathBuf,
    /// The job's: whoever holds it may listen.
    lock: Lock,
}

impl Door {
    /// Listens. A leftover of that name is removed: nobody else has the job's lock, so nobody listens there.
    pub(super) fn open(path: &Path, lock: Lock) -> io::Result<Self> {
        Ok(Self { listener: listen_at(path)?, path: path.to_owned(), lock })
    }

    /// Takes over a door that the build before has opened.
    pub(super) fn inherited(listener: OwnedFd, path: &Path, lock: Lock) -> Self {
        Self { listener, path: path.to_owned(), lock }
    }

    /// Tells whether somebody could find it.
    pub(super) fn has_name(&self) -> bool {
        rustix::fs::lstat(&self.path).is_ok()
    }

    /// Listens under its name again, which somebody has removed, perhaps with its directory. Those who wait
    /// at the old one are to be taken before.
    pub(super) fn open_again(&mut self) -> io::Result<()> {
        self.listener = listen_at(&self.path)?;
        Ok(())
    }

    /// Lends the lock.
    pub(super) fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Takes the next connection of our own user; none when nobody waits.
    pub(super) fn take(&self) -> Option<OwnedFd> {
        let me = rustix::process::geteuid();
        loop {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let stream = accept_with(&self.listener, flags).ok()?;
            if socket_peercred(&stream).is_ok_and(|peer| peer.uid == me) {
                return Some(stream);
            }
        }
    }

    /// Removes the name.
    pub(super) fn close(self) {
        // A name that somebody else removed is gone as well.
        state_file::remove(&self.path).ok();
    }
}

fn listen_at(path: &Path) -> io::Result<OwnedFd> {
    if let Some(runtime) = path.parent() {
        state_file::ensure_dir(runtime)?;
    }
    state_file::remove(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&listener, &SocketAddrUnix::new(path)?)?;
    // The directory is private already, so nobody comes in between.
    chmod(path, Mode::RUSR | Mode::WUSR)?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
