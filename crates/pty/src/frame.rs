//! The frames of a host's socket: one byte of type, a length of four bytes (big-endian), the payload.
//!
//! A frame of a type that nobody here knows is skipped, so that a newer speaker can say more. Not here:
//! what the payloads mean, and sockets.

use vocab::limits::FRAME_BYTES_MAX;

/// Type and length.
const HEADER_BYTES: usize = 5;

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Client to host: who it is and what it wants.
    Hello = 1,
    /// Both ways: the terminal's raw bytes.
    Data = 2,
    /// Client to host: its size changed.
    Resize = 3,
    /// Host to client: why it lets go; nothing follows.
    Detached = 4,
    /// Client to host: an operation.
    Control = 5,
    /// Host to client: the answer to an operation, in the order they were asked.
    Reply = 6,
    /// Client to host: its window gained or lost the focus.
    Focus = 7,
    /// Host to client: what it may do, and the terminal's size.
    State = 8,
    /// Host to client: the data after it is a snapshot of the whole.
    Resync = 9,
    /// Host to client: how the program ended.
    Exit = 10,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Hello,
        Self::Data,
        Self::Resize,
        Self::Detached,
        Self::Control,
        Self::Reply,
        Self::Focus,
        Self::State,
        Self::Resync,
        Self::Exit,
    ];

    fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it holds.
    pub kind: Kind,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// A frame says it is longer than any may be. Nothing after it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {n_bytes} bytes is longer than {FRAME_BYTES_MAX}")]
pub struct Oversize {
    /// What it said.
    pub n_bytes: usize,
}

impl Oversize {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "frame_too_long"
    }

    /// Returns what changed: nothing that the frame would have done.
    #[must_use]
    pub fn effect(&self) -> vocab::outcome::Effect {
        vocab::outcome::Effect::NotStarted
    }
}

/// Returns a frame's bytes. A payload beyond the limit goes into several frames, which only data
/// survives; nothing else grows so long.
#[must_use]
pub fn encode(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let n_frames = payload.len().div_ceil(FRAME_BYTES_MAX).max(1);
    let mut out = Vec::with_capacity(payload.len() + n_frames * HEADER_BYTES);
    let mut rest = payload;
    loop {
        let (part, after) = rest.split_at(rest.len().min(FRAME_BYTES_MAX));
        out.push(kind as u8);
        out.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend_from_slice(part);
        rest = after;
        if rest.is_empty() {
            return out;
        }
    }
}

/// Returns room for a frame of so many bytes, to be filled behind what stands there and then sealed.
pub(crate) fn room(n_bytes: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER_BYTES + n_bytes);
    frame.extend_from_slice(&[0; HEADER_BYTES]);
    frame
}

/// Makes a frame of what was written into its room, and returns how many bytes that is; none where nothing
/// was. It is no more than a frame may hold.
pub(crate) fn seal(kind: Kind, frame: &mut [u8]) -> Option<usize> {
    let (header, payload) = frame.split_first_chunk_mut::<HEADER_BYTES>()?;
    let [number, length @ ..] = header;
    *number = kind as u8;
    *length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    (!payload.is_empty()).then_some(payload.len())
}

/// Cuts a stream into frames. Chunks may be cut anywhere.
#[derive(Debug, Default)]
pub struct Decoder {
    /// What no frame was made of yet.
    buffer: Vec<u8>,
    /// Where in the buffer the next frame begins.
    start: usize,
    /// How much of a frame of unknown type is still to be thrown away.
    n_skipped: usize,
}

impl Decoder {
    /// Takes bytes. [`Decoder::take`] is to be asked until it has no more before the next ones come.
    pub fn push(&mut self, bytes: &[u8]) {
        let (_, bytes) = bytes.split_at(self.skip(bytes.len()));
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole frame, none if it has not come yet.
    ///
    /// # Errors
    /// When a frame is longer than any may be; every later call says the same.
    pub fn take(&mut self) -> Result<Option<Frame>, Oversize> {
        loop {
            let waiting = &self.buffer[self.start..];
            let Some((head, body)) = waiting.split_first_chunk::<HEADER_BYTES>() else {
                self.release();
                return Ok(None);
            };
            let [number, length @ ..] = *head;
            let n_bytes = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
            if FRAME_BYTES_MAX < n_bytes {
                return Err(Oversize { n_bytes });
            }
            let Some(kind) = Kind::of(number) else {
                self.n_skipped = n_bytes;
                let n_here = self.skip(body.len());
                self.start += HEADER_BYTES + n_here;
                continue;
            };
            let Some(payload) = body.get(..n_bytes) else {
                self.release();
                return Ok(None);
            };
            let payload = payload.to_vec();
            self.start += HEADER_BYTES + n_bytes;
            return Ok(Some(Frame { kind, payload }));
        }
    }

    /// Returns what no frame was made of yet, and how much of an unknown one is still to be thrown away.
    pub(crate) fn unread(&self) -> (&[u8], usize) {
        (&self.buffer[self.start..], self.n_skipped)
    }

    /// Takes over what another decoder has not read.
    pub(crate) fn inherited(unread: &[u8], n_skipped: usize) -> Self {
        Self { buffer: unread.to_vec(), start: 0, n_skipped }
    }

    /// Tells whether the stream stands between two frames.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.start == self.buffer.len() && self.n_skipped == 0
    }

    /// Throws away up to so many bytes of an unknown frame and returns how many it were.
    fn skip(&mut self, n_bytes: usize) -> usize {
        let n_here = self.n_skipped.min(n_bytes);
        self.n_skipped -= n_here;
        n_here
    }

    /// Gives back the room of frames that are done. An idle client keeps none.
    fn release(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests;
