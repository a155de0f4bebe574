//! What a start finds unfinished: deletions that were cut off.
//!
//! Runs that nobody works on any more are not closed here: how they end is the loop's to decide.

use rusqlite::OptionalExtension;
use vocab::{fact::Event, ids::SessionId};

use crate::{apply::Scene, error::StoreError, sql::parsed, store::Store};

impl Store {
    /// Finishes the deletions that an earlier start left half done, and returns their facts.
    ///
    /// # Errors
    /// When the disk fails; calling it again goes on where it stopped.
    pub async fn finish_deletions(&self) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        while let Some(session) = self.task(|writer| writer.within(next_deleted)).await? {
            events.push(self.remove(session).await?);
        }
        Ok(events)
    }
}

fn next_deleted(scene: Scene<'_>) -> Result<Option<SessionId>, StoreError> {
    let id: Option<String> = scene
        .conn
        .prepare_cached("SELECT id FROM sessions WHERE deleted = 1 ORDER BY key LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    id.map(|id| parsed("session id", &id)).transpose()
}
