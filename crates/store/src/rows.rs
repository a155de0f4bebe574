//! What readers get: rows of the tables as the rest of the program speaks of them. No SQL here.

use vocab::{
    ids::{Fit, RunId, SessionId},
    job::JobState,
    message::{Message, Mode, ModelRef, Run, RunEnd, RunState, Usage},
};

use crate::cursor::Cursor;

/// Where a run stands, without the details of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It works.
    Running,
    /// It waits for a person.
    Parked,
    /// The model was done.
    Finished,
    /// A person stopped it.
    Aborted,
    /// It failed.
    Failed,
    /// The daemon died while it ran.
    Interrupted,
    /// It reached its number of steps.
    StepLimit,
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Running,
        Self::Parked,
        Self::Finished,
        Self::Aborted,
        Self::Failed,
        Self::Interrupted,
        Self::StepLimit,
    ];

    /// Returns the phase that a state belongs to.
    #[must_use]
    pub fn of(state: &RunState) -> Self {
        match state {
            RunState::Running => Self::Running,
            RunState::Parked { .. } => Self::Parked,
            RunState::Ended(RunEnd::Finished) => Self::Finished,
            RunState::Ended(RunEnd::Aborted) => Self::Aborted,
            RunState::Ended(RunEnd::Failed { .. }) => Self::Failed,
            RunState::Ended(RunEnd::Interrupted) => Self::Interrupted,
            RunState::Ended(RunEnd::StepLimit { .. }) => Self::StepLimit,
        }
    }

    /// Tells whether the run is over.
    #[must_use]
    pub fn is_ended(self) -> bool {
        !matches!(self, Self::Running | Self::Parked)
    }

    /// Returns the stored word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Finished => "finished",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::StepLimit => "step_limit",
        }
    }

    /// Returns how a session is whose last run is in this phase.
    #[must_use]
    pub fn state(self) -> JobState {
        match self {
            Self::Finished => JobState::Done,
            Self::Running => JobState::Working,
            Self::Parked => JobState::Blocked,
            Self::Aborted => JobState::Stopped,
            Self::Failed | Self::Interrupted | Self::StepLimit => JobState::Failed,
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }
}

/// The latest run of a session, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMark {
    /// Its id.
    pub id: RunId,
    /// Where it stands.
    pub phase: Phase,
}

/// Where a session works.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The workspace's name or id.
    pub workspace: Option<String>,
    /// The directory.
    pub cwd: Option<String>,
}

/// A session as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// The id a client chose for it.
    pub alias: Option<String>,
    /// Its title; empty until somebody names it.
    pub title: String,
    /// Where it works.
    pub place: Place,
    /// The model it asks.
    pub model: Option<ModelRef>,
    /// How much it asks before it acts.
    pub mode: Mode,
    /// When it was made, milliseconds since the Unix epoch.
    pub created_at: i64,
    /// When it was last active, milliseconds since the Unix epoch.
    pub updated_at: i64,
    /// The fact of its last activity; lists are ordered by it, latest first.
    pub updated_seq: u64,
    /// How many messages it holds.
    pub messages: u64,
    /// Its latest run.
    pub run: Option<RunMark>,
    /// Tokens it used.
    pub usage: Usage,
    /// Whether lists keep showing it.
    pub pinned: bool,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Text that the title holds, whatever the case of ASCII letters.
    pub query: Option<String>,
    /// The directory it works in, exactly.
    pub cwd: Option<String>,
    /// Only those that lists keep showing.
    pub pinned: bool,
    /// The `next` of the page before.
    pub after: Option<String>,
    /// How many at most; zero means 50, and more than 200 means 200.
    pub limit: usize,
}

/// A page of sessions, latest activity first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The sessions.
    pub sessions: Vec<SessionRow>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The sessions that fit a person's short form as well as any does, latest activity first.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitting {
    /// How well they fit.
    pub fit: Fit,
    /// The sessions, at least one, and no more than are named to a person.
    pub sessions: Vec<SessionRow>,
    /// How many more there are.
    pub more: usize,
}

/// A run with the session it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: Run,
    /// When it ended, milliseconds since the Unix epoch.
    pub ended_at: Option<i64>,
}

/// Where a page of a conversation begins, and where the conversation ended when its first page was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageMark {
    pub(crate) after: i64,
    pub(crate) until: i64,
}

/// A page of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessagePage {
    /// Its messages, in the order of the conversation, each as it is stored now.
    pub messages: Vec<Message>,
    /// How much is stored of them, in bytes.
    pub bytes: usize,
    /// Where the next page begins, if there is one.
    pub next: Option<PageMark>,
}

/// A session with everything it holds, from one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// The session.
    pub session: SessionRow,
    /// Its messages, in the order of the conversation.
    pub messages: Vec<Message>,
    /// Its latest run.
    pub run: Option<Run>,
    /// The moment: facts after this cursor are not in it.
    pub cursor: Cursor,
}

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sessions, deleted ones not counted.
    pub sessions: u64,
    /// Runs that work or wait.
    pub runs_live: u64,
    /// The last fact's sequence number.
    pub last_seq: u64,
}
