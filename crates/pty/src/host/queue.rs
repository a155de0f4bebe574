//! What a client has not read yet. It is bounded: a client that does not keep up gets the screen as it
//! is then, instead of everything that led to it.

use std::{collections::VecDeque, rc::Rc};

use vocab::limits::{HOST_QUEUE_BYTES_MAX, HOST_REPLIES_BYTES_MAX};

/// A frame that several clients may get.
pub(super) type Shared = Rc<[u8]>;

/// A client asks on and reads nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// What may be thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// Of the screen: the next snapshot says it better.
    Screen,
    /// Told once.
    Kept,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    frames: VecDeque<(Shared, Worth)>,
    /// How much of the first one is sent. It has to be finished, whatever else is thrown away.
    n_sent: usize,
    n_bytes: usize,
    /// Output since the last snapshot.
    n_live: usize,
    /// It did not keep up: nothing more is kept for it until it has read what it began.
    is_behind: bool,
}

impl Queue {
    /// Adds output, of which so much is sent already where nothing waits; or throws it away together with what
    /// waits, when that is too much.
    pub(super) fn push_output(&mut self, frame: &Shared, n_sent: usize) {
        if self.is_behind {
            return;
        }
        if HOST_QUEUE_BYTES_MAX < self.n_live + frame.len() {
            self.fall_behind();
        } else {
            self.n_live += frame.len();
            self.add(Rc::clone(frame), Worth::Screen);
            self.n_sent += n_sent;
            self.n_bytes -= n_sent;
        }
    }

    /// Adds a frame for this client alone.
    pub(super) fn push(&mut self, frame: Vec<u8>, worth: Worth) -> Result<(), Full> {
        if HOST_REPLIES_BYTES_MAX < self.n_bytes + frame.len() {
            return Err(Full);
        }
        self.add(frame.into(), worth);
        Ok(())
    }

    /// Begins anew: whatever waits is replaced by what comes now.
    pub(super) fn restart(&mut self) {
        self.fall_behind();
        self.is_behind = false;
    }

    /// Throws away what the next snapshot says better.
    pub(super) fn fall_behind(&mut self) {
        let mut is_begun = 0 < self.n_sent;
        self.frames.retain(|(_, worth)| std::mem::take(&mut is_begun) || *worth == Worth::Kept);
        self.n_bytes =
            self.frames.iter().map(|(frame, _)| frame.len()).sum::<usize>() - self.n_sent;
        self.n_live = 0;
        self.is_behind = true;
    }

    fn add(&mut self, frame: Shared, worth: Worth) {
        self.n_bytes += frame.len();
        self.frames.push_back((frame, worth));
    }

    /// Sends as much as is taken now.
    pub(super) fn flush<E>(
        &mut self,
        mut send: impl FnMut(&[u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        while let Some((frame, _)) = self.frames.front() {
            let n_sent = send(&frame[self.n_sent..])?;
            if n_sent == 0 {
                return Ok(());
            }
            self.n_sent += n_sent;
            self.n_bytes -= n_sent;
            if self.n_sent == frame.len() {
                self.n_sent = 0;
                self.frames.pop_front();
            }
        }
        self.n_live = 0;
        self.frames = VecDeque::new();
        Ok(())
    }

    /// Returns all that was not sent, and whether it did not keep up.
    pub(super) fn unsent(&self) -> (Vec<u8>, bool) {
        let bytes = self.frames.iter().flat_map(|(frame, _)| frame.iter()).copied();
        (bytes.skip(self.n_sent).collect(), self.is_behind)
    }

    /// Takes over what another build has not sent. It may begin within a frame, so all of it is kept.
    pub(super) fn inherited(unsent: &[u8], is_behind: bool) -> Self {
        let mut queue = Self { is_behind, ..Self::default() };
        if !unsent.is_empty() {
            queue.n_live = unsent.len();
            queue.add(unsent.into(), Worth::Kept);
        }
        queue
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Tells whether it did not keep up and can be given a snapshot now.
    pub(super) fn wants_snapshot(&self) -> bool {
        self.is_behind && self.frames.is_empty()
    }

    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }
}
