//! What a start finds: runs that nobody works on any more, and deletions that were not finished.

use rusqlite::OptionalExtension;
use vocab::{
    fact::{Event, RunFact},
    ids::{CallId, RunId, SessionId},
    message::{CallState, Part, RunEnd, RunState},
    outcome::{Effect, Failure, Outcome},
};

use crate::{
    apply::{self, Scene, session},
    encode,
    error::StoreError,
    sql::parsed,
    store::Store,
    transcript,
};

/// What a recovery did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recovered {
    /// Runs that were ended as interrupted.
    pub runs: usize,
    /// Sessions whose deletion was finished.
    pub deleted: usize,
    /// The facts about it, ready to be told.
    pub events: Vec<Event>,
}

impl Store {
    /// Ends what the last daemon left behind: runs that were working become interrupted, each call says
    /// whether it may have happened, and begun deletions are finished. Parked runs stay parked.
    ///
    /// Call it once at start, before anything runs. One run or chunk at a time; doing it twice is the same.
    ///
    /// # Errors
    /// When the disk fails; calling it again goes on where it stopped.
    pub async fn recover(&self) -> Result<Recovered, StoreError> {
        let mut done = Recovered::default();
        while let Some(events) = self.task(|writer| writer.within(interrupt_next)).await? {
            done.runs += 1;
            done.events.extend(events);
        }
        while let Some(session) = self.task(|writer| writer.within(next_deleted)).await? {
            done.events.push(self.remove(session).await?);
            done.deleted += 1;
        }
        Ok(done)
    }
}

fn next_deleted(scene: Scene<'_>) -> Result<Option<SessionId>, StoreError> {
    let id: Option<String> = scene
        .conn
        .prepare_cached("SELECT id FROM sessions WHERE deleted = 1 ORDER BY key LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    id.map(|id| parsed("session id", &id)).transpose()
}

/// Ends one run that was working; none is left when this returns none.
fn interrupt_next(scene: Scene<'_>) -> Result<Option<Vec<Event>>, StoreError> {
    let found: Option<(String, i64, String, i64)> = scene
        .conn
        .prepare_cached(
            "SELECT r.id, r.session, s.id, r.message FROM runs r JOIN sessions s ON s.key = r.session \
             WHERE r.phase = 'running' AND r.ended_at IS NULL AND s.deleted = 0 ORDER BY r.key LIMIT 1",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((run, key, session, message)) = found else { return Ok(None) };
    let id: RunId = parsed("run id", &run)?;
    let session: SessionId = parsed("session id", &session)?;
    let parts = transcript::parts(scene.conn, message)?;
    let mut facts = Vec::new();
    for (idx, part) in settled(parts) {
        if let Some((call, effect, code)) = ended_call(&part) {
            facts.push(RunFact::CallEnded { run: id.clone(), call, effect, code });
        }
        session::put_part(scene.conn, key, &run, &encode::body(idx, &part)?)?;
    }
    facts.push(RunFact::RunEnded { run: id, end: RunEnd::Interrupted });
    let state = encode::state(&RunState::Ended(RunEnd::Interrupted))?;
    session::set_run_state(scene, key, &run, &state)?;
    let facts = facts.into_iter().map(|f| encode::fact(f.into())).collect::<Result<Vec<_>, _>>()?;
    let events = apply::facts(scene, Some(&session), &facts)?;
    apply::touch(scene, key, &events)?;
    Ok(Some(events))
}

/// Returns the parts that must change, as they are when nothing goes on with them.
fn settled(parts: Vec<Part>) -> Vec<(usize, Part)> {
    let mut next = parts.iter().filter_map(ordinal).max().map_or(0, |last| last + 1);
    let mut changed = Vec::new();
    for (idx, mut part) in parts.into_iter().enumerate() {
        match &mut part {
            Part::Text { done, .. } | Part::Reasoning { done, .. } if !*done => *done = true,
            Part::Call { state, .. } if !matches!(state, CallState::Ended { .. }) => {
                let outcome = Outcome::failed(interrupted(state));
                *state = CallState::Ended { outcome, ordinal: next };
                next += 1;
            }
            Part::Text { .. }
            | Part::Reasoning { .. }
            | Part::Call { .. }
            | Part::Step { .. }
            | Part::File { .. }
            | Part::Steer { .. }
            | Part::Note { .. } => continue,
        }
        changed.push((idx, part));
    }
    changed
}

fn interrupted(state: &CallState) -> Failure {
    match state {
        CallState::Started => {
            let text = "the daemon stopped while this call ran; nobody can tell what it did";
            Failure::new("interrupted", Effect::Indeterminate, text)
                .with_hint("look at what it was to change before trying again")
        }
        CallState::Blocked => {
            Failure::not_started("unanswered", "the daemon stopped before anyone answered")
        }
        CallState::Requested | CallState::Approved | CallState::Ended { .. } => {
            Failure::not_started("interrupted", "the daemon stopped before this call began")
        }
    }
}

fn ordinal(part: &Part) -> Option<u32> {
    let Part::Call { state: CallState::Ended { ordinal, .. }, .. } = part else { return None };
    Some(*ordinal)
}

fn ended_call(part: &Part) -> Option<(CallId, Effect, Option<String>)> {
    let Part::Call { call, state: CallState::Ended { outcome, .. }, .. } = part else {
        return None;
    };
    let code = outcome.failure.as_ref().map(|failure| failure.code.clone());
    Some((call.clone(), outcome.effect(), code))
}
