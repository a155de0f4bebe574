//! The stored transcript of a session, as one run sees it.

use vocab::{
    ids::SessionId,
    message::{Message, Part, Run},
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

    fn own(&self) -> Option<&Message> {
        self.messages.iter().rev().find(|message| message.id == self.run.message)
    }
}
