//! Reading conversations: messages with their parts in one ordered query, page by page or whole.

use rusqlite::{Connection, OptionalExtension, Row, types::ValueRef};
use vocab::{
    ids::SessionId,
    limits::STORE_PAGE_BYTES_MAX,
    message::{Message, Part},
};

use crate::{
    cursor::Cursor,
    error::StoreError,
    rows::{MessagePage, PageMark, Transcript},
    sql::{self, PART_BITS, RUN_SELECT, SESSION_COLUMNS, parsed, role},
};

/// The query of a conversation: a row for each part, and one for a message that has none. Keys rise in
/// its order, so the indexes need no sorting.
pub(crate) const MESSAGES: &str = "SELECT m.key, m.id, m.role, m.run, m.created_at, p.body FROM messages m \
     LEFT JOIN parts p ON p.key >= m.key << 20 AND p.key < (m.key + 1) << 20 \
     WHERE m.session = ?1 AND m.key > ?2 AND m.key <= ?3 ORDER BY m.key, p.key";

const _: () = assert!(PART_BITS == 20, "the query knows how a part's key holds its message's");

/// What a message counts for in a page beside its parts, and a part beside its text: without it, a page
/// of messages that say nothing would have no end.
const MESSAGE_BYTES: usize = 256;
const PART_BYTES: usize = 64;

fn session_key(conn: &Connection, session: &SessionId) -> Result<i64, StoreError> {
    conn.prepare_cached("SELECT key FROM sessions WHERE id = ?1 AND deleted = 0")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::not_found("session", session.as_str()))
}

pub(crate) fn page(
    conn: &Connection,
    session: &SessionId,
    from: Option<PageMark>,
) -> Result<MessagePage, StoreError> {
    let key = session_key(conn, session)?;
    let from = match from {
        Some(mark) => mark,
        None => {
            // The end is fixed by the first page: a conversation that goes on is told to an end.
            let last: Option<i64> = conn
                .prepare_cached(
                    "SELECT key FROM messages WHERE session = ?1 ORDER BY key DESC LIMIT 1",
                )?
                .query_row([key], |row| row.get(0))
                .optional()?;
            PageMark { after: 0, until: last.unwrap_or(0) }
        }
    };
    read(conn, key, from, STORE_PAGE_BYTES_MAX)
}

/// Reads messages until the next one would not fit, but at least one.
fn read(
    conn: &Connection,
    session: i64,
    from: PageMark,
    bytes_max: usize,
) -> Result<MessagePage, StoreError> {
    let mut query = conn.prepare_cached(MESSAGES)?;
    let mut rows = query.query([session, from.after, from.until])?;
    let mut page = MessagePage::default();
    // The last whole message, the one in hand, and what that one counts for so far.
    let (mut end, mut key, mut bytes) = (from.after, from.after, 0);
    while let Some(row) = rows.next()? {
        let here: i64 = row.get(0)?;
        if here != key {
            page.bytes += bytes;
            (end, key, bytes) = (key, here, MESSAGE_BYTES);
            page.messages.push(message(row)?);
        }
        let body = row.get_ref(5)?;
        let body = (body != ValueRef::Null).then(|| body.as_str().unwrap_or_default());
        bytes += body.map_or(0, |body| PART_BYTES + body.len());
        if bytes_max < page.bytes + bytes && 1 < page.messages.len() {
            page.messages.pop();
            page.next = Some(PageMark { after: end, ..from });
            return Ok(page);
        }
        if let (Some(body), Some(message)) = (body, page.messages.last_mut()) {
            message.parts.push(sql::json::<Part>("part", body)?);
        }
    }
    page.bytes += bytes;
    Ok(page)
}

/// Reads a message without its parts.
fn message(row: &Row<'_>) -> Result<Message, StoreError> {
    let text = |idx: usize| -> Result<&str, StoreError> {
        // The table's type makes anything but text impossible.
        Ok(row.get_ref(idx)?.as_str().unwrap_or_default())
    };
    let run = row.get_ref(3)?.as_str().ok();
    Ok(Message {
        id: parsed("message id", text(1)?)?,
        role: role(text(2)?)?,
        run: run.map(|run| parsed("run id", run)).transpose()?,
        parts: Vec::new(),
        created_at: row.get(4)?,
    })
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
    let all = PageMark { after: 0, until: i64::MAX };
    Ok(Transcript {
        session: row,
        messages: read(conn, key, all, usize::MAX)?.messages,
        run,
        cursor: Cursor { store_id: store_id.to_owned(), seq },
    })
}
