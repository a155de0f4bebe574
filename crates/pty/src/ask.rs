//! One question to a job's host, and its answer.
//!
//! For those who want one thing and leave. Not here: looking, typing, following.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use vocab::outcome::{Effect, Failure};

use crate::{
    frame::{self, Decoder, Kind, Oversize},
    hello::{self, Control, Hello, Reply, Role},
};

/// No host gave an answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody listens there.
    #[error("no host of a job listens at {path}: {source}")]
    Unreachable {
        /// The socket.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The host was asked and has not answered.
    #[error("the host of the job does not answer")]
    Silent,
    /// What it answered cannot be understood.
    #[error("the host's answer cannot be understood: {0}")]
    Malformed(Oversize),
}

impl AskError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "host_unreachable",
            Self::Silent => "host_silent",
            Self::Malformed(_) => "host_malformed",
        }
    }

    /// Tells whether the world changed.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Unreachable { .. } => Effect::NotStarted,
            Self::Silent | Self::Malformed(_) => Effect::Indeterminate,
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        Self::new(error.code(), error.effect(), error.to_string())
    }
}

/// Asks the host behind a socket for an operation and waits so long for each piece of the answer.
///
/// # Errors
/// When nobody listens there, it does not answer in time, or it refuses.
pub fn ask(socket: &Path, control: &Control, patience: Duration) -> Result<Reply, Failure> {
    let unreachable =
        |source: io::Error| AskError::Unreachable { path: socket.display().to_string(), source };
    let mut stream = UnixStream::connect(socket).map_err(unreachable)?;
    let timed = stream
        .set_read_timeout(Some(patience))
        .and_then(|()| stream.set_write_timeout(Some(patience)));
    timed.map_err(unreachable)?;
    let hello = Hello { role: Role::Control, protocol: hello::PROTOCOL, ..Hello::default() };
    let mut frames = frame::encode(Kind::Hello, &hello::to_json(&hello));
    frames.extend(frame::encode(Kind::Control, &hello::to_json(control)));
    // A host that refuses may have closed already; what it said of that is read all the same.
    stream.write_all(&frames).ok();
    let mut decoder = Decoder::default();
    let mut buffer = [0; 4 << 10];
    loop {
        let n_bytes = match stream.read(&mut buffer) {
            Ok(0) => return Err(AskError::Silent.into()),
            Ok(n_bytes) => n_bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(AskError::Silent.into()),
        };
        decoder.push(&buffer[..n_bytes]);
        while let Some(frame) = decoder.take().map_err(AskError::Malformed)? {
            if frame.kind == Kind::Detached {
                let told: hello::Detached = hello::from_json(&frame.payload)?;
                return Err(told.error.unwrap_or_else(|| AskError::Silent.into()));
            }
            if frame.kind == Kind::Reply {
                let reply = hello::from_json(&frame.payload)?;
                return if let Reply::Failed { error } = reply { Err(error) } else { Ok(reply) };
            }
        }
    }
}
