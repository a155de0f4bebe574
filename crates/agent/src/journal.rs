//! The seam to storage: an entry is stored whole, then told; a pulse is told and may be lost.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use vocab::{
    fact::RunFact,
    ids::CallId,
    live::Chunk,
    message::{Part, RunState},
    outcome::Failure,
};

use crate::transcript::Transcript;

/// How firmly an entry is stored before the loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// It survives the death of this process.
    Process,
    /// It survives the loss of power too.
    Power,
}

/// One atomic change of a run.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Parts of the run's assistant message, by index: new ones are appended, known ones replaced.
    pub parts: Vec<(usize, Part)>,
    /// Where the run stands now, if that changed.
    pub state: Option<RunState>,
    /// What to record of it, in order.
    pub facts: Vec<RunFact>,
    /// What to tell the run's readers once all this is stored.
    pub chunks: Vec<Chunk>,
    /// How firmly.
    pub durability: Durability,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            state: None,
            facts: Vec::new(),
            chunks: Vec::new(),
            durability: Durability::Process,
        }
    }
}

impl Entry {
    /// Adds what is to be stored together with this entry, and told after it.
    #[must_use]
    pub fn and(mut self, then: Self) -> Self {
        for (idx, part) in then.parts {
            match self.parts.iter_mut().find(|(known, _)| *known == idx) {
                Some((_, known)) => *known = part,
                None => self.parts.push((idx, part)),
            }
        }
        self.state = then.state.or(self.state);
        self.facts.extend(then.facts);
        self.chunks.extend(then.chunks);
        self.durability = self.durability.max(then.durability);
        self
    }
}

/// Something told at once. A pulse may be lost; what matters of it is stored later.
#[derive(Debug, Clone, PartialEq)]
pub enum Pulse {
    /// A chunk of a model's answer while it is being written: a part or a call begins or ends.
    Chunk(Chunk),
    /// Text of the part or call that was begun last.
    Text(String),
    /// Output of a running call, for those who watch; the outcome will hold it.
    Progress {
        /// The call.
        call: CallId,
        /// More output.
        text: String,
    },
}

/// Where a run's truth is kept. One journal belongs to one run.
pub trait Journal: Send + Sync {
    /// Stores an entry and then tells it. When this fails the run must stop: another daemon may own it.
    ///
    /// An entry that changes the state of a parked run takes back the finish that was told when it
    /// parked ([`vocab::live::Log::reopen`]) before its own chunks are told; if the run stays parked,
    /// its own chunks end with a new finish.
    fn append(&self, entry: Entry) -> BoxFuture<'_, Result<(), Failure>>;

    /// Tells something that is not stored yet. Never waits.
    fn pulse(&self, pulse: Pulse);

    /// Returns the transcript as it is stored now.
    fn transcript(&self) -> Arc<Transcript>;
}
