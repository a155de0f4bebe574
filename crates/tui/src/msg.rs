//! What the view is told, and what it wants done: the two sides of `update`.
//!
//! Values only. Who listens to terminals and daemons, and who acts, is in `run`.

use api::{job::JobRow, session::SessionDetail};
use serde_json::Value;
use stdx::clock::Timestamp;
use vocab::{
    ids::BlockId,
    message::{Answer, Block},
    outcome::Failure,
};

/// A key, whichever way a terminal sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A character.
    Char(char),
    /// A letter with Control.
    Ctrl(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

/// Cells of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) lines: usize,
}

/// How the view is told what happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Link {
    /// Not yet.
    Connecting,
    /// Every fact is told.
    Live,
    /// By nobody; it is tried again.
    Lost {
        /// Why.
        why: String,
    },
}

/// A fact, as far as the view cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// Its kind.
    pub(crate) kind: String,
    /// The job or session that it is about.
    pub(crate) about: String,
}

/// A session as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loaded {
    pub(crate) detail: SessionDetail,
    pub(crate) messages: Vec<Value>,
}

/// What the view is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Msg {
    Key(Key),
    /// Text that was pasted.
    Paste(String),
    Resize(Size),
    /// The time has gone on.
    Tick(Timestamp),
    Link(Link),
    Fact(Fact),
    /// The rows of the list.
    Rows(Result<Vec<JobRow>, Failure>),
    /// The screen of a job.
    Screen {
        id: String,
        got: Result<String, Failure>,
    },
    Session {
        id: String,
        got: Result<Box<Loaded>, Failure>,
    },
    /// What the live run of a session said.
    Chunks {
        id: String,
        chunks: Vec<Value>,
    },
    /// The stream of a session is over, or broke.
    StreamEnded {
        id: String,
    },
    /// An order was carried out, with what to say of it.
    Done(Result<String, Failure>),
    /// The terminal is ours again.
    Returned(Result<(), String>),
}

/// What the view wants done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
    /// Read the rows; not at once when they were read a moment ago.
    LoadRows(Haste),
    /// Read the screen of a job.
    LoadScreen(String),
    /// Read a session with its messages.
    LoadSession(String, Haste),
    /// Tell what the live run of this session says, and of no other.
    Follow(String),
    Unfollow,
    Order(Order),
    /// Take nothing that was typed before for an answer to what is asked now.
    ForgetTyped,
    /// Give the terminal to a job, until it is let go of.
    Attach(String),
    Quit,
}

/// How soon something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Haste {
    Now,
    /// After what else changes in a moment.
    Soon,
}

/// Something to be done by the daemon.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    /// Starts a program.
    Start {
        command: Vec<String>,
    },
    /// Begins a session with a prompt.
    Ask {
        prompt: String,
    },
    /// Says more to a session.
    Say {
        session: String,
        text: String,
    },
    /// Answers what a session waits for.
    Answer {
        session: String,
        block: BlockId,
        answer: Answer,
    },
    /// Types into a job.
    Type {
        job: String,
        text: String,
    },
    StopJob(Named),
    StopSession(Named),
    RemoveJob(Named),
    RemoveSession(Named),
    Respawn(Named),
    Rename {
        job: String,
        name: String,
    },
    Pin {
        job: Named,
        pinned: bool,
    },
}

/// A job or session, and what people call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// Tells whether a question waits for its answer.
pub(crate) fn is_open(block: &Block) -> bool {
    block.answer.is_none()
}
