//! Sessions as rows of the one list of what works for a person.

use std::path::PathBuf;

use daemon::roster::{Condition, Kind, Program, Row, Wanted};
use stdx::clock::Timestamp;
use store::rows::{Filter, Phase, SessionRow};
use vocab::{
    job::JobState,
    limits::{ROSTER_SESSIONS_MAX, STORE_LIST_MAX},
    outcome::Failure,
};

use crate::sessions::Sessions;

impl Sessions {
    /// Returns the sessions that are wanted, latest activity first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn roster(&self, wanted: &Wanted) -> Result<Vec<Row>, Failure> {
        let cwd = wanted.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned());
        let mut filter = Filter { cwd, limit: STORE_LIST_MAX, ..Filter::default() };
        let mut rows = Vec::new();
        loop {
            let page = self.store.sessions(filter.clone()).await?;
            // Latest activity comes first, so that whatever follows one that is too old is as old.
            let is_last = page.sessions.last().is_none_or(|oldest| {
                wanted.since.is_some_and(|since| Timestamp::from_millis(oldest.updated_at) < since)
            });
            rows.extend(page.sessions.into_iter().map(row).filter(|row| wanted.takes(row)));
            filter.after = page.next;
            if is_last || filter.after.is_none() || ROSTER_SESSIONS_MAX <= rows.len() {
                rows.truncate(ROSTER_SESSIONS_MAX);
                return Ok(rows);
            }
        }
    }
}

fn row(session: SessionRow) -> Row {
    let phase = session.run.as_ref().map(|run| run.phase);
    let is_over = phase.is_none_or(Phase::is_ended);
    let state = match phase {
        None | Some(Phase::Finished) => JobState::Done,
        Some(Phase::Running) => JobState::Working,
        Some(Phase::Parked) => JobState::Blocked,
        Some(Phase::Aborted) => JobState::Stopped,
        Some(Phase::Failed | Phase::Interrupted | Phase::StepLimit) => JobState::Failed,
    };
    let waits = phase == Some(Phase::Parked);
    Row {
        id: session.id.to_string(),
        kind: Kind::Session,
        name: session.title,
        cwd: PathBuf::from(session.place.cwd.unwrap_or_default()),
        condition: Condition {
            state,
            status: Some(phase.map_or("idle", Phase::as_str).to_owned()),
            waiting_for: waits.then(|| "an answer".to_owned()),
            source: Some("session".to_owned()),
            failure: None,
        },
        pinned: false,
        started_at: Timestamp::from_millis(session.created_at),
        ended_at: is_over.then(|| Timestamp::from_millis(session.updated_at)),
        program: Program::default(),
    }
}

#[cfg(test)]
mod tests {
    use store::{Batch, Change, NewSession};
    use vocab::{fact::SessionFact, ids::SessionId};

    use super::*;
    use crate::stage;

    #[tokio::test]
    async fn so_many_sessions_stand_in_the_list_of_all() {
        let (_dir, sessions) = stage::sessions();
        for n in 0..=ROSTER_SESSIONS_MAX {
            let new = NewSession { title: n.to_string(), ..NewSession::default() };
            let batch = Batch::of_session(sessions.store.epoch(), SessionId::generate());
            let batch = batch.change(Change::CreateSession(new)).fact(SessionFact::SessionCreated);
            sessions.store.append(batch).await.unwrap();
        }
        let all = sessions.roster(&Wanted::default()).await.unwrap();
        assert_eq!(all.len(), ROSTER_SESSIONS_MAX);
        // Those that were active last are there.
        assert_eq!(all[0].name, ROSTER_SESSIONS_MAX.to_string());
        let later = Some(Timestamp::from_millis(2));
        let none = sessions.roster(&Wanted { since: later, cwd: None }).await.unwrap();
        assert_eq!(none, []);
    }
}
