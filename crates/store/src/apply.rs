//! Applies one batch inside the writer's transaction. What breaks a rule is refused, and the writer
//! rolls this batch back without the others.

use rusqlite::{Connection, OptionalExtension, params};
use vocab::{fact::Event, ids::SessionId};

use crate::{
    batch::NewSession,
    cursor::Cursor,
    encode::{Fact, Op, Sealed, SessionOp, StoreOp},
    error::StoreError,
    sql::{int, parsed},
};

pub(crate) mod session;

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
            Op::Create(new) => key = Some(create(scene, sealed, new)?),
            Op::Store(op) => store_op(scene, op)?,
            Op::Session(op) => {
                let session = match key {
                    Some(session) => session,
                    None => *key.insert(session_key(scene, sealed.session.as_deref())?),
                };
                session::apply(scene, session, op)?;
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
    if let Some(key) = key.filter(|_| !is_mark(&sealed.ops)) {
        touch(scene, key, &events)?;
    }
    Ok(events)
}

/// Tells whether changes are but a person's marks on a session, its name and its pin, and no activity in it.
fn is_mark(ops: &[Op]) -> bool {
    let of = |op: &Op| matches!(op, Op::Session(SessionOp::SetTitle(_) | SessionOp::SetPinned(_)));
    !ops.is_empty() && ops.iter().all(of)
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

fn store_op(scene: Scene<'_>, op: &StoreOp) -> Result<(), StoreError> {
    let Scene { conn, now, .. } = scene;
    match op {
        StoreOp::PutIdempotent { scope, token, answer } => unique(
            conn.prepare_cached(
                "INSERT INTO idempotency (scope, token, answer, at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![scope, token, answer, now]),
            || format!("the idempotency key {token:?} was used"),
        ),
    }
}
