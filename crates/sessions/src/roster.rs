//! Sessions as rows of the one list of what works for a person.

use std::{collections::HashSet, path::PathBuf};

use daemon::{
    caller::Caller,
    roster::{Condition, Kind, Program, Row, Wanted},
};
use stdx::clock::Timestamp;
use store::{
    Batch, Change,
    rows::{Filter, Phase, Place, RunMark, SessionRow},
};
use vocab::{
    call,
    fact::SessionFact,
    ids::SessionId,
    job::JobState,
    limits::{ROSTER_QUESTION_CHARS_MAX, ROSTER_SESSIONS_MAX, STORE_LIST_MAX},
    message::{Block, Run, RunEnd, RunState},
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
        let (mut rows, mut known) = (Vec::new(), HashSet::new());
        for pinned in [true, false] {
            let mut filter = Filter { pinned, limit: STORE_LIST_MAX, ..Filter::default() };
            loop {
                let page = self.store.sessions(filter.clone()).await?;
                // Latest activity comes first, so that whatever follows one that is too old is as old.
                let is_last = !pinned
                    && page.sessions.last().is_none_or(|oldest| {
                        let at = Timestamp::from_millis(oldest.updated_at);
                        wanted.since.is_some_and(|since| at < since)
                    });
                let new = page.sessions.into_iter().filter(|one| known.insert(one.id.clone()));
                let new: Vec<(Row, Option<RunMark>)> =
                    new.map(|session| listed(self.as_seen(session))).collect();
                for (row, parked) in new.into_iter().filter(|(row, _)| wanted.takes(row)) {
                    rows.push(self.with_question(row, parked).await);
                }
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
        let (row, parked) = listed(self.row(session).await?);
        Ok(self.with_question(row, parked).await)
    }

    /// Puts the call into a row that its run asks for: whoever is to answer need not look for it.
    async fn with_question(&self, mut row: Row, parked: Option<RunMark>) -> Row {
        let Some(mark) = parked else { return row };
        if let Ok(stored) = self.store.run(&mark.id).await
            && let RunState::Parked { blocks } = &stored.run.state
        {
            row.condition.waiting_for = question(blocks).or(row.condition.waiting_for);
        }
        row
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

/// Says which call is asked for, and how many more, on one line that is no longer than it may be.
fn question(blocks: &[Block]) -> Option<String> {
    let mut open = blocks.iter().filter(|block| block.answer.is_none());
    let first = open.next()?;
    let more = open.count();
    let text = format!("{}: {}", first.tool, call::subject(&first.tool, &first.input));
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut line: String = line.chars().filter(|c| !c.is_control()).collect();
    if ROSTER_QUESTION_CHARS_MAX < line.chars().count() {
        line = line.chars().take(ROSTER_QUESTION_CHARS_MAX - 1).chain(['…']).collect();
    }
    let line = line.trim_end_matches([' ', ':']);
    Some(if more == 0 { line.to_owned() } else { format!("{line} (and {more} more)") })
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

/// Returns a session's row, and its run where that waits for somebody.
fn listed(session: SessionRow) -> (Row, Option<RunMark>) {
    let parked = session.run.clone().filter(|run| run.phase == Phase::Parked);
    (row(session), parked)
}

/// Says where a session works: a directory of this machine, or the name of a workspace elsewhere, with a colon as it
/// stands behind hosts.
fn directory(place: Place) -> PathBuf {
    let named = |name: String| format!("{name}:");
    PathBuf::from(place.cwd.or(place.workspace.map(named)).unwrap_or_default())
}

fn row(session: SessionRow) -> Row {
    let phase = session.run.as_ref().map(|run| run.phase);
    let is_over = phase.is_none_or(Phase::is_ended);
    let state = phase.map_or(JobState::Done, Phase::state);
    let waits = phase == Some(Phase::Parked);
    Row {
        id: session.id.to_string(),
        kind: Kind::Session,
        name: session.title,
        cwd: directory(session.place),
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
mod tests;
