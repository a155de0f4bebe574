//! The client's end of a host's socket. It never waits: what the host does not take yet is kept, what it has
//! said is cut into frames.
//!
//! Not here: what the frames mean.

use std::{
    collections::VecDeque,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    time::Duration,
};

use rustix::{
    event::PollFlags,
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
        connect, recv, send, shutdown, socket_with, sockopt::socket_peercred,
    },
};
use stdx::clock::Clock;
use vocab::{
    limits::{ATTACH_FENCE_MS_MAX, ATTACH_INPUT_BYTES_MAX},
    outcome::Failure,
};

use crate::{
    frame::{self, Decoder, Frame, Kind, Oversize},
    tty,
};

/// How much is read at once.
const READ_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Link {
    stream: OwnedFd,
    decoder: Decoder,
    /// What the host has not taken yet.
    unsent: VecDeque<u8>,
    buffer: Vec<u8>,
    is_ended: bool,
}

impl Link {
    /// Connects to the host that listens there.
    ///
    /// # Errors
    /// When none does, or it is not our own user's.
    pub(super) fn connect(socket: &Path) -> Result<Self, Failure> {
        let failed = |errno: Errno| {
            let code = match errno {
                Errno::NOENT | Errno::CONNREFUSED => "host_gone",
                _ => "host_unreachable",
            };
            let why = format!("no host answers at {}: {errno}", socket.display());
            Failure::not_started(code, why)
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let stream = stream.map_err(failed)?;
        connect(&stream, &SocketAddrUnix::new(socket).map_err(failed)?).map_err(failed)?;
        if socket_peercred(&stream).map_err(failed)?.uid != rustix::process::geteuid() {
            let why = format!("another user's process listens at {}", socket.display());
            return Err(Failure::not_started("foreign_process", why));
        }
        let (decoder, unsent) = (Decoder::default(), VecDeque::new());
        Ok(Self { stream, decoder, unsent, buffer: vec![0; READ_BYTES], is_ended: false })
    }

    /// Says something, as soon as the host takes it.
    pub(super) fn say(&mut self, kind: Kind, payload: &[u8]) {
        if !self.is_ended {
            self.unsent.extend(frame::encode(kind, payload));
            self.flush();
        }
    }

    /// Tells whether more may be typed.
    pub(super) fn has_room(&self) -> bool {
        self.unsent.len() < ATTACH_INPUT_BYTES_MAX
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends what the host takes now.
    pub(super) fn flush(&mut self) {
        while !self.unsent.is_empty() {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match send(&self.stream, self.unsent.as_slices().0, flags) {
                Ok(n_bytes) => drop(self.unsent.drain(..n_bytes)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // It hears nothing any more. What it has said before is still to be read.
                Err(_) => self.unsent.clear(),
            }
        }
        self.unsent = VecDeque::new();
    }

    /// Reads what has come. To be called once all frames were taken.
    pub(super) fn read(&mut self) {
        match recv(&self.stream, self.buffer.as_mut_slice(), RecvFlags::DONTWAIT) {
            Ok((0, _)) => self.is_ended = true,
            Ok((n_bytes, _)) => self.decoder.push(self.buffer.get(..n_bytes).unwrap_or_default()),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.is_ended = true,
        }
    }

    /// Returns the next whole frame.
    pub(super) fn take(&mut self) -> Result<Option<Frame>, Oversize> {
        self.decoder.take()
    }

    /// Says that nothing more is typed, and waits for the host to have read all of it. A socket that is
    /// closed before may take the last keys with it.
    pub(super) fn finish(mut self) {
        self.flush();
        let clock = Clock::system();
        let end = clock.monotonic() + Duration::from_millis(ATTACH_FENCE_MS_MAX);
        let is_told = shutdown(&self.stream, Shutdown::Write).is_ok();
        while is_told && !self.is_ended {
            let left = end.saturating_sub(clock.monotonic());
            if !tty::wait(&self.stream, PollFlags::IN, left) {
                return;
            }
            self.decoder = Decoder::default();
            self.read();
        }
    }

    /// Tells whether the host says nothing any more.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
