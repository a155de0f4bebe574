//! What a transport carries: whole messages, and why a connection is closed.
//!
//! What a message means is the protocol's; how messages are told apart on a line is the transport's.

use bytes::Bytes;

/// One whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Control, as JSON.
    Text(Bytes),
    /// A piece of content under a request's id.
    Binary(Bytes),
}

impl Frame {
    /// Returns the message's length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        let (Self::Text(bytes) | Self::Binary(bytes)) = self;
        bytes.len()
    }

    /// Tells whether the message is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a connection is closed, in the words and numbers of WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseStatus {
    /// All is said.
    Normal,
    /// The runtime ends.
    GoingAway,
    /// A message is none of this protocol, or came when it must not.
    ProtocolError,
    /// A text is no UTF-8.
    InvalidPayload,
    /// A rule was broken: a bound of structure, an id used twice, too many strikes.
    Policy,
    /// A message or a queue is larger than agreed.
    TooBig,
}

impl CloseStatus {
    /// Returns the close code of WebSocket.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Normal => 1000,
            Self::GoingAway => 1001,
            Self::ProtocolError => 1002,
            Self::InvalidPayload => 1007,
            Self::Policy => 1008,
            Self::TooBig => 1009,
        }
    }
}

/// What stands in no protocol: the connection that sent it is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Violation {
    /// How it is closed.
    pub status: CloseStatus,
    /// Stable, `snake_case`.
    pub code: &'static str,
    /// What was wrong, without any of the payload.
    pub message: String,
}

impl Violation {
    /// Builds a violation.
    #[must_use]
    pub fn new(status: CloseStatus, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// Builds one of the order of messages.
    #[must_use]
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(CloseStatus::ProtocolError, "protocol_error", message)
    }

    /// Builds one of a rule.
    #[must_use]
    pub fn policy(message: impl Into<String>) -> Self {
        Self::new(CloseStatus::Policy, "policy_violation", message)
    }
}
