//! Who is at the other end of a connection, as far as the kernel tells.
//!
//! A peer on the Unix socket is an agent when it carries the marker of a run in its environment: children
//! of tools that left their parents keep the marker. Otherwise the nearest host of a job among its ancestors
//! decides: a shell that a person has started in a job is a person's, and what an agent has started there is
//! an agent's, whoever is the host's parent by now. Whatever else descends from this daemon is an agent, but
//! for what a job has left behind and proves with the job's token. A process we cannot look at is taken for
//! an agent, since only what is known to be a person's may act as one. Whether an agent may do something is
//! not decided here.
//!
//! The walk over `/proc` may take as long as a machine is busy, so it happens once per connection and
//! never on a thread of the runtime.

#![expect(clippy::disallowed_methods, reason = "reads /proc, which holds no user's file")]

use std::{fs, sync::Arc};

use daemon::{
    caller::CallerKind,
    jobs::{Jobs, Mark, Whose},
};
use stdx::proc_id::Stat;
use tokio::net::UnixStream;
use vocab::{
    ids::{JOB_MARKER, JOB_TOKEN, RUN_MARKER, RunId},
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

    /// Looks at the process.
    pub(super) async fn look(self, jobs: Option<&Arc<Jobs>>) -> Peer {
        let pid = match self {
            Self::Tcp => return Peer::Tcp,
            Self::Socket(None) => return Peer::Socket(CallerKind::Agent(None)),
            Self::Socket(Some(pid)) => pid,
        };
        if let Some(jobs) = jobs {
            // Those of an earlier daemon as well.
            jobs.adopt().await;
        }
        let first = judge(pid, jobs).await;
        let (Verdict::Ours, Some(jobs)) = (&first, jobs) else { return Peer::Socket(first.kind()) };
        // It may be of a job that is just being started.
        jobs.settle().await;
        Peer::Socket(judge(pid, Some(jobs)).await.kind())
    }
}

/// What a look at a process says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// What it is.
    Known(CallerKind),
    /// It descends from this daemon, and nothing else is known of it.
    Ours,
}

impl Verdict {
    fn kind(self) -> CallerKind {
        match self {
            Self::Known(kind) => kind,
            Self::Ours => CallerKind::Agent(None),
        }
    }
}

async fn judge(pid: u32, jobs: Option<&Arc<Jobs>>) -> Verdict {
    let jobs = jobs.cloned();
    let judging = tokio::task::spawn_blocking(move || kind_of(pid, jobs.as_deref()));
    // What was not looked at is not known to be a person's.
    judging.await.unwrap_or(Verdict::Known(CallerKind::Agent(None)))
}

/// Tells what a process of our own user is.
fn kind_of(pid: u32, jobs: Option<&Jobs>) -> Verdict {
    let me = std::process::id();
    if pid == me {
        return Verdict::Known(CallerKind::Person);
    }
    let agent = |run| Verdict::Known(CallerKind::Agent(run));
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return agent(None) };
    if let Some(marker) = variable(&environment, RUN_MARKER) {
        let run = std::str::from_utf8(marker).ok().and_then(|value| value.parse::<RunId>().ok());
        return agent(run);
    }
    let (family, top) = family(pid, me);
    let host = jobs.and_then(|jobs| jobs.whose(&family));
    let mark = || jobs.and_then(|jobs| mark(&environment, jobs));
    match (host, top) {
        (Some(whose), _) => Verdict::Known(of(whose)),
        (None, Top::Unknown) => agent(None),
        // Left behind by a program that has ended, it has no host above it any more. Whoever only names a
        // job may become less by it, and not more.
        (None, Top::Us) => match mark() {
            Some(Mark::Proven(whose)) => Verdict::Known(of(whose)),
            Some(Mark::Named(_)) | None => Verdict::Ours,
        },
        (None, Top::Nobody) => match mark() {
            Some(Mark::Proven(whose) | Mark::Named(whose)) => Verdict::Known(of(whose)),
            None => Verdict::Known(CallerKind::Person),
        },
    }
}

fn of(whose: Whose) -> CallerKind {
    match whose {
        Whose::Person => CallerKind::Person,
        Whose::Agent => CallerKind::Agent(None),
    }
}

/// Reads what an environment says of the job it belongs to.
fn mark(environment: &[u8], jobs: &Jobs) -> Option<Mark> {
    let id = variable(environment, JOB_MARKER)?;
    let id = std::str::from_utf8(id).ok()?.parse().ok()?;
    jobs.mark(&id, variable(environment, JOB_TOKEN).unwrap_or_default())
}

fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environment
        .split(|byte| *byte == 0)
        .find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Where a family ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Top {
    /// At this daemon.
    Us,
    /// At the system's first process.
    Nobody,
    /// It cannot be told.
    Unknown,
}

/// Returns a process and its ancestors, the youngest first, up to `ancestor` or the first of all.
///
/// A parent is older than its child. Where one is younger, its pid was given away between two
/// looks, so that the walk would go on in a stranger's family.
fn family(pid: u32, ancestor: u32) -> (Vec<u32>, Top) {
    let mut family = vec![pid];
    let Some(mut child) = Stat::of(pid) else { return (family, Top::Unknown) };
    for _ in 0..limits::ANCESTORS_MAX {
        if child.parent == ancestor {
            return (family, Top::Us);
        }
        if child.parent <= 1 {
            return (family, Top::Nobody);
        }
        let Some(parent) = Stat::of(child.parent).filter(|parent| parent.started <= child.started)
        else {
            return (family, Top::Unknown);
        };
        family.push(child.parent);
        child = parent;
    }
    (family, Top::Unknown)
}

#[cfg(test)]
mod tests;
