//! Deleting a session: hidden at once, removed in chunks, and one fact remains.

use rusqlite::{OptionalExtension, params};
use vocab::{
    fact::{Event, SessionFact},
    ids::SessionId,
    limits::STORE_CHUNK_ROWS_MAX,
};

use crate::{
    apply::{self, Scene},
    encode,
    error::StoreError,
    rows::Phase,
    sql::{int, part_keys},
    store::Store,
};

/// The kind of the one fact that remains.
const TOMBSTONE: &str = "session_deleted";

impl Store {
    /// Deletes a session with all its content and facts, and returns the one fact that remains.
    ///
    /// It is hidden before anything is removed. When this is cut off, [`Store::finish_deletions`] finishes it.
    ///
    /// # Errors
    /// `not_found`; `conflict` while a run works on it; or when the disk fails.
    pub async fn delete_session(&self, session: &SessionId) -> Result<Event, StoreError> {
        let id = session.clone();
        self.task(move |writer| writer.within(|scene| hide(scene, &id))).await?;
        self.remove(session.clone()).await
    }

    /// Tells whether a session's tombstone is there. It goes with the other facts of its age.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn is_deleted(&self, session: &SessionId) -> Result<bool, StoreError> {
        let id = session.clone();
        self.read(move |conn| {
            let found = conn
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM facts WHERE session = ?1 AND kind = ?2)",
                )?
                .query_row([id.as_str(), TOMBSTONE], |row| row.get(0))?;
            Ok(found)
        })
        .await
    }

    /// Removes what a hidden session holds, chunk by chunk, then the session itself.
    pub(crate) async fn remove(&self, session: SessionId) -> Result<Event, StoreError> {
        loop {
            let id = session.clone();
            if let Some(event) = self.task(move |writer| writer.within(|s| chunk(s, &id))).await? {
                return Ok(event);
            }
        }
    }
}

fn hide(scene: Scene<'_>, session: &SessionId) -> Result<(), StoreError> {
    let id = session.as_str();
    let phase: Option<Option<String>> = scene
        .conn
        .prepare_cached("SELECT phase FROM sessions WHERE id = ?1 AND deleted = 0")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    match phase {
        None => return Err(StoreError::not_found("session", id)),
        Some(Some(phase)) if phase == Phase::Running.as_str() => {
            return Err(StoreError::conflict("a run works on the session; stop it first"));
        }
        Some(_) => {}
    }
    scene
        .conn
        .prepare_cached("UPDATE sessions SET deleted = 1, alias = NULL, title = '' WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

/// Removes one chunk. Returns the fact that remains once nothing else does.
fn chunk(scene: Scene<'_>, session: &SessionId) -> Result<Option<Event>, StoreError> {
    let id = session.as_str();
    let key: i64 = scene
        .conn
        .prepare_cached("SELECT key FROM sessions WHERE id = ?1 AND deleted = 1")?
        .query_row([id], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::not_found("session", id))?;
    let mut left = STORE_CHUNK_ROWS_MAX;
    while left > 0 {
        let Some(removed) = remove_message(scene, key, left)? else { break };
        left = left.saturating_sub(removed);
    }
    for sql in [
        "DELETE FROM runs WHERE key IN (SELECT key FROM runs WHERE session = ?1 LIMIT ?2)",
        "DELETE FROM facts WHERE seq IN (SELECT seq FROM facts WHERE session = \
         (SELECT id FROM sessions WHERE key = ?1) LIMIT ?2)",
    ] {
        if left > 0 {
            left -= scene.conn.prepare_cached(sql)?.execute(params![key, int(left)])?;
        }
    }
    if left == 0 {
        return Ok(None);
    }
    scene.conn.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([key])?;
    let fact = encode::fact(SessionFact::SessionDeleted.into())?;
    Ok(apply::facts(scene, Some(session), &[fact])?.pop())
}

/// Removes up to `rows` rows of the session's first message; none when there is no message.
fn remove_message(scene: Scene<'_>, key: i64, rows: usize) -> Result<Option<usize>, StoreError> {
    let message: Option<i64> = scene
        .conn
        .prepare_cached("SELECT key FROM messages WHERE session = ?1 ORDER BY key LIMIT 1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let Some(message) = message else { return Ok(None) };
    let (first, last) = part_keys(message);
    let parts = scene
        .conn
        .prepare_cached(
            "DELETE FROM parts WHERE key IN \
             (SELECT key FROM parts WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3)",
        )?
        .execute(params![first, last, int(rows)])?;
    if parts < rows {
        scene.conn.prepare_cached("DELETE FROM messages WHERE key = ?1")?.execute([message])?;
    }
    Ok(Some(parts + 1))
}

#[cfg(test)]
mod tests;
