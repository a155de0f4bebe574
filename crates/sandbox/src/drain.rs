//! Reads on where a call stopped reading, so that what it left running is not killed by a closed pipe.
//!
//! One thread a scope, started with the first such pipe. What it reads is thrown away, and it reads with
//! pauses: a descendant that only writes must not keep a processor busy. Not here: keeping any of it.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use vocab::limits;

use crate::{Cancel, tree::timespec};

/// The reading thread of a scope.
#[derive(Debug)]
pub(crate) struct Drain {
    pipes: Arc<Mutex<Vec<OwnedFd>>>,
    /// How many pipes are held, here and in the thread.
    held: Arc<AtomicUsize>,
    stop: Cancel,
    /// Tells the thread that a pipe came.
    more: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl Drain {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let pipes = Arc::new(Mutex::new(Vec::new()));
        let (stop, more) = (Cancel::new()?, Cancel::new()?);
        let held = Arc::new(AtomicUsize::new(0));
        let (shared, stopped, came) = (Arc::clone(&pipes), stop.clone(), more.clone());
        let count = Arc::clone(&held);
        let thread = std::thread::Builder::new()
            .name("sandbox-drain".into())
            .spawn(move || drain(&shared, &count, &stopped, &came))?;
        Ok(Self { pipes, held, stop, more, thread: Some(thread) })
    }

    /// Hands over a pipe. Beyond the limit it is closed, which its writers notice.
    pub(crate) fn take(&self, pipe: OwnedFd) {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        // Only this side counts up, and it holds the lock, so the limit is never passed.
        if self.held.load(Ordering::SeqCst) < limits::CHILD_DRAINED_PIPES_MAX {
            self.held.fetch_add(1, Ordering::SeqCst);
            pipes.push(pipe);
        }
        drop(pipes);
        self.more.cancel();
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // The thread ends by itself now; if it panicked there is nothing left to do either.
            thread.join().ok();
        }
    }
}

fn drain(pipes: &Mutex<Vec<OwnedFd>>, held: &AtomicUsize, stop: &Cancel, more: &Cancel) {
    let mut buffer = vec![0; limits::CHILD_CHUNK_BYTES];
    let mut mine: Vec<OwnedFd> = Vec::new();
    while !stop.is_cancelled() {
        more.forget();
        mine.append(&mut pipes.lock().unwrap_or_else(PoisonError::into_inner));
        let before = mine.len();
        mine.retain(|pipe| !is_over(rustix::io::read(pipe, &mut buffer[..])));
        held.fetch_sub(before - mine.len(), Ordering::SeqCst);
        let mut fds = vec![PollFd::new(stop, PollFlags::IN)];
        // The pause: only the wish to stop interrupts it.
        let pause = timespec(Duration::from_millis(limits::CHILD_DRAIN_PAUSE_MS));
        poll(&mut fds, Some(&pause)).ok();
        fds.push(PollFd::new(more, PollFlags::IN));
        fds.extend(mine.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        poll(&mut fds, None).ok();
    }
}

/// Tells whether nothing more can come from a pipe that answered like this.
fn is_over(answer: Result<usize, Errno>) -> bool {
    !matches!(answer, Ok(1..) | Err(Errno::AGAIN | Errno::INTR))
}

#[cfg(test)]
mod tests;
