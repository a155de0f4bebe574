//! Looking ahead: what ends one step and what begins the next are stored as one entry, in one commit.
//!
//! Only the two steps that every call of a tool passes through are joined to the entry before them, and
//! only what begins them is: asking the model, and running calls that nobody has to be asked about.

use crate::{
    calls,
    journal::Entry,
    model,
    next::{Rules, Step, look},
    outlook::Outlook,
    transcript::Transcript,
    turn::Loop,
};

/// What the last entry began. It lives no longer than the task: in a stored transcript, what was begun
/// and has no end was broken off.
#[derive(Debug, Default)]
pub(crate) enum Begun {
    /// Nothing: the transcript tells what is next.
    #[default]
    Nothing,
    /// A model call.
    Model,
    /// Calls of tools.
    Calls {
        /// All calls that are to run, by part.
        batch: Vec<usize>,
        /// How many of them, from the first, are stored as started.
        started: usize,
    },
}

impl Loop {
    /// Adds to an entry what begins the next step, if that is one to be begun with it.
    pub(crate) fn with_next(&self, transcript: &Transcript, entry: Entry) -> (Entry, Begun) {
        if self.cancel.is_cancelled() {
            return (entry, Begun::Nothing);
        }
        let kit = self.tools.kit();
        let now = self.clock.now().as_millis();
        let rules = Rules { kit: &kit, steps_max: self.settings.steps_max, now };
        let outlook = Outlook::after(transcript, &entry);
        let (begin, begun) = match look(&outlook, &rules) {
            Step::CallModel => (model::begin(&outlook), Begun::Model),
            Step::RunCalls(batch) => {
                let started = calls::window(&kit, &outlook.parts, &batch).min(batch.len());
                let begins = batch.get(..started).unwrap_or_default();
                let begin = calls::entry(&outlook, Vec::new(), begins);
                (begin, Begun::Calls { batch, started })
            }
            Step::Settle { .. }
            | Step::Park
            | Step::Resume
            | Step::Expire(_)
            | Step::TakeSteering(_)
            | Step::End(_)
            | Step::Rest => return (entry, Begun::Nothing),
        };
        (entry.and(begin), begun)
    }
}
