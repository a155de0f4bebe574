//! The stored transcript of a session, as one run sees it.

use vocab::{
    ids::{MessageId, SessionId},
    message::{Message, Part, Role, Run},
};

use crate::{journal::Entry, parts::put};

/// A session's messages with the run that works on them.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// The session.
    pub session: SessionId,
    /// Its messages in the order of the conversation, the run's own among them.
    pub messages: Vec<Message>,
    /// The run.
    pub run: Run,
}

impl Transcript {
    /// Returns the parts of the assistant message that the run writes.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        self.own().map_or(&[], |message| &message.parts)
    }

    /// Changes the transcript as storing `entry` changes it.
    pub fn apply(&mut self, entry: &Entry) {
        let own = self.run.message.clone();
        if let Some(message) = self.messages.iter_mut().find(|message| message.id == own) {
            put(&mut message.parts, &entry.parts);
        }
        if let Some(state) = &entry.state {
            self.run.state = state.clone();
        }
    }

    /// Returns the user messages that came while the run worked and that it has not taken up yet.
    #[must_use]
    pub fn steering(&self) -> Vec<MessageId> {
        let taken = |id: &MessageId| {
            self.parts().iter().any(|part| matches!(part, Part::Steer { message } if message == id))
        };
        self.messages
            .iter()
            .filter(|m| m.role == Role::User && m.id > self.run.message && !taken(&m.id))
            .map(|m| m.id.clone())
            .collect()
    }

    fn own(&self) -> Option<&Message> {
        self.messages.iter().rev().find(|message| message.id == self.run.message)
    }
}
