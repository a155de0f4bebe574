//! The journal of one run: an entry is stored, then applied, then told.

use std::sync::{Arc, Mutex, PoisonError};

use agent::{
    journal::{Durability, Entry, Journal, Pulse},
    transcript::Transcript,
};
use daemon::hub::Hub;
use futures_util::future::BoxFuture;
use store::{Batch, Change, Epoch, NewFact, Store};
use vocab::{
    message::{Part, RunState, Usage},
    outcome::Failure,
};

use crate::live::Live;

/// Where one run's truth goes.
#[derive(Debug)]
pub struct RunJournal {
    store: Store,
    hub: Hub,
    epoch: Epoch,
    live: Arc<Live>,
    transcript: Mutex<Arc<Transcript>>,
}

impl RunJournal {
    /// Builds the journal of a run from what is stored of it.
    #[must_use]
    pub fn new(
        store: Store,
        hub: Hub,
        epoch: Epoch,
        live: Arc<Live>,
        transcript: Transcript,
    ) -> Self {
        Self { store, hub, epoch, live, transcript: Mutex::new(Arc::new(transcript)) }
    }

    fn batch_of(&self, entry: &Entry) -> Batch {
        let now = self.transcript();
        let mut batch = Batch::of_session(self.epoch.clone(), now.session.clone());
        let mut used = Usage::default();
        for (idx, part) in &entry.parts {
            used.add(&newly_used(now.parts().get(*idx), part));
            batch = batch.change(Change::PutPart {
                run: now.run.id.clone(),
                idx: *idx,
                part: part.clone(),
            });
        }
        if used != Usage::default() {
            batch = batch.change(Change::AddUsage(used));
        }
        if let Some(state) = &entry.state {
            batch =
                batch.change(Change::SetRunState { run: now.run.id.clone(), state: state.clone() });
        }
        for fact in &entry.facts {
            batch = batch.fact(NewFact::from(fact.clone()));
        }
        batch.durable(match entry.durability {
            Durability::Process => store::Durability::Process,
            Durability::Power => store::Durability::Power,
        })
    }
}

/// Returns the tokens that a step's new form adds to its old one. A step's usage is told once.
fn newly_used(before: Option<&Part>, after: &Part) -> Usage {
    match (before, after) {
        (Some(Part::Step { usage: Some(_), .. }), _) => Usage::default(),
        (_, Part::Step { usage: Some(usage), .. }) => *usage,
        _ => Usage::default(),
    }
}

impl Journal for RunJournal {
    fn append(&self, entry: Entry) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(async move {
            let appended = self.store.append(self.batch_of(&entry)).await?;
            let was_parked = {
                let mut transcript = self.transcript.lock().unwrap_or_else(PoisonError::into_inner);
                let was_parked = matches!(transcript.run.state, RunState::Parked { .. });
                Arc::make_mut(&mut transcript).apply(&entry);
                was_parked
            };
            if was_parked && entry.state.is_some() {
                self.live.reopen();
            }
            for chunk in entry.chunks {
                self.live.chunk(chunk);
            }
            self.hub.tell(appended.events);
            Ok(())
        })
    }

    fn pulse(&self, pulse: Pulse) {
        match pulse {
            Pulse::Chunk(chunk) => self.live.chunk(chunk),
            Pulse::Text(text) => self.live.text(&text),
            Pulse::Progress { call, text } => self.live.progress(&call, &text),
        }
    }

    fn transcript(&self) -> Arc<Transcript> {
        Arc::clone(&self.transcript.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
