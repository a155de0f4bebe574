//! Messages over WebSocket: frames of RFC 6455 without extensions, on a stream that has shaken hands.
//!
//! Who may shake hands is the door's, and how it is asked for the client's connector's. Liveness is the protocol's own
//! ping; pings of WebSocket are answered and mean nothing.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::{Sink, SinkExt, StreamExt, stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message,
        error::{CapacityError, ProtocolError},
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};
use vocab::limits::{REMOTE_PIECE_BYTES_MAX, REMOTE_TEXT_BYTES_MAX};

use super::{Broken, Said, Transport};
use crate::{
    codec::PIECE_HEAD_BYTES,
    frame::{CloseStatus, Frame, Violation},
};

/// The subprotocol both sides name when they shake hands.
pub const SUBPROTOCOL: &str = "stead.workspace.v1";
/// The one path it is served at.
pub const PATH: &str = "/stead/workspace";

/// What is read at once.
const READ_BYTES: usize = 128 * 1024;
/// What is gathered before it is written without being asked for.
const WRITE_BYTES: usize = 128 * 1024;

/// Which side of the handshake this is: what a client sends is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one who asked.
    Client,
    /// The one who was asked.
    Server,
}

/// Makes a transport of a stream that has shaken hands, and what was read of it beyond that.
pub async fn transport(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    read_ahead: &[u8],
    side: Side,
) -> Transport {
    let role = match side {
        Side::Client => Role::Client,
        Side::Server => Role::Server,
    };
    let line =
        WebSocketStream::from_partially_read(stream, read_ahead.to_vec(), role, Some(bounds()));
    let (writer, mut reader) = line.await.split();
    let mut ended = false;
    let incoming = stream::poll_fn(move |context| {
        loop {
            if ended {
                return Poll::Ready(None);
            }
            let heard = match ready!(reader.poll_next_unpin(context)) {
                Some(Ok(message)) => frame(message),
                Some(Err(error)) => broken(error).map(Err),
                None => None,
            };
            match heard {
                Some(Ok(Heard::Frame(frame))) => return Poll::Ready(Some(Ok(frame))),
                // The answer to a close is awaited, so that both sides know of it.
                Some(Ok(Heard::Nothing)) => {}
                Some(Err(broken)) => {
                    ended = true;
                    return Poll::Ready(Some(Err(broken)));
                }
                None => ended = true,
            }
        }
    });
    Transport { incoming: incoming.boxed(), outgoing: Box::pin(Writing(writer)) }
}

fn bounds() -> WebSocketConfig {
    let longest = REMOTE_TEXT_BYTES_MAX.max(REMOTE_PIECE_BYTES_MAX + PIECE_HEAD_BYTES);
    WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES)
        // What waits beyond that is the queue's above, which has its own bound.
        .max_write_buffer_size(WRITE_BYTES + 2 * longest)
        .max_message_size(Some(longest))
        .max_frame_size(Some(longest))
}

enum Heard {
    Frame(Frame),
    Nothing,
}

/// Tells what a message is here.
fn frame(message: Message) -> Option<Result<Heard, Broken>> {
    let heard = match message {
        Message::Text(text) => Frame::Text(Bytes::from(text)),
        Message::Binary(bytes) => Frame::Binary(bytes),
        // A frame is never read as such.
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {
            return Some(Ok(Heard::Nothing));
        }
    };
    let max = match heard {
        Frame::Text(_) => REMOTE_TEXT_BYTES_MAX,
        Frame::Binary(_) => REMOTE_PIECE_BYTES_MAX + PIECE_HEAD_BYTES,
    };
    if heard.len() > max {
        return Some(Err(too_big(heard.len(), max).into()));
    }
    Some(Ok(Heard::Frame(heard)))
}

fn too_big(len: usize, max: usize) -> Violation {
    let message = format!("a message of {len} bytes exceeds {max}");
    Violation::new(CloseStatus::TooBig, "message_too_big", message)
}

/// Tells why a line is broken; none when it was closed in order.
fn broken(error: Error) -> Option<Broken> {
    let violation = match error {
        Error::ConnectionClosed | Error::AlreadyClosed => return None,
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            return Some(Broken::ended());
        }
        Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
            too_big(size, max_size)
        }
        Error::Utf8(_) => {
            let message = "a text that is no UTF-8";
            Violation::new(CloseStatus::InvalidPayload, "invalid_utf8", message)
        }
        Error::Protocol(error) => Violation::protocol(error.to_string()),
        Error::Io(_)
        | Error::Tls(_)
        | Error::Capacity(CapacityError::TooManyHeaders)
        | Error::WriteBufferFull(_)
        | Error::AttackAttempt
        | Error::Url(_) => return Some(Broken::Lost(error.to_string())),
    };
    Some(violation.into())
}

/// The way out.
struct Writing<S>(S);

impl<S: Sink<Message, Error = Error> + Unpin> Sink<Said> for Writing<S> {
    type Error = Broken;

    fn poll_ready(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.get_mut().0.poll_ready_unpin(context).map_err(lost)
    }

    fn start_send(self: Pin<&mut Self>, said: Said) -> Result<(), Broken> {
        let message = match said {
            Said::Frame(Frame::Text(payload)) => {
                let text = payload.try_into();
                Message::Text(text.map_err(|_utf8| Violation::protocol("a text that is no UTF-8"))?)
            }
            Said::Frame(Frame::Binary(payload)) => Message::Binary(payload),
            Said::Close(status) => Message::Close(Some(CloseFrame {
                code: CloseCode::from(status.code()),
                reason: "".into(),
            })),
        };
        self.get_mut().0.start_send_unpin(message).map_err(lost)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.get_mut().0.poll_flush_unpin(context).map_err(lost)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        match ready!(self.get_mut().0.poll_close_unpin(context)) {
            Ok(()) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(lost(error))),
        }
    }
}

fn lost(error: Error) -> Broken {
    broken(error).unwrap_or_else(Broken::ended)
}
