//! Everything that the view knows. What is drawn is a function of it, and only `update` changes it.
//!
//! No connection, no terminal, no clock: the time is told.

use api::job::{JobRow, RowKind};
use stdx::clock::Timestamp;
use vocab::message::Block;

use crate::{
    editor::Editor,
    list::{List, is_live},
    msg::{Link, Named, Order, Size},
    question,
    transcript::Transcript,
};

/// The smallest terminal that anything is drawn on.
pub(crate) const SIZE_MIN: Size = Size { columns: 40, lines: 10 };

/// The state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    /// Where the view was opened, and what it shows there.
    pub(crate) place: Place,
    pub(crate) size: Size,
    pub(crate) now: Timestamp,
    pub(crate) link: Link,
    pub(crate) list: List,
    /// Whether the rows are being read.
    pub(crate) rows: Flight,
    pub(crate) mode: Mode,
    /// What is looked at besides the list.
    pub(crate) look: Look,
    pub(crate) watched: Option<Watched>,
    pub(crate) notice: Option<Notice>,
    pub(crate) memory: Memory,
    /// How many orders are being carried out.
    pub(crate) n_orders: usize,
}

/// What is kept beyond the moment at which it was shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// What is to begin: written again where it was refused.
    pub(crate) begun: Option<String>,
    /// How work that was saved is brought back: nothing else tells it.
    pub(crate) way_back: Option<String>,
}

/// Where the view was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where new things begin.
    pub(crate) cwd: String,
    /// The person's home, which is written `~`.
    pub(crate) home: Option<String>,
    /// Whether one session is all that is shown.
    pub(crate) is_alone: bool,
}

/// Something that is read, and may have changed meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Flight {
    /// What is known is the latest.
    #[default]
    Idle,
    /// It is being read.
    Busy,
    /// It is being read, and has changed since.
    Stale,
}

impl Flight {
    /// Notes that it has to be read; true when that can begin at once.
    pub(crate) fn begin(&mut self) -> bool {
        let is_free = *self == Self::Idle;
        *self = if is_free { Self::Busy } else { Self::Stale };
        is_free
    }

    /// Notes that it was read; true when it has to be read once more, which then has begun.
    pub(crate) fn end(&mut self) -> bool {
        let is_stale = *self == Self::Stale;
        *self = if is_stale { Self::Busy } else { Self::Idle };
        is_stale
    }
}

/// What keys mean at the moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mode {
    /// They are commands.
    Normal,
    /// They write the filter.
    Filter(Editor),
    /// They write what shall begin.
    New(Editor),
    /// They write what is said to a job or session.
    Reply { to: Named, kind: RowKind, editor: Editor },
    /// They write the new name of a job.
    Rename { job: Named, editor: Editor },
    /// One of them agrees.
    Confirm { question: String, order: Order },
    /// None of them means anything but giving up: what a session waits for is being read, to be asked.
    Opening(Named),
    /// They answer what a session waits for.
    Answer(Asking),
    /// Any of them closes the help.
    Help,
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asking {
    /// Who asks.
    pub(crate) session: Named,
    /// What.
    pub(crate) block: Block,
    /// It in words.
    pub(crate) lines: Vec<String>,
    /// The first line that is shown, of those that `width` makes.
    pub(crate) top: usize,
    /// Whether its end has been shown.
    pub(crate) is_read: bool,
    /// Why not, while that is being written.
    pub(crate) reason: Option<Editor>,
    /// Whether it needs no answer any more: nothing is sent, and a key goes back.
    pub(crate) is_over: bool,
}

impl Asking {
    /// Asks from the beginning.
    pub(crate) fn new(session: Named, block: Block) -> Self {
        let lines = question::lines(&block);
        Self { session, block, lines, top: 0, is_read: false, reason: None, is_over: false }
    }
}

/// How much of the screen is for what is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// None of it.
    Closed,
    /// Its lower half.
    Peek,
    /// All of it.
    Full,
}

/// What is watched.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Watched {
    pub(crate) who: Named,
    pub(crate) kind: RowKind,
    pub(crate) flight: Flight,
    pub(crate) content: Content,
    /// How many lines lie below what is shown; 0 keeps to the end.
    pub(crate) up: usize,
}

impl Watched {
    /// Watches a row of which nothing is known yet.
    pub(crate) fn of(row: &JobRow) -> Self {
        Self::new(Named { id: row.id.clone(), name: row.name.clone() }, row.kind)
    }

    /// Watches something of which nothing is known yet.
    pub(crate) fn new(who: Named, kind: RowKind) -> Self {
        let (flight, content) = (Flight::Idle, Content::Loading);
        Self { who, kind, flight, content, up: 0 }
    }

    /// Returns the transcript, where one was read.
    pub(crate) fn transcript(&self) -> Option<&Transcript> {
        match &self.content {
            Content::Transcript(transcript) => Some(transcript),
            Content::Loading | Content::Screen(_) | Content::Failed(_) => None,
        }
    }
}

/// What is known of what is watched.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Loading,
    /// The lines of a job's screen.
    Screen(Vec<String>),
    Transcript(Box<Transcript>),
    /// Why it cannot be read.
    Failed(String),
}

/// A line to the person, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    pub(crate) is_failure: bool,
}

impl State {
    /// Begins with an empty list.
    pub(crate) fn new(place: Place, size: Size, now: Timestamp) -> Self {
        Self {
            place,
            size,
            now,
            link: Link::Connecting,
            list: List::default(),
            rows: Flight::Idle,
            mode: Mode::Normal,
            look: Look::Closed,
            watched: None,
            notice: None,
            memory: Memory::default(),
            n_orders: 0,
        }
    }

    /// Stands in for a state that is being changed.
    pub(crate) fn nothing() -> Self {
        Self::new(Place::default(), Size { columns: 0, lines: 0 }, Timestamp::default())
    }

    /// Returns the question that is asked.
    pub(crate) fn asked(&self) -> Option<&Block> {
        if let Mode::Answer(asking) = &self.mode { Some(&asking.block) } else { None }
    }

    /// Tells whether anything can be drawn.
    pub(crate) fn is_drawable(&self) -> bool {
        SIZE_MIN.columns <= self.size.columns && SIZE_MIN.lines <= self.size.lines
    }

    /// Returns the lines between the first line of the screen and the last two.
    pub(crate) fn body_lines(&self) -> usize {
        self.size.lines.saturating_sub(3)
    }

    /// Returns the lines of what is watched, without the line above them.
    pub(crate) fn pane_lines(&self) -> usize {
        match self.look {
            Look::Closed => 0,
            Look::Peek => self.body_lines() * 3 / 5,
            Look::Full => self.body_lines().saturating_sub(1),
        }
    }

    /// Returns the lines of the list.
    pub(crate) fn list_lines(&self) -> usize {
        match self.look {
            Look::Closed => self.body_lines(),
            Look::Peek => self.body_lines().saturating_sub(self.pane_lines() + 1),
            Look::Full => 0,
        }
    }

    /// Tells whether something is watched that changes without a fact telling so: the screen of a job that
    /// runs.
    pub(crate) fn watches_a_screen(&self) -> bool {
        let Some(watched) = &self.watched else { return false };
        watched.kind == RowKind::Job
            && self.look != Look::Closed
            && self.list.find(&watched.who.id).is_some_and(is_live)
    }
}
