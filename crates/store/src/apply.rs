//! Applies one batch inside the writer's transaction. What breaks a rule is refused, and the writer
//! rolls this batch back without the others.

use rusqlite::{Connection, OptionalExtension, params};
use vocab::{fact::Event, ids::SessionId, message::Message};

use crate::{
    batch::NewSession,
    cursor::Cursor,
    encode::{Body, Fact, Op, Sealed, State},
    error::StoreError,
    rows::Phase,
    sql::{PART_BITS, int, parsed, part_keys, role_word},
};

/// The moment and the store that a batch is applied to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) store_id: &'a str,
    pub(crate) now: i64,
}

/// Applies a batch and returns its facts as events.
pub(crate) fn batch(scene: Scene<'_>, sealed: &Sealed) -> Result<Vec<Event>, StoreError> {
    let mut key = None;
    for op in &sealed.ops {
        match op {
            Op::CreateSession(new) => key = Some(create(scene, sealed, new)?),
            Op::AddWorkspace { .. } | Op::RemoveWorkspace { .. } | Op::PutIdempotent { .. } => {
                store_op(scene, op)?;
            }
            Op::SetTitle(_)
            | Op::SetModel(_)
            | Op::SetMode(_)
            | Op::SetPlace { .. }
            | Op::AddMessage { .. }
            | Op::StartRun { .. }
            | Op::PutPart { .. }
            | Op::SetRunState { .. }
            | Op::AddUsage(_)
            | Op::HideAfter(_) => {
                let session = match key {
                    Some(session) => session,
                    None => *key.insert(session_key(scene, sealed.session.as_deref())?),
                };
                session_op(scene, session, op)?;
            }
        }
    }
    // Facts alone need a living session too, else a late fact would follow the tombstone.
    if key.is_none() && sealed.session.is_some() {
        key = Some(session_key(scene, sealed.session.as_deref())?);
    }
    let session: Option<SessionId> =
        sealed.session.as_deref().map(|id| parsed("session id", id)).transpose()?;
    let events = facts(scene, session.as_ref(), &sealed.facts)?;
    if let Some(key) = key {
        touch(scene, key, &events)?;
    }
    Ok(events)
}

/// Moves a session to the front of the list, if there are facts about it.
pub(crate) fn touch(scene: Scene<'_>, session: i64, events: &[Event]) -> Result<(), StoreError> {
    if let Some(last) = events.last() {
        scene
            .conn
            .prepare_cached("UPDATE sessions SET updated_seq = ?2, updated_at = ?3 WHERE key = ?1")?
            .execute(params![session, int(last.seq), scene.now])?;
    }
    Ok(())
}

/// Records facts and returns them as events.
pub(crate) fn facts(
    scene: Scene<'_>,
    session: Option<&SessionId>,
    facts: &[Fact],
) -> Result<Vec<Event>, StoreError> {
    let mut insert = scene.conn.prepare_cached(
        "INSERT INTO facts (at, subject, session, kind, version, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let at = stdx::clock::Timestamp::from_millis(scene.now).to_string();
    let mut events = Vec::with_capacity(facts.len());
    for fact in facts {
        let id = session.map(SessionId::as_str);
        let seq = insert.insert(params![
            scene.now,
            fact.subject,
            id,
            fact.kind,
            fact.version,
            fact.text
        ])?;
        let seq = crate::sql::count(seq);
        events.push(Event {
            cursor: Cursor { store_id: scene.store_id.to_owned(), seq }.to_string(),
            seq,
            at: at.clone(),
            subject: fact.subject.to_owned(),
            session: session.cloned(),
            body: fact.body.clone(),
        });
    }
    Ok(events)
}

fn session_key(scene: Scene<'_>, session: Option<&str>) -> Result<i64, StoreError> {
    let Some(id) = session else {
        return Err(StoreError::conflict("the change belongs to a session, the batch to none"));
    };
    scene
        .conn
        .prepare_cached("SELECT key FROM sessions WHERE id = ?1 AND deleted = 0")?
        .query_row([id], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::not_found("session", id))
}

/// Runs an insert whose only expected failure is a name that is taken.
fn unique(
    done: Result<usize, rusqlite::Error>,
    taken: impl FnOnce() -> String,
) -> Result<(), StoreError> {
    match done {
        Ok(_) => Ok(()),
        Err(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
        {
            Err(StoreError::conflict(taken()))
        }
        Err(error) => Err(error.into()),
    }
}

fn create(scene: Scene<'_>, sealed: &Sealed, new: &NewSession) -> Result<i64, StoreError> {
    let Some(id) = sealed.session.as_deref() else {
        return Err(StoreError::conflict("a session is made by a batch that names it"));
    };
    let model = new.model.as_ref().map(ToString::to_string);
    let done = scene
        .conn
        .prepare_cached(
            "INSERT INTO sessions (id, alias, title, workspace, cwd, model, mode, created_at, updated_at, \
             updated_seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, \
             (SELECT coalesce(max(seq), 0) FROM facts))",
        )?
        .execute(params![
            id,
            new.alias,
            new.title,
            new.workspace,
            new.cwd,
            model,
            new.mode.to_string(),
            scene.now
        ]);
    unique(done, || match &new.alias {
        Some(alias) => format!("session {id} or alias {alias:?} exists"),
        None => format!("session {id} exists"),
    })?;
    Ok(scene.conn.last_insert_rowid())
}

fn store_op(scene: Scene<'_>, op: &Op) -> Result<(), StoreError> {
    let Scene { conn, now, .. } = scene;
    match op {
        Op::AddWorkspace { name, kind, path } => unique(
            conn.prepare_cached(
                "INSERT INTO workspaces (name, kind, path, created_at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![name, kind, path, now]),
            || format!("workspace {name:?} exists"),
        ),
        Op::RemoveWorkspace { name } => {
            let gone =
                conn.prepare_cached("DELETE FROM workspaces WHERE name = ?1")?.execute([name])?;
            if gone == 0 { Err(StoreError::not_found("workspace", name)) } else { Ok(()) }
        }
        Op::PutIdempotent { scope, token, answer } => unique(
            conn.prepare_cached(
                "INSERT INTO idempotency (scope, token, answer, at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![scope, token, answer, now]),
            || format!("the idempotency key {token:?} was used"),
        ),
        _ => Ok(()),
    }
}

fn session_op(scene: Scene<'_>, session: i64, op: &Op) -> Result<(), StoreError> {
    let conn = scene.conn;
    let set = |sql: &str, value: Option<&str>| -> Result<(), StoreError> {
        conn.prepare_cached(sql)?.execute(params![session, value])?;
        Ok(())
    };
    match op {
        Op::SetTitle(title) => set("UPDATE sessions SET title = ?2 WHERE key = ?1", Some(title)),
        Op::SetModel(model) => {
            set("UPDATE sessions SET model = ?2 WHERE key = ?1", model.as_deref())
        }
        Op::SetMode(mode) => set("UPDATE sessions SET mode = ?2 WHERE key = ?1", Some(mode)),
        Op::SetPlace { workspace, cwd } => {
            conn.prepare_cached("UPDATE sessions SET workspace = ?2, cwd = ?3 WHERE key = ?1")?
                .execute(params![session, workspace, cwd])?;
            Ok(())
        }
        Op::AddMessage { message, parts } => add_message(conn, session, message, parts).map(|_| ()),
        Op::StartRun { run, state } => start_run(conn, session, run, state),
        Op::PutPart { run, part } => put_part(conn, session, run, part),
        Op::SetRunState { run, state } => set_run_state(scene, session, run, state),
        Op::AddUsage(usage) => {
            conn.prepare_cached(
                "UPDATE sessions SET input = input + ?2, output = output + ?3, \
                 reasoning = reasoning + ?4, cache_read = cache_read + ?5, \
                 cache_write = cache_write + ?6 WHERE key = ?1",
            )?
            .execute(params![
                session,
                int(usage.input),
                int(usage.output),
                int(usage.reasoning),
                int(usage.cache_read),
                int(usage.cache_write)
            ])?;
            Ok(())
        }
        Op::HideAfter(message) => hide_after(conn, session, message.as_deref()),
        _ => Ok(()),
    }
}

fn add_message(
    conn: &Connection,
    session: i64,
    message: &Message,
    parts: &[Body],
) -> Result<i64, StoreError> {
    let run = message.run.as_ref().map(vocab::ids::RunId::as_str);
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

fn start_run(
    conn: &Connection,
    session: i64,
    run: &vocab::message::Run,
    state: &State,
) -> Result<(), StoreError> {
    if current_phase(conn, session)?.is_some_and(|phase| !phase.is_ended()) {
        return Err(StoreError::conflict("the session's run has not ended"));
    }
    if state.phase.is_ended() {
        return Err(StoreError::conflict("a run cannot start at its end"));
    }
    let message = Message {
        id: run.message.clone(),
        role: vocab::message::Role::Assistant,
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

fn hide_after(conn: &Connection, session: i64, message: Option<&str>) -> Result<(), StoreError> {
    if current_phase(conn, session)?.is_some_and(|phase| !phase.is_ended()) {
        return Err(StoreError::conflict("the session's run has not ended"));
    }
    let after = match message {
        None => 0,
        Some(id) => conn
            .prepare_cached(
                "SELECT key FROM messages WHERE id = ?1 AND session = ?2 AND hidden = 0",
            )?
            .query_row(params![id, session], |row| row.get::<_, i64>(0))
            .optional()?
            .ok_or_else(|| StoreError::not_found("message", id))?,
    };
    let hidden = conn
        .prepare_cached(
            "UPDATE messages SET hidden = 1 WHERE session = ?1 AND key > ?2 AND hidden = 0",
        )?
        .execute([session, after])?;
    conn.prepare_cached("UPDATE sessions SET messages = messages - ?2 WHERE key = ?1")?
        .execute([session, int(hidden)])?;
    Ok(())
}
