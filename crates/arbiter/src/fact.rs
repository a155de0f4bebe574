//! What the arbiter is told: facts with the moment they were seen at.
//!
//! A fact says what was seen and never what it means.

use serde::{Deserialize, Serialize};
use vocab::limits::ARBITER_TEXT_BYTES_MAX;

/// A moment in milliseconds, on a clock that never goes backwards. Where it begins is the teller's choice.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Moment(i64);

impl Moment {
    /// Wraps a count of milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the count of milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the moment so many milliseconds later.
    #[must_use]
    pub fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
    }

    /// Returns how many milliseconds ago `earlier` was; zero when it lies in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// Returns the same moment on a clock that is so many milliseconds ahead.
    pub(crate) fn moved(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// Something that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// When.
    pub at: Moment,
    /// What.
    pub what: What,
}

impl Fact {
    /// Builds a fact.
    #[must_use]
    pub fn new(at: Moment, what: What) -> Self {
        Self { at, what }
    }
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The program has ended.
    Ended(Ending),
    /// Somebody inside the job reported.
    Reported(Report),
    /// What the program says of itself in band (OSC 7501), of all its records the one that matters most;
    /// none once it has taken back what it said.
    Announced(Option<Announcement>),
    /// How far the program says it is (OSC 9;4).
    Progress(Progress),
    /// It asked for a desktop notification (OSC 9, 777, 99) with this text.
    Notified(String),
    /// A shell marked its prompt (OSC 133).
    Marked(Mark),
    /// It rang the bell.
    Rang,
    /// It set the window's title.
    Titled(String),
    /// Its screen was looked at.
    Looked(Look),
    /// It wrote something.
    Wrote,
    /// A client came, went, resized or moved the focus: what is drawn next is no sign of life.
    Disturbed,
    /// Somebody typed.
    Typed(Key),
    /// Whether the program itself stands in the terminal's foreground, or something it has started.
    InFront(bool),
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// With code 0.
    Done,
    /// Otherwise.
    Failed,
    /// Because somebody asked for it.
    Stopped,
}

/// What somebody claims that a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// It works.
    Working,
    /// It goes on once somebody has acted.
    Blocked,
    /// Its turn has ended, and it stands at its prompt.
    Idle,
}

/// A report from inside the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Who reports: a hook, an extension, a script.
    pub source: String,
    /// What it claims.
    pub claim: Claim,
    /// What it says of that.
    pub message: Option<String>,
    /// Its number among the reports of its source; a lower one than the last is late.
    pub seq: Option<u64>,
}

/// What a program says of itself in band.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// What it claims.
    pub claim: Claim,
    /// Its own word for that.
    pub word: String,
    /// What it says or waits for.
    pub message: Option<String>,
}

/// How far a program says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is going on.
    None,
    /// It works.
    Busy,
    /// Something has failed.
    Failed,
    /// It waits.
    Paused,
}

/// A place of a shell's prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The shell stands at its prompt.
    Prompt,
    /// A command runs.
    Running,
}

/// What was read off a screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The rule that recognized it, with what it says; none when none did.
    pub seen: Option<Seen>,
    /// When the program last drew something of it.
    pub drawn: Moment,
}

/// A screen that a rule recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The rule's name.
    pub rule: String,
    /// What the screen shows.
    pub claim: Claim,
    /// What it waits for.
    pub waiting_for: Option<String>,
}

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// One that sends what was written.
    Enter,
    /// Any other.
    Other,
}

/// Returns a text as verdicts may quote it: one line, no control characters, bounded.
pub(crate) fn quotable(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !is_hidden(*c))
        .collect();
    line.truncate(line.floor_char_boundary(ARBITER_TEXT_BYTES_MAX));
    line.trim().to_owned()
}

/// Tells whether a character turns the direction of text or cannot be seen.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}' | '\u{ad}')
}
