//! Lines as a client sends them, one at a time, within the budget that all bodies share.
//!
//! What a line says is not known here, and neither is when somebody loses patience: only since when a line
//! has begun.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    time::Instant,
};
use vocab::limits::REQUEST_BODY_BYTES_MAX;

use crate::{
    mount::{Bodies, Gathering, Payload},
    refuse::Refused,
};

/// How much is read at once.
const READ_BYTES: usize = 8 * 1024;

/// Why there is no further line.
#[derive(Debug)]
pub(super) enum Stop {
    /// The connection broke.
    Broken(io::Error),
    /// A line that cannot be taken, so that nobody knows where the next one begins.
    Refused(Refused),
}

/// What was read.
#[derive(Debug)]
pub(super) enum Heard {
    /// A line, without its end.
    Line(Payload),
    /// The beginning of one: somebody may lose patience from now on.
    Begun,
    /// The client has sent its last one.
    Over,
}

/// The lines of a connection.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    /// What was read behind the last line.
    rest: BytesMut,
    line: Gathering,
    begun: Option<Instant>,
    is_over: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, bodies: &Bodies) -> Self {
        let (rest, line) = (BytesMut::new(), bodies.begin());
        Self { reader, rest, line, begun: None, is_over: false }
    }

    /// Returns since when a line is on its way.
    pub(super) fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// Begins to count anew for a line that is on its way: nobody has read on meanwhile.
    pub(super) fn forgive(&mut self) {
        self.begun = self.begun.map(|_| Instant::now());
    }

    /// Gives the reader back.
    pub(super) fn into_reader(self) -> R {
        self.reader
    }

    /// Returns the next line that is not blank, and before that its beginning when the rest has to be waited
    /// for. The last one needs no end. Nothing is lost when this is dropped while it waits.
    ///
    /// # Errors
    /// When there will be no further one.
    pub(super) async fn next(&mut self) -> Result<Heard, Stop> {
        loop {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let n_bytes = end.unwrap_or(self.rest.len());
            if REQUEST_BODY_BYTES_MAX < self.line.len() + n_bytes {
                return Err(Stop::Refused(too_long()));
            }
            self.line.push(&self.rest[..n_bytes]).map_err(Stop::Refused)?;
            self.rest.advance(n_bytes + usize::from(end.is_some()));
            if end.is_some() || self.is_over {
                self.begun = None;
                let line = self.line.take();
                if !line.iter().all(u8::is_ascii_whitespace) {
                    return Ok(Heard::Line(line));
                }
                if self.is_over && self.rest.is_empty() {
                    return Ok(Heard::Over);
                }
                continue;
            }
            if self.line.len() > 0 && self.begun.is_none() {
                self.begun = Some(Instant::now());
                return Ok(Heard::Begun);
            }
            self.rest.reserve(READ_BYTES);
            let read = self.reader.read_buf(&mut self.rest).await.map_err(Stop::Broken)?;
            self.is_over = read == 0;
        }
    }
}

fn too_long() -> Refused {
    let why = format!("a line has at most {REQUEST_BODY_BYTES_MAX} bytes");
    Refused::new("body_too_large", why)
}
