//! Resumption below meaning: both sides count what they say and hear, keep what is not yet confirmed, and say it
//! again on a new line. The layers above see neither loss nor repetition.
//!
//! Also the one queue of a connection toward the other side: what was pushed and not confirmed waits here, in
//! bytes and messages, and whoever produces content asks first whether there is room.

use std::collections::VecDeque;

use vocab::limits::{
    REMOTE_ACK_BYTES, REMOTE_ACK_MESSAGES, REMOTE_PROGRESS_BYTES_MAX, REMOTE_QUEUE_BYTES_MAX,
    REMOTE_QUEUE_MESSAGES_MAX, REMOTE_QUEUE_ROOM_BYTES,
};

use crate::{
    codec::{Bounds, scan},
    frame::{Frame, Violation},
    protocol::{Ack, BadMessage, Ping, Pong, tagged, write},
};

/// Whether confirmed messages are all that may be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// What was handed to a line is kept until it is confirmed.
    UntilConfirmed,
    /// Nothing is kept: a lost line is the end.
    Nothing,
}

/// One side of a line. Messages are numbered from 1 in each direction.
#[derive(Debug)]
pub struct Line {
    keeping: Keeping,
    /// The messages after `n_confirmed`, in order.
    queue: VecDeque<Frame>,
    queue_bytes: usize,
    n_confirmed: u64,
    /// How many of the queue were handed to the present transport.
    n_written: usize,
    /// The greatest number ever handed to a transport.
    written_max: u64,
    n_received: u64,
    unconfirmed: (u64, usize),
    due: Due,
}

/// Uncounted messages to be said next.
#[derive(Debug, Default)]
struct Due {
    greeting: Option<Frame>,
    ack: bool,
    probe: Option<Probe>,
}

#[derive(Debug, Clone, Copy)]
enum Probe {
    Ping,
    Pong,
}

impl Line {
    /// Begins to count.
    #[must_use]
    pub fn new(keeping: Keeping) -> Self {
        Self {
            keeping,
            queue: VecDeque::new(),
            queue_bytes: 0,
            n_confirmed: 0,
            n_written: 0,
            written_max: 0,
            n_received: 0,
            unconfirmed: (0, 0),
            due: Due::default(),
        }
    }

    /// Queues a counted message and returns its number.
    pub fn push(&mut self, frame: Frame) -> u64 {
        self.queue_bytes += frame.len();
        self.queue.push_back(frame);
        self.n_confirmed + self.queue.len() as u64
    }

    /// Returns the next message for the transport.
    pub fn take(&mut self) -> Option<Frame> {
        if let Some(greeting) = self.due.greeting.take() {
            return Some(greeting);
        }
        if std::mem::take(&mut self.due.ack) {
            return Some(write(&Ack { received: self.n_received }));
        }
        match self.due.probe.take() {
            Some(Probe::Ping) => return Some(write(&Ping {})),
            Some(Probe::Pong) => return Some(write(&Pong {})),
            None => {}
        }
        let frame = self.queue.get(self.n_written)?.clone();
        self.n_written += 1;
        self.written_max = self.written_max.max(self.n_confirmed + self.n_written as u64);
        if self.keeping == Keeping::Nothing {
            self.forget(1);
        }
        Some(frame)
    }

    /// Tells whether something waits for the transport.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.due.greeting.is_some()
            || self.due.ack
            || self.due.probe.is_some()
            || self.n_written < self.queue.len()
    }

    /// Tells whether a message was ever handed to a transport, so that it may have come.
    #[must_use]
    pub fn was_written(&self, number: u64) -> bool {
        number <= self.written_max
    }

    fn forget(&mut self, count: usize) {
        let forgotten: usize = self.queue.drain(..count).map(|frame| frame.len()).sum();
        self.queue_bytes -= forgotten;
        self.n_confirmed += count as u64;
        self.n_written = self.n_written.saturating_sub(count);
    }

    /// Counts a message that came, and says so to the other side once in a while.
    pub fn heard(&mut self, len: usize) {
        self.n_received += 1;
        let (messages, bytes) = self.unconfirmed;
        self.unconfirmed = (messages + 1, bytes + len);
        let (messages, bytes) = self.unconfirmed;
        if self.keeping == Keeping::UntilConfirmed
            && (messages >= REMOTE_ACK_MESSAGES || bytes >= REMOTE_ACK_BYTES)
        {
            self.unconfirmed = (0, 0);
            self.due.ack = true;
        }
    }

    /// Returns how many counted messages have come.
    #[must_use]
    pub fn n_received(&self) -> u64 {
        self.n_received
    }

    /// Forgets what the other side has.
    ///
    /// # Errors
    /// When it claims to have what was never said.
    pub fn confirmed(&mut self, n_received: u64) -> Result<(), Violation> {
        if self.keeping == Keeping::Nothing {
            return Ok(());
        }
        let count = n_received.saturating_sub(self.n_confirmed);
        match usize::try_from(count) {
            Ok(count) if count <= self.n_written => {
                self.forget(count);
                Ok(())
            }
            Ok(_) | Err(_) => Err(Violation::protocol("an acknowledgement of what was not said")),
        }
    }

    /// Goes on upon a new transport: forgets what the other side has, and says the rest again.
    ///
    /// # Errors
    /// When it claims to have what was never said, or lacks what it had.
    pub fn resume(&mut self, n_received: u64) -> Result<(), Violation> {
        let said = self.n_confirmed..=self.written_max.max(self.n_confirmed);
        if self.keeping == Keeping::Nothing || !said.contains(&n_received) {
            return Err(Violation::protocol("the counts of the two sides do not fit"));
        }
        let count = n_received - self.n_confirmed;
        self.forget(usize::try_from(count).unwrap_or(usize::MAX).min(self.queue.len()));
        self.n_written = 0;
        self.unconfirmed = (0, 0);
        self.due = Due::default();
        Ok(())
    }

    /// Says something uncounted before everything else on this transport.
    pub fn greet(&mut self, greeting: Frame) {
        self.due.greeting = Some(greeting);
    }

    /// Asks the other side whether it is there.
    pub fn ping(&mut self) {
        self.due.probe = Some(Probe::Ping);
    }

    /// Answers that question.
    pub fn pong(&mut self) {
        self.due.probe = Some(Probe::Pong);
    }

    /// Tells whether content may be queued.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.queue_bytes < REMOTE_QUEUE_ROOM_BYTES
            && self.queue.len() < REMOTE_QUEUE_MESSAGES_MAX / 2
    }

    /// Tells whether progress may be queued, which nobody waits for.
    #[must_use]
    pub fn has_room_for_progress(&self) -> bool {
        self.queue_bytes < REMOTE_PROGRESS_BYTES_MAX
            && self.queue.len() < REMOTE_QUEUE_MESSAGES_MAX / 2
    }

    /// Tells whether more waits than may.
    #[must_use]
    pub fn is_overfull(&self) -> bool {
        self.queue_bytes > REMOTE_QUEUE_BYTES_MAX || self.queue.len() > REMOTE_QUEUE_MESSAGES_MAX
    }
}

/// A message that only concerns the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// So many counted messages have come to the other side.
    Ack(u64),
    /// The other side asks whether we are there.
    Ping,
    /// The other side is there.
    Pong,
}

/// What a control message may be long, whatever white space is in it.
const CONTROL_BYTES_MAX: usize = 256;

/// Tells control messages, which are not counted, from all others, which are.
///
/// # Errors
/// When it is one with wrong fields.
pub fn control(frame: &Frame) -> Result<Option<Control>, Violation> {
    let Frame::Text(text) = frame else { return Ok(None) };
    if text.len() > CONTROL_BYTES_MAX {
        return Ok(None);
    }
    let Ok(head) = scan(text, &Bounds::usual()) else { return Ok(None) };
    let control = match head.kind {
        "ack" => tagged::read::<Ack>(text).map(|ack| Control::Ack(ack.received)),
        "ping" => tagged::read::<Ping>(text).map(|_| Control::Ping),
        "pong" => tagged::read::<Pong>(text).map(|_| Control::Pong),
        _ => return Ok(None),
    };
    let wrong = |_: BadMessage| Violation::protocol(format!("a wrong {}", head.kind));
    control.map(Some).map_err(wrong)
}

#[cfg(test)]
mod tests;
