//! Sessions as rows of the one list of what works for a person.

use std::{collections::HashSet, path::PathBuf};

use daemon::{
    caller::Caller,
    roster::{Condition, Kind, Program, Row, Wanted},
};
use stdx::clock::Timestamp;
use store::{
    Batch, Change,
    rows::{Filter, Phase, SessionRow},
};
use vocab::{
    fact::SessionFact,
    ids::SessionId,
    job::JobState,
    limits::{ROSTER_SESSIONS_MAX, STORE_LIST_MAX},
    message::{Run, RunEnd, RunState},
    outcome::Failure,
};

use crate::sessions::Sessions;

impl Sessions {
    /// Returns the sessions that are wanted: those that are pinned, and then the others, each latest activity
    /// first. What is pinned neither ages nor gives way to what is recent.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn roster(&self, wanted: &Wanted) -> Result<Vec<Row>, Failure> {
        let cwd = wanted.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned());
        let (mut rows, mut known) = (Vec::new(), HashSet::new());
        for pinned in [true, false] {
            let mut filter =
                Filter { cwd: cwd.clone(), pinned, limit: STORE_LIST_MAX, ..Filter::default() };
            loop {
                let page = self.store.sessions(filter.clone()).await?;
                // Latest activity comes first, so that whatever follows one that is too old is as old.
                let is_last = !pinned
                    && page.sessions.last().is_none_or(|oldest| {
                        let at = Timestamp::from_millis(oldest.updated_at);
                        wanted.since.is_some_and(|since| at < since)
                    });
                let new = page.sessions.into_iter().filter(|one| known.insert(one.id.clone()));
                let new = new.map(|session| row(self.as_seen(session)));
                rows.extend(new.filter(|row| wanted.takes(row)));
                filter.after = page.next;
                if is_last || filter.after.is_none() || ROSTER_SESSIONS_MAX <= rows.len() {
                    break;
                }
            }
        }
        rows.truncate(ROSTER_SESSIONS_MAX);
        Ok(rows)
    }

    /// Returns a session's row of the one list.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn listed(&self, _caller: &Caller, session: &SessionId) -> Result<Row, Failure> {
        Ok(row(self.row(session).await?))
    }

    /// Tells why a session is in the state it is in, as JSON: it is known exactly, by its last run.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn explain(&self, caller: &Caller, session: &SessionId) -> Result<Vec<u8>, Failure> {
        let (stored, run) = self.show(caller, session).await?;
        let since = self.clock.now().as_millis() - stored.updated_at;
        let detail = run.as_ref().map_or_else(|| "no run has begun in it".to_owned(), decided);
        Ok(row(stored).explained(detail, u64::try_from(since).unwrap_or(0)))
    }

    /// Gives a session another title.
    ///
    /// # Errors
    /// When there is no such session, nothing is left of the title, or the caller is no person.
    pub async fn rename(
        &self,
        caller: &Caller,
        session: &SessionId,
        title: &str,
    ) -> Result<Row, Failure> {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Failure::not_started("invalid_field", "the name is empty"));
        }
        self.edit(caller, session, Change::SetTitle(title), SessionFact::SessionTitled).await
    }

    /// Keeps a session in lists, or no longer.
    ///
    /// # Errors
    /// When there is no such session, or the caller is no person.
    pub async fn pin(
        &self,
        caller: &Caller,
        session: &SessionId,
        pinned: bool,
    ) -> Result<Row, Failure> {
        self.edit(caller, session, Change::SetPinned(pinned), SessionFact::SessionPinned).await
    }

    async fn edit(
        &self,
        caller: &Caller,
        session: &SessionId,
        change: Change,
        fact: SessionFact,
    ) -> Result<Row, Failure> {
        caller.person()?;
        self.row(session).await?;
        let batch = Batch::of_session(self.epoch.clone(), session.clone());
        let stored = self.store.append(batch.change(change).fact(fact)).await?;
        self.hub.tell(stored.events);
        Ok(row(self.row(session).await?))
    }
}

/// Says of a run what makes its session be as it is.
fn decided(run: &Run) -> String {
    match &run.state {
        RunState::Running => format!("its run works, with {}", run.model),
        RunState::Parked { blocks } => {
            let open = blocks.iter().filter(|block| block.answer.is_none());
            let tools: Vec<&str> = open.map(|block| block.tool.as_str()).collect();
            match tools[..] {
                [] => "its run was answered and goes on".to_owned(),
                [one] => format!("its run asks whether it may use {one}"),
                _ => format!("its run has {} questions: {}", tools.len(), tools.join(", ")),
            }
        }
        RunState::Ended(RunEnd::Finished) => "its last run ended as the model was done".to_owned(),
        RunState::Ended(RunEnd::Aborted) => "its last run was stopped".to_owned(),
        RunState::Ended(RunEnd::Interrupted) => {
            "the daemon ended while its last run worked".to_owned()
        }
        RunState::Ended(RunEnd::Failed { failure }) => {
            format!("its last run failed: {} ({})", failure.message, failure.code)
        }
        RunState::Ended(RunEnd::StepLimit { steps_max }) => {
            format!("its last run reached the limit of {steps_max} steps")
        }
    }
}

/// Says what the state of a session leaves open. What only repeats it in other words is left out.
fn status(phase: Option<Phase>) -> Option<&'static str> {
    match phase {
        None => Some("idle"),
        Some(Phase::Interrupted) => Some("the daemon ended meanwhile"),
        Some(Phase::StepLimit) => Some("the limit of steps was reached"),
        Some(Phase::Running | Phase::Parked | Phase::Finished | Phase::Aborted | Phase::Failed) => {
            None
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
            status: status(phase).map(str::to_owned),
            waiting_for: waits.then(|| "an answer".to_owned()),
            source: Some("session".to_owned()),
            failure: None,
        },
        pinned: session.pinned,
        started_at: Timestamp::from_millis(session.created_at),
        ended_at: is_over.then(|| Timestamp::from_millis(session.updated_at)),
        program: Program::default(),
    }
}

#[cfg(test)]
mod tests {
    use daemon::caller::{CallerKind, Carrier};
    use store::NewSession;

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
        let later = Wanted { since: Some(Timestamp::from_millis(i64::MAX)), cwd: None };
        assert_eq!(sessions.roster(&later).await.unwrap(), []);
        // What is pinned does not age, and a pin is no activity: the end stays when it was.
        let last = &all[ROSTER_SESSIONS_MAX - 1];
        let oldest: SessionId = last.id.parse().unwrap();
        let person = Caller::passed(CallerKind::Person, Carrier::Socket);
        let pinned = sessions.pin(&person, &oldest, true).await.unwrap();
        assert_eq!((pinned.pinned, pinned.ended_at), (true, last.ended_at));
        let renamed = sessions.rename(&person, &oldest, "kept").await.unwrap();
        assert_eq!(renamed.ended_at, last.ended_at);
        let kept = sessions.roster(&later).await.unwrap();
        assert_eq!(kept.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), [oldest.as_str()]);
        // However many are more recent, and however many are pinned.
        let recent = Batch::of_session(sessions.store.epoch(), SessionId::generate());
        let recent = recent.change(Change::CreateSession(NewSession::default()));
        sessions.store.append(recent.fact(SessionFact::SessionCreated)).await.unwrap();
        let everything = sessions.roster(&Wanted::default()).await.unwrap();
        assert_eq!((everything.len(), &everything[0].name[..]), (ROSTER_SESSIONS_MAX, "kept"));
        for row in &all[..=STORE_LIST_MAX] {
            sessions.pin(&person, &row.id.parse().unwrap(), true).await.unwrap();
        }
        assert_eq!(sessions.roster(&later).await.unwrap().len(), STORE_LIST_MAX + 2);
        let agent = Caller::passed(CallerKind::Agent(None), Carrier::Socket);
        let refused = sessions.pin(&agent, &oldest, false).await.unwrap_err();
        assert_eq!(refused.code, "person_required");
    }
}
