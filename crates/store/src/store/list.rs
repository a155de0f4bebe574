//! Finding sessions: by id, in pages, and by what a person typed.

use rusqlite::{Connection, params};
use vocab::{
    ids::Fit,
    limits::{STORE_CANDIDATES_MAX, STORE_LIST_MAX},
};

use crate::{
    error::StoreError,
    rows::{Filter, Fitting, Page, SessionRow},
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

/// The query of a page; an index gives its order, so it reads no more than it returns.
fn page_sql(pinned: bool) -> String {
    // The index of those that are pinned is taken only where the query says what it holds.
    let pinned = if pinned { "AND pinned = 1 " } else { "" };
    format!(
        "SELECT {SESSION_COLUMNS}, key FROM sessions WHERE deleted = 0 {pinned}\
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
    let mut read = conn.prepare_cached(&page_sql(filter.pinned))?;
    let rows = read.query_and_then(
        params![seq, key, title, filter.cwd, int(limit + 1)],
        |row| -> Result<_, StoreError> { Ok((session_row(row)?, row.get::<_, i64>(19)?)) },
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

/// Finds those that fit a text best.
pub(crate) fn fitting(conn: &Connection, text: &str) -> Result<Option<Fitting>, StoreError> {
    if text.is_empty() {
        return Ok(None);
    }
    for column in ["id", "alias"] {
        if let Some(session) = one(conn, column, text)? {
            return Ok(Some(Fitting { fit: Fit::Id, sessions: vec![session], more: 0 }));
        }
    }
    // Lists show the last eight digits, so their beginning is as good as that of the whole.
    const OF_ID: &str = "(id LIKE ?1 || '%' ESCAPE '\\' OR id LIKE 'ses\\_' || ?1 || '%' ESCAPE '\\' \
        OR id LIKE '%' || ?1 ESCAPE '\\' OR substr(id, -8) LIKE ?1 || '%' ESCAPE '\\')";
    const OF_TITLE: &str = "title LIKE '%' || ?1 || '%' ESCAPE '\\'";
    // What every id begins with names none of them.
    let is_prefix = "ses_".starts_with(&text.to_lowercase());
    let part = if is_prefix { OF_TITLE.to_owned() } else { format!("({OF_ID} OR {OF_TITLE})") };
    let quoted = like(text);
    for (fit, condition, value) in [(Fit::Name, "title = ?1", text), (Fit::Part, &part, &quoted)] {
        let sql = format!(
            "SELECT {SESSION_COLUMNS} FROM sessions WHERE deleted = 0 AND {condition} \
             ORDER BY updated_seq DESC, key DESC LIMIT ?2"
        );
        let mut read = conn.prepare_cached(&sql)?;
        let found = read.query_and_then(params![value, int(STORE_CANDIDATES_MAX)], session_row)?;
        let sessions = found.collect::<Result<Vec<_>, _>>()?;
        if sessions.is_empty() {
            continue;
        }
        let mut more = 0;
        if sessions.len() == STORE_CANDIDATES_MAX {
            let sql = format!("SELECT count(*) FROM sessions WHERE deleted = 0 AND {condition}");
            let n_all: i64 = conn.prepare_cached(&sql)?.query_row([value], |row| row.get(0))?;
            more = usize::try_from(n_all).unwrap_or(0).saturating_sub(sessions.len());
        }
        return Ok(Some(Fitting { fit, sessions, more }));
    }
    Ok(None)
}

/// Quotes a text for `LIKE … ESCAPE '\'`.
fn like(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

#[cfg(test)]
mod tests;
