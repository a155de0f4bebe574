//! Reading conversations: messages with their parts in one ordered query.

use rusqlite::{Connection, OptionalExtension, Row, params};
use vocab::{
    ids::{MessageId, SessionId},
    message::{Message, Part},
};

use crate::{
    cursor::Cursor,
    error::StoreError,
    rows::Transcript,
    sql::{self, RUN_SELECT, SESSION_COLUMNS, int, parsed, part_keys, role},
};

/// The query of a conversation; keys rise in its order, so the index needs no sorting.
pub(crate) const MESSAGES: &str = "SELECT key, id, role, run, created_at FROM messages \
     WHERE session = ?1 AND key > ?2 ORDER BY key LIMIT ?3";

fn session_key(conn: &Connection, session: &SessionId) -> Result<i64, StoreError> {
    conn.prepare_cached("SELECT key FROM sessions WHERE id = ?1 AND deleted = 0")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::not_found("session", session.as_str()))
}

pub(crate) fn messages(
    conn: &Connection,
    session: &SessionId,
    after: Option<&MessageId>,
    limit: usize,
) -> Result<Vec<Message>, StoreError> {
    let key = session_key(conn, session)?;
    let after = match after {
        None => 0,
        Some(id) => conn
            .prepare_cached("SELECT key FROM messages WHERE id = ?1 AND session = ?2")?
            .query_row(params![id.as_str(), key], |row| row.get::<_, i64>(0))
            .optional()?
            .ok_or_else(|| StoreError::not_found("message", id.as_str()))?,
    };
    read(conn, key, after, limit)
}

fn read(conn: &Connection, key: i64, after: i64, limit: usize) -> Result<Vec<Message>, StoreError> {
    let mut parts =
        conn.prepare_cached("SELECT body FROM parts WHERE key BETWEEN ?1 AND ?2 ORDER BY key")?;
    conn.prepare_cached(MESSAGES)?
        .query_and_then([key, after, int(limit)], |row| {
            let run: Option<String> = row.get(3)?;
            let (first, last) = part_keys(row.get(0)?);
            let parts = parts.query_and_then([first, last], |row| {
                sql::json::<Part>("part", row.get_ref(0)?.as_str().unwrap_or_default())
            })?;
            Ok(Message {
                id: parsed("message id", text(row, 1))?,
                role: role(text(row, 2))?,
                run: run.map(|run| parsed("run id", &run)).transpose()?,
                parts: parts.collect::<Result<_, _>>()?,
                created_at: row.get(4)?,
            })
        })?
        .collect()
}

/// Borrows a text column; the table's type makes anything else impossible.
fn text<'a>(row: &'a Row<'_>, idx: usize) -> &'a str {
    row.get_ref(idx).ok().and_then(|value| value.as_str().ok()).unwrap_or_default()
}

pub(crate) fn whole(
    conn: &Connection,
    store_id: &str,
    session: &SessionId,
) -> Result<Transcript, StoreError> {
    let key = session_key(conn, session)?;
    let row = conn
        .prepare_cached(&format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE key = ?1"))?
        .query_and_then([key], sql::session_row)?
        .next()
        .unwrap_or_else(|| Err(StoreError::not_found("session", session.as_str())))?;
    let run = match &row.run {
        None => None,
        Some(mark) => conn
            .prepare_cached(&format!("{RUN_SELECT} AND r.id = ?1"))?
            .query_and_then([mark.id.as_str()], sql::stored_run)?
            .next()
            .transpose()?
            .map(|stored| stored.run),
    };
    let seq = sql::last_seq(conn)?;
    Ok(Transcript {
        session: row,
        messages: read(conn, key, 0, usize::MAX)?,
        run,
        cursor: Cursor { store_id: store_id.to_owned(), seq },
    })
}
