//! What is kept and for how long: facts and remembered answers. Content is never pruned.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use vocab::limits::{STORE_CHUNK_ROWS_MAX, STORE_FACTS_DAYS_MAX, STORE_FACTS_KEPT_MAX};

use crate::{
    apply::Scene,
    error::StoreError,
    sql::{count, int, meta_count, set_meta},
    store::Store,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Facts older than this go.
    pub facts_age: Duration,
    /// Facts so far behind the newest go, whatever their age.
    pub facts_count: u64,
    /// Remembered answers older than this go.
    pub answers_age: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        let days = u32::try_from(STORE_FACTS_DAYS_MAX).unwrap_or(u32::MAX);
        Self { facts_age: DAY * days, facts_count: STORE_FACTS_KEPT_MAX, answers_age: DAY }
    }
}

/// What a pruning removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Facts.
    pub facts: usize,
    /// Remembered answers.
    pub answers: usize,
}

impl Store {
    /// Removes what is older than `keep`, chunk by chunk with room for others in between.
    ///
    /// # Errors
    /// When the disk fails; the chunks before it stay removed.
    pub async fn prune(&self, keep: Retention) -> Result<Pruned, StoreError> {
        let mut all = Pruned::default();
        // Counted on a reader, as it passes by every fact that is kept.
        let crowd = self.read(move |conn| crowd(conn, keep.facts_count)).await?;
        loop {
            let step =
                self.task(move |writer| writer.within(|scene| chunk(scene, keep, crowd))).await?;
            all.facts += step.facts;
            all.answers += step.answers;
            if step.facts < STORE_CHUNK_ROWS_MAX && step.answers < STORE_CHUNK_ROWS_MAX {
                return Ok(all);
            }
        }
    }
}

/// The newest fact that is beyond the number kept.
fn crowd(conn: &Connection, kept: u64) -> Result<i64, StoreError> {
    let found = conn
        .prepare_cached("SELECT seq FROM facts ORDER BY seq DESC LIMIT 1 OFFSET ?1")?
        .query_row([int(kept)], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}

fn before(scene: Scene<'_>, age: Duration) -> i64 {
    scene.now.saturating_sub(int(age.as_millis()))
}

/// Facts go from the oldest on, up to the first that is young enough: what is kept has no holes, also
/// when the clock was once set back.
fn chunk(scene: Scene<'_>, keep: Retention, crowd: i64) -> Result<Pruned, StoreError> {
    let oldest: Vec<(i64, i64)> = scene
        .conn
        .prepare_cached("SELECT seq, at FROM facts ORDER BY seq LIMIT ?1")?
        .query_map([int(STORE_CHUNK_ROWS_MAX)], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let cutoff = before(scene, keep.facts_age);
    let last = oldest.iter().take_while(|(seq, at)| *at < cutoff || *seq <= crowd).last();
    let mut pruned = Pruned::default();
    if let Some((seq, _)) = last {
        pruned.facts =
            scene.conn.prepare_cached("DELETE FROM facts WHERE seq <= ?1")?.execute([seq])?;
        let floor = count(*seq).max(meta_count(scene.conn, "facts_floor")?);
        set_meta(scene.conn, "facts_floor", &floor.to_string())?;
    }
    pruned.answers = scene
        .conn
        .prepare_cached(
            "DELETE FROM idempotency WHERE key IN \
             (SELECT key FROM idempotency WHERE at < ?1 ORDER BY key LIMIT ?2)",
        )?
        .execute(params![before(scene, keep.answers_age), int(STORE_CHUNK_ROWS_MAX)])?;
    Ok(pruned)
}

#[cfg(test)]
mod tests;
