//! The pen of a run: whoever changes a run's transcript holds it from reading to storing.
//!
//! The loop and a person's answers write to the same run at the same time. Places of parts and ordinals
//! of outcomes are computed from what is stored, so reading and appending must be one act. The pen keeps
//! nothing itself.

use std::sync::Arc;

use tokio::sync::Mutex;
use vocab::outcome::Failure;

use crate::{
    journal::{Entry, Journal, Pulse},
    transcript::Transcript,
};

/// The one way to write to a run. Clones write to the same run.
#[derive(Clone)]
pub struct Pen {
    journal: Arc<dyn Journal>,
    held: Arc<Mutex<()>>,
}

impl Pen {
    /// Takes the journal of a run. One run has one pen; others clone it.
    #[must_use]
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        Self { journal, held: Arc::new(Mutex::new(())) }
    }

    /// Returns the transcript as it is stored now.
    #[must_use]
    pub fn transcript(&self) -> Arc<Transcript> {
        self.journal.transcript()
    }

    /// Tells something that is not stored yet.
    pub fn pulse(&self, pulse: Pulse) {
        self.journal.pulse(pulse);
    }

    /// Stores the entry that `change` makes of the present transcript.
    ///
    /// # Errors
    /// When `change` refuses, or when the journal does; the run must then stop.
    pub async fn write<F>(&self, change: F) -> Result<(), Failure>
    where
        F: FnOnce(&Transcript) -> Result<Entry, Failure> + Send,
    {
        let _held = self.held.lock().await;
        let entry = change(&self.journal.transcript())?;
        self.journal.append(entry).await
    }
}

impl std::fmt::Debug for Pen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pen").finish_non_exhaustive()
    }
}
