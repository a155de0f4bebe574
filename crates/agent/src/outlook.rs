//! A transcript as it is, or as it will be once an entry is stored. It borrows; nothing is copied.
//!
//! The driver looks ahead with it, so that what ends one step and what begins the next are one entry.

use vocab::{
    ids::MessageId,
    message::{Message, Part, Role, Run, RunState},
};

use crate::{journal::Entry, transcript::Transcript};

/// What a look at a run sees.
#[derive(Debug)]
pub(crate) struct Outlook<'a> {
    messages: &'a [Message],
    /// The run; where it stands is `state`.
    pub(crate) run: &'a Run,
    /// Where the run stands.
    pub(crate) state: &'a RunState,
    /// The parts of the run's message.
    pub(crate) parts: Vec<&'a Part>,
}

impl<'a> Outlook<'a> {
    /// Looks at what is stored.
    pub(crate) fn now(transcript: &'a Transcript) -> Self {
        Self {
            messages: &transcript.messages,
            run: &transcript.run,
            state: &transcript.run.state,
            parts: transcript.parts().iter().collect(),
        }
    }

    /// Looks at what will be stored once `entry` is, as [`Transcript::apply`] changes it.
    pub(crate) fn after(transcript: &'a Transcript, entry: &'a Entry) -> Self {
        let mut outlook = Self::now(transcript);
        for (idx, part) in &entry.parts {
            match outlook.parts.get_mut(*idx) {
                Some(slot) => *slot = part,
                None => outlook.parts.push(part),
            }
        }
        if let Some(state) = &entry.state {
            outlook.state = state;
        }
        outlook
    }

    /// Returns the user messages that came while the run worked and that it has not taken up yet.
    pub(crate) fn steering(&self) -> Vec<MessageId> {
        let taken = |id: &MessageId| {
            self.parts.iter().any(|part| matches!(part, Part::Steer { message } if message == id))
        };
        self.messages
            .iter()
            .filter(|m| m.role == Role::User && m.id > self.run.message && !taken(&m.id))
            .map(|m| m.id.clone())
            .collect()
    }
}
