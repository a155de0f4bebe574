//! Finding sessions: by id, in pages, and by what a person typed.

use rusqlite::{Connection, params};
use vocab::limits::{STORE_CANDIDATES_MAX, STORE_LIST_MAX};

use crate::{
    error::StoreError,
    rows::{Filter, Page, Resolved, SessionRow},
    sql::{SESSION_COLUMNS, int, session_row},
};

/// Sessions of a page when nobody says how many.
const PAGE_DEFAULT: usize = 50;

pub(crate) fn session(conn: &Connection, id: &str) -> Result<SessionRow, StoreError> {
    one(conn, "id", id)?.ok_or_else(|| StoreError::not_found("session", id))
}

pub(crate) fn by_alias(conn: &Connection, alias: &str) -> Result<Option<SessionRow>, StoreError> {
    one(conn, "alias", alias)
}

fn one(conn: &Connection, column: &str, value: &str) -> Result<Option<SessionRow>, StoreError> {
    conn.prepare_cached(&format!(
        "SELECT {SESSION_COLUMNS} FROM sessions WHERE {column} = ?1 AND deleted = 0"
    ))?
    .query_and_then([value], session_row)?
    .next()
    .transpose()
}

/// The query of a page; the index of recent sessions gives its order, so it reads no more than it returns.
fn page_sql() -> String {
    format!(
        "SELECT {SESSION_COLUMNS}, key FROM sessions WHERE deleted = 0 \
         AND (updated_seq, key) < (?1, ?2) \
         AND (?3 IS NULL OR title LIKE ?3 ESCAPE '\\') AND (?4 IS NULL OR cwd = ?4) \
         ORDER BY updated_seq DESC, key DESC LIMIT ?5"
    )
}

pub(crate) fn page(conn: &Connection, filter: &Filter) -> Result<Page, StoreError> {
    let (seq, key) = match &filter.after {
        None => (i64::MAX, i64::MAX),
        Some(after) => after
            .split_once('-')
            .and_then(|(seq, key)| Some((seq.parse().ok()?, key.parse().ok()?)))
            .ok_or_else(|| StoreError::conflict("`after` is not the `next` of a page"))?,
    };
    let limit = match filter.limit {
        0 => PAGE_DEFAULT,
        limit => limit.min(STORE_LIST_MAX),
    };
    let title =
        filter.query.as_deref().filter(|text| !text.is_empty()).map(|t| format!("%{}%", like(t)));
    let mut read = conn.prepare_cached(&page_sql())?;
    let rows = read.query_and_then(
        params![seq, key, title, filter.cwd, int(limit + 1)],
        |row| -> Result<_, StoreError> { Ok((session_row(row)?, row.get::<_, i64>(18)?)) },
    )?;
    let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = match rows.last() {
        Some((last, key)) if more => Some(format!("{}-{key}", last.updated_seq)),
        _ => None,
    };
    Ok(Page { sessions: rows.into_iter().map(|(session, _)| session).collect(), next })
}

pub(crate) fn resolve(conn: &Connection, text: &str) -> Result<Resolved, StoreError> {
    if text.is_empty() {
        return Ok(Resolved::None);
    }
    for column in ["id", "alias"] {
        if let Some(session) = one(conn, column, text)? {
            return Ok(Resolved::One(Box::new(session)));
        }
    }
    let quoted = like(text);
    // Lists show the last eight digits, so their beginning is as good as that of the whole.
    for condition in [
        "(id LIKE ?1 || '%' ESCAPE '\\' OR id LIKE 'ses\\_' || ?1 || '%' ESCAPE '\\' \
          OR id LIKE '%' || ?1 ESCAPE '\\' OR substr(id, -8) LIKE ?1 || '%' ESCAPE '\\')",
        "title LIKE '%' || ?1 || '%' ESCAPE '\\'",
    ] {
        let sql = format!(
            "SELECT {SESSION_COLUMNS} FROM sessions WHERE deleted = 0 AND {condition} \
             ORDER BY updated_seq DESC, key DESC LIMIT ?2"
        );
        let mut read = conn.prepare_cached(&sql)?;
        let found = read.query_and_then(params![quoted, int(STORE_CANDIDATES_MAX)], session_row)?;
        let mut found = found.collect::<Result<Vec<_>, _>>()?;
        match found.len() {
            0 => {}
            1 => return Ok(found.pop().map_or(Resolved::None, |s| Resolved::One(Box::new(s)))),
            _ => return Ok(Resolved::Many(found)),
        }
    }
    Ok(Resolved::None)
}

/// Quotes a text for `LIKE … ESCAPE '\'`.
fn like(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

#[cfg(test)]
mod tests;
