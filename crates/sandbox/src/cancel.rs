//! A wish to stop, made from any thread and seen by a blocking poll.
//!
//! An event descriptor carries the wish because a poll can wait for it together with a pipe; a flag
//! beside it answers without a system call. Not here: who wished and why.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::event::{EventfdFlags, eventfd};

/// A wish to stop. Clones are the same wish; once made it stays made.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    asked: AtomicBool,
    event: OwnedFd,
}

impl Cancel {
    /// Makes a wish nobody has expressed yet.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Inner { asked: AtomicBool::new(false), event })))
    }

    /// Asks to stop. Asking again changes nothing.
    pub fn cancel(&self) {
        if !self.0.asked.swap(true, Ordering::SeqCst) {
            // The counter is far from its maximum, so the write cannot be refused.
            rustix::io::write(&self.0.event, &1u64.to_ne_bytes()).ok();
        }
    }

    /// Tells whether somebody asked.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }
}

impl Cancel {
    /// Takes the wish back. Only for a wish that means "look again", never for one to stop.
    pub(crate) fn forget(&self) {
        self.0.asked.store(false, Ordering::SeqCst);
        // Nothing to read means that it was taken back already.
        rustix::io::read(&self.0.event, &mut [0; 8]).ok();
    }
}

impl AsFd for Cancel {
    /// Lends the descriptor that is readable once somebody asked; nobody reads it, so it stays so.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
