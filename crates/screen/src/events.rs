//! What a program tells besides its picture: for whoever decides what state a job is in.
//!
//! Nothing is decided here, and an event says only what the program said.

use vocab::limits::SCREEN_EVENTS_MAX;

use crate::status::ProgramStatus;

/// Something that a program did or said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It set the window's title.
    Title(String),
    /// It told its working directory (OSC 7).
    Directory(String),
    /// It rang the bell.
    Bell,
    /// It told how far it is (OSC 9;4).
    Progress(Progress),
    /// It asked for a desktop notification (OSC 9, 777 or 99).
    Notification {
        /// The headline, if it gave one.
        title: Option<String>,
        /// The text.
        body: String,
    },
    /// It said what it is doing (OSC 7501): of all its records the one that asks most of a person; none once
    /// it has taken all back.
    Status(Option<ProgramStatus>),
    /// A shell marked a place of its prompt (OSC 133).
    Prompt(PromptMark),
    /// It began or ceased to ask for focus reports.
    Focus(bool),
    /// It entered or left the alternate screen.
    Alternate(bool),
    /// It asked the terminal something.
    Asked(Query),
}

/// How far a program is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is going on.
    #[default]
    None,
    /// It works and is so many percent done.
    Done(u8),
    /// It has failed.
    Failed(u8),
    /// It works and cannot say how long.
    Busy,
    /// It waits.
    Paused(u8),
}

impl Progress {
    /// Returns the two numbers of OSC 9;4.
    pub(crate) fn numbers(self) -> (u8, u8) {
        match self {
            Self::None => (0, 0),
            Self::Done(percent) => (1, percent),
            Self::Failed(percent) => (2, percent),
            Self::Busy => (3, 0),
            Self::Paused(percent) => (4, percent),
        }
    }

    pub(crate) fn parse(state: &str, percent: &str) -> Option<Self> {
        let percent = percent.parse::<u8>().unwrap_or(0).min(100);
        Some(match state {
            "0" => Self::None,
            "1" => Self::Done(percent),
            "2" => Self::Failed(percent),
            "3" => Self::Busy,
            "4" => Self::Paused(percent),
            _ => return None,
        })
    }
}

/// A place of a shell's prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptMark {
    /// The prompt begins.
    Prompt,
    /// What the person types begins.
    Input,
    /// A command's output begins.
    Output,
    /// The command has ended, with this exit code if the shell told it.
    End(Option<i32>),
}

/// A kind of question. Whoever forwards a real terminal's answer passes it on only if it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// Device attributes (DA1, DA2, DA3).
    Attributes,
    /// Device status, cursor position, color scheme.
    Status,
    /// A mode's state (DECRQM).
    Mode,
    /// Keyboard modes (kitty or modifyOtherKeys).
    Keyboard,
    /// A color (OSC 4, 10, 11, 12).
    Color,
    /// The terminal's name (XTVERSION).
    Version,
    /// A size (CSI 14, 16, 18 t).
    Size,
    /// A setting or capability (DECRQSS, XTGETTCAP).
    Setting,
    /// Whether it reads what programs say of their state (OSC 7501).
    ProgramStatus,
}

/// Events that wait to be taken.
#[derive(Debug, Default)]
pub(crate) struct Events(Vec<Event>);

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        // A bell that rings a thousand times is still one bell.
        if self.0.len() < SCREEN_EVENTS_MAX && self.0.last() != Some(&event) {
            self.0.push(event);
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.0)
    }
}
