//! A connection to one host.
//!
//! Not here: what is made of what it tells.

use std::{path::Path, time::Duration};

use pty::{
    frame::{self, Decoder, Frame, Kind},
    hello::{self, Control, Hello, PROTOCOL, Reply, Role, STATES},
    job::JobFiles,
};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};
use vocab::{
    ids::JobId,
    limits::HOST_ANSWER_MS_MAX,
    outcome::{Effect, Failure},
};

use super::Jobs;

/// How much is read at once.
const READ_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub(super) struct Link {
    stream: UnixStream,
    decoder: Decoder,
}

impl Link {
    /// Connects, and asks to be told how the job is.
    async fn open(socket: &Path) -> Result<Self, Failure> {
        let limit = Duration::from_millis(HOST_ANSWER_MS_MAX);
        let hello = Hello {
            role: Role::Control,
            protocol: PROTOCOL,
            features: vec![STATES.to_owned()],
            ..Hello::default()
        };
        let connecting = async {
            let mut stream = UnixStream::connect(socket).await?;
            stream.write_all(&frame::encode(Kind::Hello, &hello::to_json(&hello))).await?;
            Ok::<_, std::io::Error>(stream)
        };
        match timeout(limit, connecting).await {
            Ok(Ok(stream)) => Ok(Self { stream, decoder: Decoder::default() }),
            Ok(Err(error)) => Err(unreachable(&error.to_string())),
            Err(_) => Err(unreachable("it does not answer")),
        }
    }

    /// Returns the next frame; none once the host lets go.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            // A host that breaks its own protocol is one that cannot be followed.
            if let Some(frame) = self.decoder.take().ok()? {
                return Some(frame);
            }
            let n_bytes = self.stream.read(&mut buffer).await.ok()?;
            if n_bytes == 0 {
                return None;
            }
            self.decoder.push(buffer.get(..n_bytes)?);
        }
    }

    /// Asks for an operation and returns the answer.
    pub(super) async fn ask(mut self, control: &Control) -> Result<Reply, Failure> {
        let bytes = frame::encode(Kind::Control, &hello::to_json(control));
        let asking = async {
            self.stream.write_all(&bytes).await.ok()?;
            loop {
                let frame = self.next().await?;
                if frame.kind == Kind::Reply {
                    return Some(frame.payload);
                }
            }
        };
        let limit = Duration::from_millis(HOST_ANSWER_MS_MAX);
        match timeout(limit, asking).await {
            Ok(Some(payload)) => {
                let reply = hello::from_json(&payload)?;
                if let Reply::Failed { error } = reply { Err(error) } else { Ok(reply) }
            }
            Ok(None) => Err(silent("let go before it answered")),
            Err(_) => Err(silent("did not answer in time")),
        }
    }
}

/// Tells whether somebody listens at a socket. Nobody is waited for.
pub(super) fn is_listened_at(socket: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (Ok(stream), Ok(address)) = (stream, SocketAddrUnix::new(socket)) else { return false };
    // One at whom too many wait listens all the same.
    matches!(connect(&stream, &address), Ok(()) | Err(Errno::AGAIN))
}

impl Jobs {
    /// Connects to a job's host, and asks to be told how the job is.
    pub(super) async fn link(&self, id: &JobId) -> Result<Link, Failure> {
        Link::open(self.located(id).await.socket()).await
    }

    /// Says where a job's files are, with the socket where its host has said that it listens: a daemon of
    /// another runtime directory may have started it.
    pub(super) async fn located(&self, id: &JobId) -> JobFiles {
        let usual = self.files(id);
        if self.check_directory(id).is_err() {
            // Nothing is looked at in a directory that is none of ours.
            return usual;
        }
        let files = usual.clone();
        tokio::task::spawn_blocking(move || files.located()).await.unwrap_or(usual)
    }
}

fn unreachable(why: &str) -> Failure {
    Failure::not_started("host_unreachable", format!("the job's host cannot be reached: {why}"))
        .with_hint("it is tried again in a moment; stead stop ends the job in any case")
}

fn silent(how: &str) -> Failure {
    Failure::new("host_silent", Effect::Indeterminate, format!("the job's host {how}"))
}
