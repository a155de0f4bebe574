//! A line in memory, which can be made to break at any message.
//!
//! Both ends lie in this process. For tests of whatever stands above a transport.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::{Future, Sink, StreamExt, stream};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, PollSender, WaitForCancellationFutureOwned};

use super::{Broken, Said, Transport};
use crate::frame::Frame;

/// Messages that a line in memory holds in each direction.
const N_HELD: usize = 16;

/// When a line breaks. Clones count together, so that one plan may outlive several lines.
#[derive(Debug, Clone)]
pub struct Cut(Arc<Plan>);

#[derive(Debug)]
struct Plan {
    /// Messages until the break, by direction; negative for never.
    left: [AtomicI64; 2],
    /// What `left` becomes after a break.
    after: i64,
    fate: Fate,
}

/// Whose messages are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Those of the first end.
    First,
    /// Those of the second end.
    Second,
}

/// What becomes of the message at which a line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It still arrives, and so does what was said before.
    Arrives,
    /// It is lost, and so is what the other side has not read yet.
    Lost,
}

fn left(side: Side, n_messages: i64) -> [i64; 2] {
    match side {
        Side::First => [n_messages, -1],
        Side::Second => [-1, n_messages],
    }
}

impl Cut {
    /// Never breaks.
    #[must_use]
    pub fn never() -> Self {
        Self::plan([-1, -1], i64::MIN, Fate::Arrives)
    }

    /// Breaks at the message of that index, counted from 0 over all lines with this plan.
    #[must_use]
    pub fn at(side: Side, message_idx: u32, fate: Fate) -> Self {
        Self::plan(left(side, i64::from(message_idx)), i64::MIN, fate)
    }

    /// Breaks again and again, each time after so many messages of that side.
    #[must_use]
    pub fn every(side: Side, n_messages: u32, fate: Fate) -> Self {
        let n_messages = i64::from(n_messages);
        Self::plan(left(side, n_messages), n_messages, fate)
    }

    fn plan(left: [i64; 2], after: i64, fate: Fate) -> Self {
        Self(Arc::new(Plan { left: left.map(AtomicI64::new), after, fate }))
    }

    /// Tells whether a break that happens once has happened.
    #[must_use]
    pub fn happened(&self) -> bool {
        self.0.left.iter().any(|left| left.load(Ordering::SeqCst) == i64::MIN)
    }

    /// Counts a message; true when the line breaks at it.
    fn counts(&self, side: Side) -> bool {
        let left = &self.0.left[side as usize];
        let after = self.0.after;
        let step = |left: i64| match left {
            0 => Some(after),
            left if left > 0 => Some(left - 1),
            _ => None,
        };
        left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step) == Ok(0)
    }
}

/// The end of a line whose other end this process holds too.
#[derive(Debug)]
pub struct Near(Transport);

impl Near {
    /// Returns the end itself.
    #[must_use]
    pub fn into_transport(self) -> Transport {
        self.0
    }
}

/// Opens a line that breaks only when one end is dropped.
#[must_use]
pub fn pair() -> (Transport, Near) {
    breaking_pair(&Cut::never())
}

/// Opens a line that breaks by plan.
#[must_use]
pub fn breaking_pair(cut: &Cut) -> (Transport, Near) {
    let broken = CancellationToken::new();
    let (to_second, at_second) = mpsc::channel(N_HELD);
    let (to_first, at_first) = mpsc::channel(N_HELD);
    let closed = [Side::First, Side::Second].map(|_| Arc::new(AtomicBool::new(false)));
    let end = |sender, receiver, side| {
        let [first, second] = closed.clone();
        let (ours, theirs) = if side == Side::First { (first, second) } else { (second, first) };
        Transport {
            incoming: Receiving::stream(receiver, cut, &broken, theirs),
            outgoing: Box::pin(Sending {
                sender: PollSender::new(sender),
                side,
                cut: cut.clone(),
                broken: broken.clone(),
                closed: ours,
            }),
        }
    };
    (end(to_second, at_first, Side::First), Near(end(to_first, at_second, Side::Second)))
}

struct Receiving {
    receiver: mpsc::Receiver<Frame>,
    lossy: bool,
    broken: CancellationToken,
    breaks: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Whether the other end was closed, and not merely dropped.
    closed: Arc<AtomicBool>,
    ended: bool,
}

impl Receiving {
    fn stream(
        receiver: mpsc::Receiver<Frame>,
        cut: &Cut,
        broken: &CancellationToken,
        closed: Arc<AtomicBool>,
    ) -> super::Incoming {
        let breaks = Box::pin(broken.clone().cancelled_owned());
        let (lossy, broken) = (cut.0.fate == Fate::Lost, broken.clone());
        let mut receiving = Self { receiver, lossy, broken, breaks, closed, ended: false };
        stream::poll_fn(move |context| receiving.poll(context)).boxed()
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame, Broken>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let is_broken = self.breaks.as_mut().poll(context).is_ready() || self.broken.is_cancelled();
        if is_broken && self.lossy {
            return self.end("it was cut");
        }
        match self.receiver.poll_recv(context) {
            Poll::Ready(None) if !self.closed.load(Ordering::SeqCst) => {
                self.end("its other end is gone")
            }
            Poll::Ready(frame) => Poll::Ready(frame.map(Ok)),
            Poll::Pending if is_broken => self.end("it was cut"),
            Poll::Pending => Poll::Pending,
        }
    }

    fn end(&mut self, why: &str) -> Poll<Option<Result<Frame, Broken>>> {
        self.ended = true;
        Poll::Ready(Some(Err(Broken::Lost(why.to_owned()))))
    }
}

struct Sending {
    sender: PollSender<Frame>,
    side: Side,
    cut: Cut,
    broken: CancellationToken,
    closed: Arc<AtomicBool>,
}

impl Sending {
    fn close(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        self.sender.close();
    }

    fn check(&self) -> Result<(), Broken> {
        if self.broken.is_cancelled() { Err(Broken::Lost("it was cut".to_owned())) } else { Ok(()) }
    }
}

impl Sink<Said> for Sending {
    type Error = Broken;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let this = self.get_mut();
        this.check()?;
        this.sender.poll_reserve(context).map_err(|_closed| Broken::ended())
    }

    fn start_send(self: Pin<&mut Self>, said: Said) -> Result<(), Broken> {
        let this = self.get_mut();
        this.check()?;
        let Said::Frame(frame) = said else {
            this.close();
            return Ok(());
        };
        let cut = this.cut.counts(this.side);
        if cut && this.cut.0.fate == Fate::Lost {
            this.broken.cancel();
            return this.check();
        }
        let sent = this.sender.send_item(frame).map_err(|_closed| Broken::ended());
        if cut {
            this.broken.cancel();
        }
        sent
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(self.check())
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.get_mut().close();
        Poll::Ready(Ok(()))
    }
}
