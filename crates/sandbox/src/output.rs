//! The blocking loop around a running child: reads its output, sees it end, stops it when asked.
//!
//! Standard output and standard error are one pipe, so bytes arrive in the order they were written. The
//! loop ends when the child is gone and the pipe is closed; or the child is gone and whoever else holds
//! the pipe was silent for a while, each chunk beginning the while anew; or such a holder kept writing
//! for longer than anybody waits. The pipe is read before the child's end is looked at, and once more
//! after it, so that nothing a child wrote before it ended is lost.
//!
//! Not here: decoding, keeping or shortening of the bytes.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use stdx::clock::Clock;
use vocab::limits;

use crate::{
    Cancel,
    report::OutputEnd,
    tree::{self, Pump, timespec},
};

/// The reading end of a child's output.
pub(crate) struct Reader<'a> {
    pipe: Option<OwnedFd>,
    sink: &'a mut dyn FnMut(&[u8]),
    buffer: Vec<u8>,
    /// Bytes that may still be handed on.
    allowed: u64,
    pub(crate) discarded: u64,
    /// Total bytes read, to tell silence from sound.
    heard: u64,
    enlarged: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(pipe: OwnedFd, allowed: u64, sink: &'a mut dyn FnMut(&[u8])) -> Self {
        let buffer = vec![0; limits::CHILD_CHUNK_BYTES];
        Self { pipe: Some(pipe), sink, buffer, allowed, discarded: 0, heard: 0, enlarged: false }
    }

    /// Hands out the pipe if it is still open.
    pub(crate) fn into_pipe(self) -> Option<OwnedFd> {
        self.pipe
    }

    /// Reads a bounded number of chunks, so that a fast writer cannot keep a wish to stop unseen.
    fn read_some(&mut self) {
        for _ in 0..limits::CHILD_CHUNKS_PER_WAKE {
            let Some(pipe) = &self.pipe else { return };
            match rustix::io::read(pipe, &mut self.buffer[..]) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    if count == self.buffer.len() && !self.enlarged {
                        self.enlarged = true;
                        // A writer this fast is worth a larger pipe; without it everything still works.
                        rustix::pipe::fcntl_setpipe_size(pipe, limits::CHILD_PIPE_BYTES).ok();
                    }
                    self.hand_on(count);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }

    /// Tells whether something has arrived, and reads it.
    fn hears(&mut self) -> bool {
        let before = self.heard;
        self.read_some();
        self.heard != before
    }

    fn hand_on(&mut self, count: usize) {
        self.heard = self.heard.wrapping_add(1);
        let room = usize::try_from(self.allowed).unwrap_or(usize::MAX);
        let kept = count.min(room);
        let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        self.allowed = self.allowed.saturating_sub(wide(kept));
        self.discarded = self.discarded.saturating_add(wide(count - kept));
        if let Some(bytes) = self.buffer.get(..kept).filter(|bytes| !bytes.is_empty()) {
            (self.sink)(bytes);
        }
    }

    /// Reads what the pipe holds now. Bounded by what a pipe can hold, since a writer may not stop.
    pub(crate) fn read_rest(&mut self) {
        for _ in 0..limits::CHILD_REST_READS_MAX {
            if !self.hears() {
                return;
            }
        }
    }
}

impl Pump for Reader<'_> {
    fn source(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    fn pump(&mut self) {
        self.read_some();
    }
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The child is gone.
    Gone(OutputEnd),
    /// Its time is over.
    TimedOut,
    /// Somebody asked.
    Cancelled,
}

/// Reads until the child is gone and its output with it, or until it must be stopped.
pub(crate) fn follow(
    reader: &mut Reader<'_>,
    child: &OwnedFd,
    cancel: &Cancel,
    timeout: Option<Duration>,
    clock: &Clock,
) -> Ended {
    let deadline = timeout.map(|timeout| clock.monotonic() + timeout);
    let silence = Duration::from_millis(limits::CHILD_SILENCE_MS);
    let overtime = Duration::from_millis(limits::CHILD_OVERTIME_MS);
    // When the child was seen gone, and when something was heard last.
    let mut gone: Option<Duration> = None;
    let mut heard = Duration::ZERO;
    loop {
        let until = match gone {
            Some(gone) => Some((heard + silence).min(gone + overtime)),
            None => deadline,
        };
        let woken = wait(reader, gone.is_none().then_some(child), cancel, until, clock);
        let sound = woken.pipe && reader.hears();
        let now = clock.monotonic();
        if sound {
            heard = now;
        }
        if cancel.is_cancelled() {
            return Ended::Cancelled;
        }
        if woken.child {
            (gone, heard) = (Some(now), now);
        }
        match gone {
            Some(_) if reader.pipe.is_none() => return Ended::Gone(OutputEnd::Closed),
            Some(gone) if now >= gone + overtime => return Ended::Gone(OutputEnd::Overtime),
            // What came between the wake and the look at the clock is sound, not silence.
            Some(_) if now >= heard + silence && !reader.hears() => {
                return Ended::Gone(OutputEnd::Silence);
            }
            None if deadline.is_some_and(|deadline| now >= deadline) => return Ended::TimedOut,
            _ => {}
        }
    }
}

/// What a wait was woken by.
struct Woken {
    pipe: bool,
    child: bool,
}

/// Waits for output, the child's end, a wish to stop, or a point in time.
fn wait(
    reader: &Reader<'_>,
    child: Option<&OwnedFd>,
    cancel: &Cancel,
    until: Option<Duration>,
    clock: &Clock,
) -> Woken {
    // A wait is rounded up, so that the point in time has passed when nothing else woke it.
    let left = until
        .map(|until| timespec(until.saturating_sub(clock.monotonic()) + Duration::from_micros(1)));
    let mut fds = vec![PollFd::new(cancel, PollFlags::IN)];
    fds.extend(child.map(|child| PollFd::new(child, PollFlags::IN)));
    fds.extend(reader.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    if poll(&mut fds, left.as_ref()).is_err() {
        // Interrupted: the caller looks at the clock and comes back.
        return Woken { pipe: false, child: false };
    }
    let woken = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
    let at_pipe = if child.is_some() { 2 } else { 1 };
    Woken { pipe: reader.pipe.is_some() && woken(at_pipe), child: child.is_some() && woken(1) }
}

/// Tells whether a stopped child is really dead, so that waiting for it cannot block.
pub(crate) fn is_dead(child: &OwnedFd) -> bool {
    tree::is_dead(child)
}

#[cfg(test)]
mod tests;
