//! Changes inside one session: its settings, messages, runs and parts.

use rusqlite::{Connection, OptionalExtension, params};
use vocab::{
    ids::RunId,
    limits::TOKENS_MAX,
    message::{Message, Role, Run},
};

use super::{Scene, unique};
use crate::{
    encode::{Body, SessionOp, State},
    error::StoreError,
    rows::Phase,
    sql::{PART_BITS, int, part_keys, role_word},
};

/// Applies a change to a session that exists.
pub(super) fn apply(scene: Scene<'_>, session: i64, op: &SessionOp) -> Result<(), StoreError> {
    let conn = scene.conn;
    let set = |sql: &str, value: Option<&str>| -> Result<(), StoreError> {
        conn.prepare_cached(sql)?.execute(params![session, value])?;
        Ok(())
    };
    match op {
        SessionOp::SetTitle(title) => {
            set("UPDATE sessions SET title = ?2 WHERE key = ?1", Some(title))
        }
        SessionOp::SetPinned(pinned) => {
            conn.prepare_cached("UPDATE sessions SET pinned = ?2 WHERE key = ?1")?
                .execute(params![session, pinned])?;
            Ok(())
        }
        SessionOp::SetModel(model) => {
            set("UPDATE sessions SET model = ?2 WHERE key = ?1", model.as_deref())
        }
        SessionOp::SetMode(mode) => set("UPDATE sessions SET mode = ?2 WHERE key = ?1", Some(mode)),
        SessionOp::AddMessage { message, parts } => {
            add_message(conn, session, message, parts).map(|_| ())
        }
        SessionOp::StartRun { run, state } => start_run(conn, session, run, state),
        SessionOp::PutPart { run, part } => put_part(conn, session, run, part),
        SessionOp::SetRunState { run, state } => set_run_state(scene, session, run, state),
        SessionOp::AddUsage(usage) => {
            conn.prepare_cached(
                // A sum beyond the range of integers is a REAL, which the column refuses.
                "UPDATE sessions SET input = CAST(min(input + ?2, ?7) AS INTEGER), \
                 output = CAST(min(output + ?3, ?7) AS INTEGER), \
                 reasoning = CAST(min(reasoning + ?4, ?7) AS INTEGER), \
                 cache_read = CAST(min(cache_read + ?5, ?7) AS INTEGER), \
                 cache_write = CAST(min(cache_write + ?6, ?7) AS INTEGER) WHERE key = ?1",
            )?
            .execute(params![
                session,
                int(usage.input),
                int(usage.output),
                int(usage.reasoning),
                int(usage.cache_read),
                int(usage.cache_write),
                int(TOKENS_MAX)
            ])?;
            Ok(())
        }
    }
}

fn add_message(
    conn: &Connection,
    session: i64,
    message: &Message,
    parts: &[Body],
) -> Result<i64, StoreError> {
    let run = message.run.as_ref().map(RunId::as_str);
    let id = message.id.as_str();
    let done = conn
        .prepare_cached(
            "INSERT INTO messages (id, session, role, run, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![id, session, role_word(message.role), run, message.created_at]);
    unique(done, || format!("message {id} exists"))?;
    let key = conn.last_insert_rowid();
    let mut insert =
        conn.prepare_cached("INSERT INTO parts (key, kind, body) VALUES (?1, ?2, ?3)")?;
    for part in parts {
        insert.execute(params![(key << PART_BITS) | part.idx, part.kind, part.text])?;
    }
    conn.prepare_cached("UPDATE sessions SET messages = messages + 1 WHERE key = ?1")?
        .execute([session])?;
    Ok(key)
}

fn current_phase(conn: &Connection, session: i64) -> Result<Option<Phase>, StoreError> {
    let word: Option<String> = conn
        .prepare_cached("SELECT phase FROM sessions WHERE key = ?1")?
        .query_row([session], |row| row.get(0))?;
    Ok(word.as_deref().and_then(Phase::parse))
}

fn start_run(conn: &Connection, session: i64, run: &Run, state: &State) -> Result<(), StoreError> {
    if current_phase(conn, session)?.is_some_and(|phase| !phase.is_ended()) {
        return Err(StoreError::conflict("the session's run has not ended"));
    }
    if state.phase.is_ended() {
        return Err(StoreError::conflict("a run cannot start at its end"));
    }
    let message = Message {
        id: run.message.clone(),
        role: Role::Assistant,
        run: Some(run.id.clone()),
        parts: Vec::new(),
        created_at: run.started_at,
    };
    let message = add_message(conn, session, &message, &[])?;
    let id = run.id.as_str();
    let done = conn
        .prepare_cached(
            "INSERT INTO runs (id, session, message, model, mode, interactive, state, phase, started_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            id,
            session,
            message,
            run.model.to_string(),
            run.mode.to_string(),
            run.interactive,
            state.text,
            state.phase.as_str(),
            run.started_at
        ]);
    unique(done, || format!("run {id} exists"))?;
    conn.prepare_cached("UPDATE sessions SET run = ?2, phase = ?3 WHERE key = ?1")?
        .execute(params![session, id, state.phase.as_str()])?;
    Ok(())
}

/// Finds the message of a run that still lives.
fn live_run(conn: &Connection, session: i64, run: &str) -> Result<i64, StoreError> {
    let found: Option<(i64, bool)> = conn
        .prepare_cached(
            "SELECT message, ended_at IS NOT NULL FROM runs WHERE id = ?1 AND session = ?2",
        )?
        .query_row(params![run, session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((message, false)) => Ok(message),
        Some((_, true)) => Err(StoreError::conflict(format!("run {run} has ended"))),
        None => Err(StoreError::not_found("run", run)),
    }
}

pub(crate) fn put_part(
    conn: &Connection,
    session: i64,
    run: &str,
    part: &Body,
) -> Result<(), StoreError> {
    let message = live_run(conn, session, run)?;
    let (first, last) = part_keys(message);
    let stored: Option<i64> = conn
        .prepare_cached("SELECT max(key) FROM parts WHERE key BETWEEN ?1 AND ?2")?
        .query_row([first, last], |row| row.get(0))?;
    let key = first | part.idx;
    if key > stored.map_or(first, |stored| stored + 1) {
        return Err(StoreError::conflict(format!("part {} would leave a hole", part.idx)));
    }
    conn.prepare_cached(
        "INSERT INTO parts (key, kind, body) VALUES (?1, ?2, ?3) \
         ON CONFLICT (key) DO UPDATE SET kind = excluded.kind, body = excluded.body",
    )?
    .execute(params![key, part.kind, part.text])?;
    Ok(())
}

pub(crate) fn set_run_state(
    scene: Scene<'_>,
    session: i64,
    run: &str,
    state: &State,
) -> Result<(), StoreError> {
    let conn = scene.conn;
    live_run(conn, session, run)?;
    let phase = state.phase.as_str();
    let ended = state.phase.is_ended().then_some(scene.now);
    conn.prepare_cached("UPDATE runs SET state = ?2, phase = ?3, ended_at = ?4 WHERE id = ?1")?
        .execute(params![run, state.text, phase, ended])?;
    conn.prepare_cached("UPDATE sessions SET phase = ?3 WHERE key = ?1 AND run = ?2")?
        .execute(params![session, run, phase])?;
    Ok(())
}
