//! What a live run says, folded once for everybody who listens.
//!
//! There is one copy of the message, however many readers there are. A reader that keeps up shares each
//! frame and its encoding with the others; one that fell behind is served from the fold at its position.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use bytes::Bytes;
use tokio::sync::broadcast;
use vocab::{
    ids::{CallId, RunId, SessionId},
    limits::{LIVE_FRAMES_MAX, PROGRESS_TAIL_BYTES_MAX, READER_BEHIND_BYTES_MAX},
    live::{Chunk, Log, Piece, Position, Told},
};

/// What a frame tells.
#[derive(Debug)]
pub enum Content {
    /// A piece of the message, with the position after it.
    Piece(Piece),
    /// Output of a running call. It has no position; who misses it reads the outcome.
    Progress {
        /// The call.
        call: CallId,
        /// More output, or all that is kept of it.
        text: String,
        /// Whether the text stands for all output so far.
        replaces: bool,
    },
}

/// A frame, shared by all readers. Its encoding is made once, by whoever needs it first.
#[derive(Debug)]
pub struct Frame {
    /// What it tells.
    pub content: Content,
    encoded: OnceLock<Bytes>,
}

impl Frame {
    fn new(content: Content) -> Arc<Self> {
        Arc::new(Self { content, encoded: OnceLock::new() })
    }

    /// Returns the frame's encoding, which `encode` makes if nobody did before.
    pub fn encoded(&self, encode: impl FnOnce(&Content) -> Bytes) -> Bytes {
        self.encoded.get_or_init(|| encode(&self.content)).clone()
    }
}

/// A live run as its readers see it.
#[derive(Debug)]
pub struct Live {
    session: SessionId,
    run: RunId,
    state: Mutex<State>,
    frames: broadcast::Sender<Arc<Frame>>,
}

#[derive(Debug)]
struct State {
    log: Log,
    progress: BTreeMap<CallId, VecDeque<u8>>,
    over: bool,
}

impl Live {
    /// Builds the live view of a run from what is stored of it.
    #[must_use]
    pub fn new(session: SessionId, run: RunId, log: Log) -> Arc<Self> {
        let (frames, _) = broadcast::channel(LIVE_FRAMES_MAX);
        let state = State { log, progress: BTreeMap::new(), over: false };
        Arc::new(Self { session, run, state: Mutex::new(state), frames })
    }

    /// Returns the session.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Tells a chunk. One that finishes the stream ends it for all readers.
    pub fn chunk(&self, chunk: Chunk) {
        let mut state = self.lock();
        if let Chunk::Output { call, .. } = &chunk {
            state.progress.remove(call);
        }
        state.over |= matches!(chunk, Chunk::Finish { .. });
        let piece = state.log.push(chunk);
        self.send(Content::Piece(piece));
    }

    /// Takes back the finish of a parked run, because it goes on.
    pub fn reopen(&self) {
        let mut state = self.lock();
        state.log.reopen();
        state.over = false;
    }

    /// Tells more text of the chunk that was told last.
    pub fn text(&self, text: &str) {
        let mut state = self.lock();
        if let Some(piece) = state.log.push_text(text) {
            self.send(Content::Piece(piece));
        }
    }

    /// Tells output of a running call.
    pub fn progress(&self, call: &CallId, text: &str) {
        let mut state = self.lock();
        let tail = state.progress.entry(call.clone()).or_default();
        tail.extend(text.bytes());
        let excess = tail.len().saturating_sub(PROGRESS_TAIL_BYTES_MAX);
        tail.drain(..excess);
        self.send(Content::Progress { call: call.clone(), text: text.to_owned(), replaces: false });
    }

    /// Joins the readers at a position; from the start when nobody can stand there.
    #[must_use]
    pub fn reader(self: &Arc<Self>, from: Position) -> Reader {
        let state = self.lock();
        let receiver = self.frames.subscribe();
        let mut pending: VecDeque<Arc<Frame>> = frames_since(&state.log, from);
        for (call, tail) in &state.progress {
            let bytes: Vec<u8> = tail.iter().copied().collect();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            pending.push_back(Frame::new(Content::Progress {
                call: call.clone(),
                text,
                replaces: true,
            }));
        }
        let at = if state.log.holds(from) { from } else { Position::default() };
        let over = state.over;
        drop(state);
        Reader {
            run: self.run.clone(),
            source: Some((Arc::clone(self), receiver)),
            pending,
            at,
            over,
        }
    }

    fn send(&self, content: Content) {
        // Nobody listening is fine: the log has it.
        self.frames.send(Frame::new(content)).ok();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn frames_since(log: &Log, from: Position) -> VecDeque<Arc<Frame>> {
    log.since(from).into_iter().map(|piece| Frame::new(Content::Piece(piece))).collect()
}

/// What a reader gets next.
#[derive(Debug)]
pub enum Next {
    /// A frame.
    Frame(Arc<Frame>),
    /// The stream is over; everything was told.
    Over,
    /// The reader is too far behind; it is cut and comes back at its position.
    Behind,
}

/// A reader of a run's stream.
#[derive(Debug)]
pub struct Reader {
    run: RunId,
    source: Option<(Arc<Live>, broadcast::Receiver<Arc<Frame>>)>,
    pending: VecDeque<Arc<Frame>>,
    at: Position,
    over: bool,
}

impl Reader {
    /// Builds a reader of a run that is over or parked, from what is stored.
    #[must_use]
    pub fn of_stored(run: RunId, log: &Log, from: Position) -> Self {
        let pending = frames_since(log, from);
        Self { run, source: None, pending, at: from, over: true }
    }

    /// Returns the run that is read.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Waits for the next frame.
    pub async fn next(&mut self) -> Next {
        loop {
            if let Some(frame) = self.pending.pop_front() {
                self.stand_after(&frame);
                return Next::Frame(frame);
            }
            let Some((live, receiver)) = &mut self.source else { return Next::Over };
            if self.over && receiver.is_empty() {
                return Next::Over;
            }
            match receiver.recv().await {
                Ok(frame) => {
                    self.stand_after(&frame);
                    return Next::Frame(frame);
                }
                Err(broadcast::error::RecvError::Closed) => return Next::Over,
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    let fresh = Arc::clone(live).reader(self.at);
                    if behind_bytes(&fresh.pending) > READER_BEHIND_BYTES_MAX {
                        return Next::Behind;
                    }
                    *self = fresh;
                }
            }
        }
    }

    fn stand_after(&mut self, frame: &Frame) {
        if let Content::Piece(piece) = &frame.content {
            self.at = piece.after;
            self.over |= matches!(piece.told, Told::Chunk(Chunk::Finish { .. }));
        }
    }
}

fn behind_bytes(pending: &VecDeque<Arc<Frame>>) -> usize {
    pending
        .iter()
        .map(|frame| match &frame.content {
            Content::Piece(Piece { told: Told::Delta { text, .. }, .. })
            | Content::Progress { text, .. } => text.len(),
            Content::Piece(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests;
