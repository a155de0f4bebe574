//! Messages over a stream of bytes: pipes of a child, standard input and output, Unix sockets.
//!
//! `u8` kind (1 text, 2 binary), `u32` big-endian length, payload. Owning the stream is the authority.

use std::{
    collections::VecDeque,
    io::IoSlice,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{Sink, StreamExt, stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::io::poll_read_buf;
use vocab::limits::{REMOTE_PIECE_BYTES_MAX, REMOTE_TEXT_BYTES_MAX};

use super::{Broken, Said, Transport};
use crate::{
    codec::PIECE_HEAD_BYTES,
    frame::{CloseStatus, Frame, Violation},
};

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const HEAD_BYTES: usize = 5;
/// What is read at once while no long message is under way.
const READ_BYTES: usize = 64 * 1024;
/// What is written at once.
const N_SLICES: usize = 32;
/// What waits to be written before the line asks for patience.
const QUEUE_BYTES: usize = 512 * 1024;

/// Makes a transport of two streams of bytes.
#[must_use]
pub fn transport(
    reader: impl AsyncRead + Send + 'static,
    writer: impl AsyncWrite + Send + 'static,
) -> Transport {
    let mut reading = Reading { reader: Box::pin(reader), buffer: BytesMut::new(), ended: false };
    Transport {
        incoming: stream::poll_fn(move |context| reading.poll(context)).boxed(),
        outgoing: Box::pin(Writing {
            writer: Box::pin(writer),
            queue: VecDeque::new(),
            queue_bytes: 0,
        }),
    }
}

/// Finds the next whole message at the beginning of a buffer, or says how many bytes it takes.
///
/// # Errors
/// When it is of no known kind, or longer than any message.
pub fn decode(buffer: &mut BytesMut) -> Result<Result<Frame, usize>, Violation> {
    let Some(&[kind, a, b, c, d]) = buffer.first_chunk::<HEAD_BYTES>() else {
        return Ok(Err(HEAD_BYTES));
    };
    let len = u32::from_be_bytes([a, b, c, d]) as usize;
    let max = match kind {
        TEXT => REMOTE_TEXT_BYTES_MAX,
        BINARY => REMOTE_PIECE_BYTES_MAX + PIECE_HEAD_BYTES,
        _ => return Err(Violation::protocol("a message of unknown kind")),
    };
    if len > max {
        let message = format!("a message of {len} bytes exceeds {max}");
        return Err(Violation::new(CloseStatus::TooBig, "message_too_big", message));
    }
    if buffer.len() < HEAD_BYTES + len {
        return Ok(Err(HEAD_BYTES + len));
    }
    buffer.advance(HEAD_BYTES);
    let payload = buffer.split_to(len).freeze();
    Ok(Ok(if kind == TEXT { Frame::Text(payload) } else { Frame::Binary(payload) }))
}

struct Reading<R> {
    reader: Pin<Box<R>>,
    buffer: BytesMut,
    ended: bool,
}

impl<R: AsyncRead> Reading<R> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame, Broken>>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            match decode(&mut self.buffer) {
                Ok(Ok(frame)) => return Poll::Ready(Some(Ok(frame))),
                Ok(Err(needed)) => {
                    let missing = needed.saturating_sub(self.buffer.len());
                    self.buffer.reserve(missing.max(READ_BYTES));
                }
                Err(violation) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(violation.into())));
                }
            }
            match ready!(poll_read_buf(self.reader.as_mut(), context, &mut self.buffer)) {
                Ok(0) => {
                    self.ended = true;
                    if !self.buffer.is_empty() {
                        let lost = Broken::Lost("it ended within a message".to_owned());
                        return Poll::Ready(Some(Err(lost)));
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(Broken::Lost(error.to_string()))));
                }
            }
        }
    }
}

struct Writing<W> {
    writer: Pin<Box<W>>,
    queue: VecDeque<Bytes>,
    queue_bytes: usize,
}

impl<W: AsyncWrite> Writing<W> {
    /// Writes until no more than so many bytes wait.
    fn poll_down_to(&mut self, rest: usize, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        while self.queue_bytes > rest {
            let mut slices = [IoSlice::new(&[]); N_SLICES];
            let mut n_slices = 0;
            for (slice, bytes) in slices.iter_mut().zip(&self.queue) {
                *slice = IoSlice::new(bytes);
                n_slices += 1;
            }
            let slices = slices.get(..n_slices).unwrap_or_default();
            let written = ready!(self.writer.as_mut().poll_write_vectored(context, slices));
            match written {
                Ok(0) => return Poll::Ready(Err(Broken::ended())),
                Ok(count) => self.written(count),
                Err(error) => return Poll::Ready(Err(Broken::Lost(error.to_string()))),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn written(&mut self, mut count: usize) {
        self.queue_bytes -= count;
        while let Some(first) = self.queue.front_mut().filter(|_| count > 0) {
            let step = count.min(first.len());
            first.advance(step);
            count -= step;
            if first.is_empty() {
                self.queue.pop_front();
            }
        }
    }

    fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.queue_bytes += bytes.len();
            self.queue.push_back(bytes);
        }
    }
}

impl<W: AsyncWrite> Sink<Said> for Writing<W> {
    type Error = Broken;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.get_mut().poll_down_to(QUEUE_BYTES, context)
    }

    fn start_send(self: Pin<&mut Self>, said: Said) -> Result<(), Broken> {
        let this = self.get_mut();
        let (kind, payload) = match said {
            Said::Frame(Frame::Text(payload)) => (TEXT, payload),
            Said::Frame(Frame::Binary(payload)) => (BINARY, payload),
            // Bytes have no close of their own: the last message said why.
            Said::Close(_) => return Ok(()),
        };
        let too_long = |_| Violation::protocol("a message is longer than any length can say");
        let len = u32::try_from(payload.len()).map_err(too_long)?;
        let mut head = BytesMut::with_capacity(HEAD_BYTES);
        head.extend_from_slice(&[kind]);
        head.extend_from_slice(&len.to_be_bytes());
        this.push(head.freeze());
        this.push(payload);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let this = self.get_mut();
        ready!(this.poll_down_to(0, context))?;
        this.writer.as_mut().poll_flush(context).map_err(|error| Broken::Lost(error.to_string()))
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let this = self.get_mut();
        ready!(this.poll_down_to(0, context))?;
        this.writer.as_mut().poll_shutdown(context).map_err(|error| Broken::Lost(error.to_string()))
    }
}

#[cfg(test)]
mod tests;
