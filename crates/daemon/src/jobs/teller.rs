//! Facts about jobs on their way into the store and from there to whoever listens.
//!
//! A disk that is full for a moment must not cost anybody the end of a job: what cannot be stored waits, and is
//! sent later, in the order in which it happened. Not here: what the facts are made of.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use store::{Batch, Store, StoreError};
use tokio::sync::Mutex as Lane;
use vocab::{
    fact::JobFact,
    limits::{JOB_FACTS_RETRY_MS, JOB_FACTS_UNSENT_MAX},
};

use crate::hub::Hub;

/// Stores facts and tells them.
#[derive(Clone)]
pub(super) struct Teller(Arc<Inner>);

struct Inner {
    store: Store,
    hub: Hub,
    /// What is not stored yet, the oldest first. Whoever has something to tell waits for a turn here.
    unsent: Lane<VecDeque<JobFact>>,
    is_retrying: AtomicBool,
}

/// What becomes of the facts that are still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// None is there.
    Nothing,
    /// They are tried again.
    Waiting,
}

impl Teller {
    pub(super) fn new(store: Store, hub: Hub) -> Self {
        let (unsent, is_retrying) = (Lane::default(), AtomicBool::new(false));
        Self(Arc::new(Inner { store, hub, unsent, is_retrying }))
    }

    /// Stores a fact after those that still wait, and tells it. The files are the truth, so one that cannot be
    /// stored is only late.
    pub(super) async fn tell(&self, fact: JobFact) {
        let mut unsent = self.0.unsent.lock().await;
        if JOB_FACTS_UNSENT_MAX <= unsent.len() {
            let lost = unsent.pop_front();
            tracing::error!(?lost, "too many facts wait for the store, and the oldest is lost");
        }
        unsent.push_back(fact);
        if self.0.send(&mut unsent).await == Left::Nothing {
            return;
        }
        tracing::warn!(waiting = unsent.len(), "facts about jobs are not stored yet");
        if !self.0.is_retrying.swap(true, Ordering::SeqCst) {
            tokio::spawn(Arc::clone(&self.0).retry());
        }
    }

    /// Tries once more what still waits, since the store is about to close.
    pub(super) async fn tell_the_rest(&self) {
        let mut unsent = self.0.unsent.lock().await;
        if self.0.send(&mut unsent).await == Left::Waiting {
            tracing::warn!(
                lost = unsent.len(),
                "facts about jobs are not stored; their files tell them"
            );
        }
    }
}

impl Inner {
    /// Tries again until nothing waits.
    async fn retry(self: Arc<Self>) {
        loop {
            tokio::time::sleep(Duration::from_millis(JOB_FACTS_RETRY_MS)).await;
            let mut unsent = self.unsent.lock().await;
            if self.send(&mut unsent).await == Left::Nothing {
                // In the same turn, so that whoever comes next either finds nothing here or begins anew.
                self.is_retrying.store(false, Ordering::SeqCst);
                return;
            }
        }
    }

    async fn send(&self, unsent: &mut VecDeque<JobFact>) -> Left {
        while let Some(fact) = unsent.front() {
            let batch = Batch::of_store(self.store.epoch()).fact(fact.clone());
            match self.store.append(batch).await {
                Ok(stored) => self.hub.tell(stored.events),
                Err(StoreError::Closed | StoreError::StaleEpoch { .. }) => {
                    // The next daemon finds out by the files.
                    unsent.clear();
                    return Left::Nothing;
                }
                Err(
                    error @ (StoreError::Conflict { .. }
                    | StoreError::NotFound { .. }
                    | StoreError::TooLarge { .. }),
                ) => tracing::error!(?fact, %error, "a fact about a job is refused"),
                Err(error) => {
                    tracing::debug!(%error, "a fact about a job was not stored");
                    return Left::Waiting;
                }
            }
            unsent.pop_front();
        }
        Left::Nothing
    }
}
