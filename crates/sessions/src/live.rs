//! What a live run says, folded once for everybody who listens.
//!
//! There is one copy of the message, however many readers there are. A reader that keeps up shares each
//! frame and its encoding with the others; one that fell behind holds no more than its position and takes
//! piece after piece from the fold.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use bytes::Bytes;
use tokio::sync::broadcast;
use vocab::{
    ids::{CallId, RunId, SessionId},
    limits::{
        LIVE_FRAMES_MAX, PROGRESS_TAIL_BYTES_MAX, READER_BEHIND_BYTES_MAX, READER_PIECE_BYTES_MAX,
    },
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
    progress: BTreeMap<CallId, Tail>,
    /// Chunks larger than a piece that somebody is being told, by their place: whoever comes meanwhile
    /// shares the frame and its encoding.
    large: BTreeMap<usize, Weak<Frame>>,
    /// How often a finish was taken back. What a reader meant to take from the log may be another since.
    reopened: u64,
}

/// The latest output of a running call.
#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    /// The frame that tells all of it, shared by those who join until there is more.
    frame: Option<Arc<Frame>>,
}

impl Tail {
    fn frame(&mut self, call: &CallId) -> Arc<Frame> {
        let frame = self.frame.get_or_insert_with(|| {
            let text = String::from_utf8_lossy(self.bytes.make_contiguous()).into_owned();
            Frame::new(Content::Progress { call: call.clone(), text, replaces: true })
        });
        Arc::clone(frame)
    }
}

impl State {
    /// Returns the frame that a reader at a position takes from the log.
    fn frame(&mut self, at: Position, until: Position) -> Option<Arc<Frame>> {
        let piece = next(&self.log, at, until)?;
        let bytes = if let Told::Chunk(chunk) = &piece.told { chunk.bytes() } else { 0 };
        let place = piece.after.chunks;
        let frame = || Frame::new(Content::Piece(piece));
        if bytes <= READER_PIECE_BYTES_MAX {
            return Some(frame());
        }
        let shared = self.large.get(&place).and_then(Weak::upgrade).unwrap_or_else(frame);
        self.large.insert(place, Arc::downgrade(&shared));
        Some(shared)
    }
}

impl Live {
    /// Builds the live view of a run from what is stored of it.
    #[must_use]
    pub fn new(session: SessionId, run: RunId, log: Log) -> Arc<Self> {
        let (frames, _) = broadcast::channel(LIVE_FRAMES_MAX);
        let (progress, large) = (BTreeMap::new(), BTreeMap::new());
        let state = State { log, progress, large, reopened: 0 };
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
        let piece = state.log.push(chunk);
        self.send(Content::Piece(piece));
    }

    /// Takes back the finish of a parked run, because it goes on.
    pub fn reopen(&self) {
        let mut state = self.lock();
        state.log.reopen();
        state.reopened += 1;
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
        tail.frame = None;
        tail.bytes.extend(text.bytes());
        let excess = tail.bytes.len().saturating_sub(PROGRESS_TAIL_BYTES_MAX);
        tail.bytes.drain(..excess);
        self.send(Content::Progress { call: call.clone(), text: text.to_owned(), replaces: false });
    }

    /// Joins the readers at a position; from the start when nobody can stand there.
    #[must_use]
    pub fn reader(self: &Arc<Self>, from: Position) -> Reader {
        let mut state = self.lock();
        let state = &mut *state;
        let at = if state.log.holds(from) { from } else { Position::default() };
        let until = state.log.end();
        let source = Source::Live {
            live: Arc::clone(self),
            frames: self.frames.subscribe(),
            reopened: state.reopened,
        };
        let progress = state.progress.iter_mut().map(|(call, tail)| tail.frame(call)).collect();
        let over = at == until && state.log.is_finished();
        Reader { run: self.run.clone(), source, at, until, progress, over }
    }

    fn send(&self, content: Content) {
        // Nobody listening is fine: the log has it.
        self.frames.send(Frame::new(content)).ok();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the next piece of a log for a reader at a position that reads no further than `until`.
fn next(log: &Log, at: Position, until: Position) -> Option<Piece> {
    let left = if at.chunks < until.chunks { usize::MAX } else { until.bytes - at.bytes };
    log.next(at, READER_PIECE_BYTES_MAX.min(left))
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
    source: Source,
    at: Position,
    /// How far the log is read; what comes after it is received.
    until: Position,
    /// Output of running calls, told once the log is read.
    progress: VecDeque<Arc<Frame>>,
    /// Whether the finish was told.
    over: bool,
}

#[derive(Debug)]
enum Source {
    Live { live: Arc<Live>, frames: broadcast::Receiver<Arc<Frame>>, reopened: u64 },
    Stored(Log),
}

impl Reader {
    /// Builds a reader of a run that is over or parked, from what is stored.
    #[must_use]
    pub fn of_stored(run: RunId, log: Log, from: Position) -> Self {
        let at = if log.holds(from) { from } else { Position::default() };
        let until = log.end();
        let source = Source::Stored(log);
        Self { run, source, at, until, progress: VecDeque::new(), over: false }
    }

    /// Returns the run that is read.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Waits for the next frame.
    pub async fn next(&mut self) -> Next {
        loop {
            let told = self.take().or_else(|| self.progress.pop_front());
            if let Some(frame) = told {
                self.stand_after(&frame);
                return Next::Frame(frame);
            }
            let Source::Live { live, frames, .. } = &mut self.source else { return Next::Over };
            if self.over {
                return Next::Over;
            }
            match frames.recv().await {
                Ok(frame) => {
                    self.stand_after(&frame);
                    return Next::Frame(frame);
                }
                Err(broadcast::error::RecvError::Closed) => return Next::Over,
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    let live = Arc::clone(live);
                    if READER_BEHIND_BYTES_MAX < live.lock().log.bytes_after(self.at) {
                        return Next::Behind;
                    }
                    *self = live.reader(self.at);
                }
            }
        }
    }

    /// Takes the next frame from the log, as long as there is one that is not received.
    fn take(&mut self) -> Option<Arc<Frame>> {
        if self.until <= self.at {
            return None;
        }
        let live = match &self.source {
            Source::Stored(log) => {
                return Some(Frame::new(Content::Piece(next(log, self.at, self.until)?)));
            }
            Source::Live { live, reopened, .. } => {
                let mut state = live.lock();
                if state.reopened == *reopened {
                    return state.frame(self.at, self.until);
                }
                Arc::clone(live)
            }
        };
        *self = live.reader(self.at);
        self.take()
    }

    fn stand_after(&mut self, frame: &Frame) {
        let Content::Piece(piece) = &frame.content else { return };
        if matches!(piece.told, Told::Chunk(Chunk::Finish { .. })) {
            // The finish of a parked run is taken back when it goes on, so nobody stands behind it.
            self.until = self.at;
            self.over = true;
        } else {
            self.at = piece.after;
        }
    }
}

#[cfg(test)]
mod tests;
