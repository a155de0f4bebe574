//! Asking a host for one operation and waiting for its answer, for whoever has nothing else to do.
//!
//! Not here: connections that stay but to say something, and anything asynchronous.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use stdx::clock::Clock;
use vocab::{
    limits::HOST_ANSWER_MS_MAX,
    outcome::{Effect, Failure},
};

use crate::{
    frame::{self, Decoder, Frame, Kind, Oversize},
    hello::{self, Control, Hello, PROTOCOL, Reply, Role},
};

/// A host did not answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody listens: the job has ended, or its host was killed.
    #[error("the job has no host: {0}")]
    Gone(io::Error),
    /// The connection broke before the answer, or none came in time.
    #[error("the job's host does not answer: {0}")]
    Silent(io::Error),
    /// It said what no host says.
    #[error("the job's host cannot be understood: {0}")]
    Malformed(String),
}

impl AskError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gone(_) => "host_gone",
            Self::Silent(_) => "host_silent",
            Self::Malformed(_) => "host_malformed",
        }
    }

    /// Returns what changed: nobody knows once the host was asked.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Gone(_) => Effect::NotStarted,
            Self::Silent(_) | Self::Malformed(_) => Effect::Indeterminate,
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        Self::new(error.code(), error.effect(), error.to_string())
    }
}

impl From<Oversize> for AskError {
    fn from(long: Oversize) -> Self {
        Self::Malformed(long.to_string())
    }
}

/// One connection to a host.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) stream: UnixStream,
    decoder: Decoder,
}

/// The time until which answers are waited for, be it that of one host or of several in turn.
#[derive(Debug)]
struct Deadline {
    clock: Clock,
    /// On the clock that nobody sets.
    at: Duration,
}

impl Deadline {
    fn after(patience: Duration) -> Self {
        let clock = Clock::system();
        let at = clock.monotonic().saturating_add(patience);
        Self { clock, at }
    }

    /// Returns how much time is left, an error if there is none.
    fn left(&self) -> Result<Duration, AskError> {
        let left = self.at.saturating_sub(self.clock.monotonic());
        if left.is_zero() {
            Err(AskError::Silent(io::ErrorKind::TimedOut.into()))
        } else {
            Ok(left)
        }
    }
}

impl Line {
    /// Connects and says what for.
    pub(crate) fn connect(socket: &Path, role: Role) -> Result<Self, AskError> {
        let hello = Hello { role, protocol: PROTOCOL, ..Hello::default() };
        Self::greet(socket, &hello, Duration::from_millis(HOST_ANSWER_MS_MAX))
    }

    fn greet(socket: &Path, hello: &Hello, patience: Duration) -> Result<Self, AskError> {
        let stream = UnixStream::connect(socket).map_err(AskError::Gone)?;
        let patience = Some(patience);
        stream.set_read_timeout(patience).map_err(AskError::Silent)?;
        stream.set_write_timeout(patience).map_err(AskError::Silent)?;
        let mut line = Self { stream, decoder: Decoder::default() };
        line.say(Kind::Hello, hello)?;
        Ok(line)
    }

    /// Asks for an operation and waits for the answer, for as long as is left and for each piece of it no longer than
    /// was said at first.
    fn ask(&mut self, operation: &Control, deadline: Option<&Deadline>) -> Result<Reply, AskError> {
        self.say(Kind::Control, operation)?;
        loop {
            if let Some(deadline) = deadline {
                let left = deadline.left()?;
                self.stream.set_read_timeout(Some(left)).map_err(AskError::Silent)?;
            }
            while let Some(frame) = self.take()? {
                if frame.kind == Kind::Reply {
                    return hello::from_json(&frame.payload)
                        .map_err(|failure| AskError::Malformed(failure.message));
                }
            }
            if !self.read()? {
                return Err(AskError::Silent(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    pub(crate) fn say(
        &mut self,
        kind: Kind,
        payload: &impl serde::Serialize,
    ) -> Result<(), AskError> {
        let frame = frame::encode(kind, &hello::to_json(payload));
        self.stream.write_all(&frame).map_err(AskError::Silent)
    }

    /// Returns a frame that has come already, if there is one.
    pub(crate) fn take(&mut self) -> Result<Option<Frame>, AskError> {
        Ok(self.decoder.take()?)
    }

    /// Reads once; false at the end.
    pub(crate) fn read(&mut self) -> Result<bool, AskError> {
        let mut buffer = [0; 16 << 10];
        let n_bytes = loop {
            match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A host that ends with bytes unread does so.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break 0,
                read => break read.map_err(AskError::Silent)?,
            }
        };
        self.decoder.push(&buffer[..n_bytes]);
        Ok(0 < n_bytes)
    }
}

/// Asks the host at a socket for one operation. Blocks.
///
/// # Errors
/// When there is no host or it does not answer. What it refuses is an answer.
pub fn ask(socket: &Path, operation: &Control) -> Result<Reply, AskError> {
    ask_within(socket, operation, Duration::from_millis(HOST_ANSWER_MS_MAX))
}

/// Asks as [`ask`] does, and waits so long for each piece of the answer.
///
/// # Errors
/// When there is no host or it does not answer in time. What it refuses is an answer.
pub fn ask_within(
    socket: &Path,
    operation: &Control,
    patience: Duration,
) -> Result<Reply, AskError> {
    let hello = Hello { role: Role::Control, protocol: PROTOCOL, ..Hello::default() };
    Line::greet(socket, &hello, patience)?.ask(operation, None)
}

mod within;

pub use within::Within;

#[cfg(test)]
mod tests;
