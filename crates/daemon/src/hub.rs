//! The hub: facts that were stored are told to whoever listens.
//!
//! A subscriber first listens, then reads what was stored, and drops by number what it hears twice: no
//! gap, no lock. One that falls behind reads the missing facts from the store again.

use std::sync::Arc;

pub use store::Cursor;
use store::Store;
use tokio::sync::broadcast;
use vocab::{
    fact::Event,
    limits::{EVENT_PAGE_ROWS_MAX, HUB_EVENTS_MAX},
    outcome::Failure,
};

/// Tells stored facts.
#[derive(Debug, Clone)]
pub struct Hub {
    sender: broadcast::Sender<Arc<Event>>,
    store: Store,
}

impl Hub {
    /// Builds a hub over a store.
    #[must_use]
    pub fn new(store: Store) -> Self {
        let (sender, _) = broadcast::channel(HUB_EVENTS_MAX);
        Self { sender, store }
    }

    /// Tells facts. They come out of the store's answer, so they are stored.
    pub fn tell(&self, events: Vec<Event>) {
        for event in events {
            // Nobody listening is fine; the facts are stored.
            self.sender.send(Arc::new(event)).ok();
        }
    }

    /// Listens to every fact after `cursor`; to those that come when there is none.
    ///
    /// # Errors
    /// When the cursor is of another store or too old.
    pub async fn subscribe_after(&self, cursor: Option<Cursor>) -> Result<Subscription, Failure> {
        let receiver = self.sender.subscribe();
        let seq = match cursor {
            Some(cursor) => {
                // A first page proves that the cursor is good; the reader fetches it again.
                self.store.facts_after(Some(&cursor), 1).await?;
                cursor.seq
            }
            None => self.store.cursor().await?.seq,
        };
        Ok(Subscription { hub: self.clone(), receiver, seq, backlog: Vec::new(), behind: true })
    }
}

/// One listener.
#[derive(Debug)]
pub struct Subscription {
    hub: Hub,
    receiver: broadcast::Receiver<Arc<Event>>,
    seq: u64,
    backlog: Vec<Event>,
    behind: bool,
}

impl Subscription {
    /// Waits for the next fact; none when the daemon ends.
    ///
    /// # Errors
    /// When the store cannot be read, or facts the listener missed are gone already.
    pub async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.backlog.pop() {
                self.seq = event.seq;
                return Ok(Some(event));
            }
            if self.behind {
                let store = &self.hub.store;
                let after = Cursor { store_id: store.id().to_owned(), seq: self.seq };
                let mut page = store.facts_after(Some(&after), EVENT_PAGE_ROWS_MAX).await?;
                self.behind = page.len() == EVENT_PAGE_ROWS_MAX;
                page.reverse();
                self.backlog = page;
                continue;
            }
            match self.receiver.recv().await {
                Ok(event) if event.seq <= self.seq => {}
                Ok(event) if event.seq == self.seq + 1 => {
                    self.seq = event.seq;
                    return Ok(Some((*event).clone()));
                }
                // A number was skipped: told out of order, or lost on the way. The store knows.
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests;
