//! Who is at the other end of a connection, as far as the kernel tells.
//!
//! A peer on the Unix socket is an agent when its process descends from this daemon, or carries the
//! marker of a run in its environment: children of tools that left their parents keep the marker. A
//! process we cannot look at is taken for an agent, since only what is known to be a person's may act
//! as one. Whether an agent may do something is not decided here.
//!
//! The walk over `/proc` may take as long as a machine is busy, so it happens once per connection and
//! never on a thread of the runtime.

#![expect(clippy::disallowed_methods, reason = "reads /proc, which holds no user's file")]

use std::fs;

use daemon::caller::CallerKind;
use stdx::proc_id::Stat;
use tokio::net::UnixStream;
use vocab::{
    ids::{RUN_MARKER, RunId},
    limits,
};

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// A process of the same user on the Unix socket.
    Socket(CallerKind),
    /// Somebody on loopback TCP.
    Tcp,
}

/// The other end of a connection nobody has looked at yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guest {
    /// A process of the same user on the Unix socket; its pid where the kernel tells it.
    Socket(Option<u32>),
    /// Somebody on loopback TCP.
    Tcp,
}

impl Guest {
    /// Tells who opened a Unix connection; none when it belongs to another user.
    #[must_use]
    pub fn of_socket(stream: &UnixStream) -> Option<Self> {
        let told = stream.peer_cred().ok()?;
        if told.uid() != rustix::process::geteuid().as_raw() {
            return None;
        }
        // The pid is absent or zero when the peer lives in a namespace that we cannot see into.
        let pid = told.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
        Some(Self::Socket(pid))
    }

    /// Looks at the process, before its first request is read: a pid may be given away later.
    pub async fn look(self) -> Peer {
        match self {
            Self::Tcp => Peer::Tcp,
            Self::Socket(None) => Peer::Socket(CallerKind::Agent(None)),
            Self::Socket(Some(pid)) => {
                let looked = tokio::task::spawn_blocking(move || kind_of(pid)).await;
                // What was not looked at is not known to be a person's.
                Peer::Socket(looked.unwrap_or(CallerKind::Agent(None)))
            }
        }
    }
}

/// Tells what a process of our own user is.
fn kind_of(pid: u32) -> CallerKind {
    let me = std::process::id();
    if pid == me {
        return CallerKind::Person;
    }
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
        return CallerKind::Agent(None);
    };
    let marker = variable(&environment, RUN_MARKER);
    let run = marker
        .and_then(|value| std::str::from_utf8(value).ok())
        .and_then(|value| value.parse::<RunId>().ok());
    if marker.is_some() || descends(pid, me).unwrap_or(true) {
        CallerKind::Agent(run)
    } else {
        CallerKind::Person
    }
}

fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environment
        .split(|byte| *byte == 0)
        .find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Tells whether a process descends from `ancestor`; none when it cannot be told.
///
/// A parent is older than its child. Where one is younger, its pid was given away between two
/// looks, so that the walk would go on in a stranger's family.
fn descends(pid: u32, ancestor: u32) -> Option<bool> {
    let mut child = Stat::of(pid)?;
    for _ in 0..limits::ANCESTORS_MAX {
        if child.parent == ancestor {
            return Some(true);
        }
        if child.parent <= 1 {
            return Some(false);
        }
        let parent = Stat::of(child.parent)?;
        if parent.started > child.started {
            return None;
        }
        child = parent;
    }
    None
}

#[cfg(test)]
mod tests;
