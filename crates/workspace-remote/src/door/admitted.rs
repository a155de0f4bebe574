//! Lines that may be served: the proof that somebody decided so, and the line itself.
//!
//! A server takes nothing else, so that no line comes to it around the door.

use tokio::io::{AsyncRead, AsyncWrite};

use crate::transport::{
    Transport,
    memory::Near,
    stream,
    websocket::{self, Side},
};

/// Leave to come in, for one line. Only a door gives it.
#[derive(Debug)]
pub(super) struct Pass(());

impl Pass {
    /// Called where all of a handshake was found right.
    pub(super) fn give() -> Self {
        Self(())
    }

    /// Makes the line of a stream that has shaken hands, and of what was read of it beyond that.
    pub(super) async fn line(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        read_ahead: &[u8],
    ) -> Admitted {
        Admitted(websocket::transport(stream, read_ahead, Side::Server).await)
    }
}

/// A line whose other side may use what is served.
#[derive(Debug)]
pub struct Admitted(Transport);

impl Admitted {
    /// Takes the two pipes that this process was started with. Who holds their other ends started it, or was given
    /// them by whoever did: that is the authority, and there is no other.
    #[must_use]
    pub fn pipes(
        reader: impl AsyncRead + Send + 'static,
        writer: impl AsyncWrite + Send + 'static,
    ) -> Self {
        Self(stream::transport(reader, writer))
    }

    pub(crate) fn into_transport(self) -> Transport {
        self.0
    }
}

/// The other end of a line in memory is held by this process.
impl From<Near> for Admitted {
    fn from(near: Near) -> Self {
        Self(near.into_transport())
    }
}
