//! A connection of either door as one type, so that the HTTP machinery is compiled once.
//!
//! Who is at the other end is not known here.

use std::{
    io::{self, IoSlice, Write as _},
    net::Shutdown,
    pin::Pin,
    task::{Context, Poll},
};

use rustix::net::{RecvFlags, recv};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// An accepted connection.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Of the Unix socket.
    Unix(UnixStream),
    /// Of the loopback port.
    Tcp(TcpStream),
}

impl Stream {
    /// Waits for the first byte and leaves it where it is; none when the client sends none. On TCP nobody
    /// asks.
    pub(crate) async fn first(&self) -> io::Result<Option<u8>> {
        let Self::Unix(stream) = self else { return Ok(None) };
        stream
            .async_io(Interest::READABLE, || {
                let mut byte = [0];
                let (n_bytes, _) = recv(stream, &mut byte, RecvFlags::PEEK)?;
                Ok(byte.first().copied().filter(|_| 0 < n_bytes))
            })
            .await
    }

    /// Says one last thing and closes, without waiting for the other side: it fits what the kernel
    /// holds for a connection that was just accepted.
    pub(crate) fn say_and_close(self, bytes: &[u8]) {
        // A listener just accepted it, so that its readiness is not known yet; the kernel knows.
        match self {
            Self::Unix(stream) => {
                if let Ok(mut stream) = stream.into_std() {
                    stream.write_all(bytes).ok();
                    stream.shutdown(Shutdown::Write).ok();
                }
            }
            Self::Tcp(stream) => {
                if let Ok(mut stream) = stream.into_std() {
                    stream.write_all(bytes).ok();
                    stream.shutdown(Shutdown::Write).ok();
                }
            }
        }
    }
}

macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream.get_mut() {
            Stream::Unix(stream) => {
                let $inner = Pin::new(stream);
                $call
            }
            Stream::Tcp(stream) => {
                let $inner = Pin::new(stream);
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self, inner => inner.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, inner => inner.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_shutdown(cx))
    }
}
