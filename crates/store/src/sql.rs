//! Rows to values and back: ids, models, numbers, in one place for every query.

use rusqlite::{Connection, OptionalExtension, Row};
use vocab::{
    fact::Event,
    ids::SessionId,
    limits::TOKENS_MAX,
    message::{Mode, ModelRef, Role, Run, Usage},
};

use crate::{
    cursor::Cursor,
    error::StoreError,
    rows::{Phase, Place, RunMark, SessionRow, StoredRun},
};

/// The columns that [`session_row`] reads, in its order.
pub(crate) const SESSION_COLUMNS: &str = "id, alias, title, workspace, cwd, model, mode, created_at, \
     updated_at, updated_seq, messages, run, phase, input, output, reasoning, cache_read, cache_write, pinned";

/// Bits of a part's key that hold its index.
pub(crate) const PART_BITS: u32 = 20;

/// Turns a count into what SQLite holds.
pub(crate) fn int(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

/// Turns a stored count back; none is ever negative.
pub(crate) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The keys of all possible parts of a message, first and last.
pub(crate) fn part_keys(message: i64) -> (i64, i64) {
    let first = message << PART_BITS;
    (first, first | ((1 << PART_BITS) - 1))
}

/// Reads a setting of the store itself.
pub(crate) fn meta(conn: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    let mut read = conn.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(read.query_row([key], |row| row.get(0)).optional()?)
}

/// Reads a number of the store itself; an absent one is zero.
pub(crate) fn meta_count(conn: &Connection, key: &str) -> Result<u64, StoreError> {
    match meta(conn, key)? {
        None => Ok(0),
        Some(text) => {
            text.parse().ok().ok_or_else(|| StoreError::corrupt(format!("meta {key}: {text:?}")))
        }
    }
}

/// Writes a setting of the store itself.
pub(crate) fn set_meta(conn: &Connection, key: &str, value: &str) -> Result<(), StoreError> {
    conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute([key, value])?;
    Ok(())
}

/// The last sequence number ever given out, also when its fact is gone.
pub(crate) fn last_seq(conn: &Connection) -> Result<u64, StoreError> {
    let seq: Option<i64> = conn
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'facts'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(count(seq.unwrap_or(0)))
}

/// Reads a stored text as the type that wrote it.
pub(crate) fn parsed<T: std::str::FromStr>(what: &str, text: &str) -> Result<T, StoreError> {
    let cut = || text.chars().take(80).collect::<String>();
    let damaged = || StoreError::corrupt(format!("a stored {what} reads {:?}", cut()));
    text.parse().ok().ok_or_else(damaged)
}

/// Reads stored JSON as the type that wrote it.
pub(crate) fn json<T: serde::de::DeserializeOwned>(what: &str, t: &str) -> Result<T, StoreError> {
    serde_json::from_str(t).map_err(|e| StoreError::corrupt(format!("a stored {what}: {e}")))
}

/// Reads a stored model.
pub(crate) fn model(text: &str) -> Result<ModelRef, StoreError> {
    ModelRef::parse(text)
        .ok_or_else(|| StoreError::corrupt(format!("a stored model reads {text:?}")))
}

/// The stored word of a role.
pub(crate) fn role_word(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Reads a stored role.
pub(crate) fn role(text: &str) -> Result<Role, StoreError> {
    match text {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        other => Err(StoreError::corrupt(format!("a stored role reads {other:?}"))),
    }
}

/// Reads [`SESSION_COLUMNS`].
pub(crate) fn session_row(row: &Row<'_>) -> Result<SessionRow, StoreError> {
    let number = |idx: usize| -> Result<u64, StoreError> { Ok(count(row.get(idx)?)) };
    // A sum may come from a time without the bound.
    let tokens = |idx: usize| -> Result<u64, StoreError> { Ok(number(idx)?.min(TOKENS_MAX)) };
    let run: Option<String> = row.get(11)?;
    let phase: Option<String> = row.get(12)?;
    let run = match (run, phase) {
        (Some(run), Some(phase)) => Some(RunMark {
            id: parsed("run id", &run)?,
            phase: Phase::parse(&phase)
                .ok_or_else(|| StoreError::corrupt(format!("a stored phase reads {phase:?}")))?,
        }),
        _ => None,
    };
    let asked: Option<String> = row.get(5)?;
    Ok(SessionRow {
        id: parsed("session id", row.get_ref(0)?.as_str().unwrap_or_default())?,
        alias: row.get(1)?,
        title: row.get(2)?,
        place: Place { workspace: row.get(3)?, cwd: row.get(4)? },
        model: asked.as_deref().map(model).transpose()?,
        mode: parsed::<Mode>("mode", row.get_ref(6)?.as_str().unwrap_or_default())?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
        updated_seq: number(9)?,
        messages: number(10)?,
        run,
        usage: Usage {
            input: tokens(13)?,
            output: tokens(14)?,
            reasoning: tokens(15)?,
            cache_read: tokens(16)?,
            cache_write: tokens(17)?,
        },
        pinned: row.get::<_, i64>(18)? != 0,
    })
}

/// The query whose rows [`stored_run`] reads; the caller adds its condition.
pub(crate) const RUN_SELECT: &str = "SELECT s.id, r.id, m.id, r.model, r.mode, r.interactive, r.state, r.started_at, r.ended_at \
     FROM runs r JOIN sessions s ON s.key = r.session JOIN messages m ON m.key = r.message \
     WHERE s.deleted = 0";

/// Reads a row of [`RUN_SELECT`].
pub(crate) fn stored_run(row: &Row<'_>) -> Result<StoredRun, StoreError> {
    let text = |idx: usize| -> Result<String, StoreError> { Ok(row.get(idx)?) };
    Ok(StoredRun {
        session: parsed("session id", &text(0)?)?,
        run: Run {
            id: parsed("run id", &text(1)?)?,
            message: parsed("message id", &text(2)?)?,
            model: model(&text(3)?)?,
            mode: parsed("mode", &text(4)?)?,
            interactive: row.get(5)?,
            state: json("run state", &text(6)?)?,
            started_at: row.get(7)?,
        },
        ended_at: row.get(8)?,
    })
}

/// The columns that [`event`] reads.
pub(crate) const FACT_COLUMNS: &str = "seq, at, subject, session, body";

/// Reads [`FACT_COLUMNS`]. A subject or kind that this program does not know stays as it is.
pub(crate) fn event(store_id: &str, row: &Row<'_>) -> Result<Event, StoreError> {
    let seq = count(row.get(0)?);
    let at: i64 = row.get(1)?;
    let session: Option<String> = row.get(3)?;
    let body: String = row.get(4)?;
    Ok(Event {
        cursor: Cursor { store_id: store_id.to_owned(), seq }.to_string(),
        seq,
        at: stdx::clock::Timestamp::from_millis(at).to_string(),
        subject: row.get(2)?,
        session: session.map(|id| parsed::<SessionId>("session id", &id)).transpose()?,
        body: json("fact", &body)?,
    })
}
