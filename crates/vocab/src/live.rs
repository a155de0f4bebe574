//! The live message: what a run has said so far, folded, so that any position of its stream can be
//! served exactly without keeping frames.
//!
//! The log holds the chunks that are not deltas, in the order they were told. Text that came in deltas
//! is kept once, with the chunk that opened it; only the last chunk of a log can be open. A position is
//! the number of chunks told and the bytes of the last one's text told.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    ids::{BlockId, CallId, MessageId, RunId, SessionId},
    message::{RunEnd, RunState, Usage},
    outcome::Outcome,
};

mod fold;
mod size;

pub use fold::segment_end;

/// A chunk of a run's stream that is not a delta.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// The message begins. A reader that sees it discards what it had.
    Start {
        /// The session.
        session: SessionId,
        /// The run.
        run: RunId,
        /// The assistant message.
        message: MessageId,
    },
    /// A model call begins.
    StepStart,
    /// A model call and its tool calls ended.
    StepEnd,
    /// Words follow.
    TextStart {
        /// Index of the part in its message.
        part: usize,
    },
    /// The words are complete.
    TextEnd {
        /// Index of the part in its message.
        part: usize,
    },
    /// Thinking follows.
    ReasoningStart {
        /// Index of the part in its message.
        part: usize,
    },
    /// The thinking is complete.
    ReasoningEnd {
        /// Index of the part in its message.
        part: usize,
    },
    /// The arguments of a call follow.
    InputStart {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
    },
    /// The arguments of a call are complete.
    InputDone {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// The arguments, shared by all who tell them.
        input: Arc<Value>,
    },
    /// A person is asked about a call.
    Approval {
        /// The call.
        call: CallId,
        /// The question.
        block: BlockId,
    },
    /// A call ended.
    Output {
        /// The call.
        call: CallId,
        /// The question to a person that it led to.
        block: Option<BlockId>,
        /// How, shared by all who tell it.
        outcome: Arc<Outcome>,
    },
    /// A user's message entered the run.
    Steer {
        /// Which.
        message: MessageId,
    },
    /// A note of the run itself.
    Note {
        /// Its index among the parts, which makes it one of a kind.
        part: usize,
        /// What kind.
        kind: String,
        /// One sentence for people.
        text: String,
    },
    /// The stream ends here: the run is over, or parked.
    Finish {
        /// Where the run stands.
        state: RunState,
        /// Tokens of the whole message so far.
        usage: Usage,
    },
}

impl Chunk {
    /// Tells whether deltas may follow it.
    #[must_use]
    pub fn opens_text(&self) -> bool {
        matches!(
            self,
            Self::TextStart { .. } | Self::ReasoningStart { .. } | Self::InputStart { .. }
        )
    }

    /// Returns how much it tells, in bytes: what a model or a tool wrote. The few words around it count
    /// for nothing.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::InputDone { input, .. } => size::value(input),
            Self::Output { outcome, .. } => size::outcome(outcome),
            Self::Note { text, .. } => text.len(),
            Self::Start { .. }
            | Self::StepStart
            | Self::StepEnd
            | Self::TextStart { .. }
            | Self::TextEnd { .. }
            | Self::ReasoningStart { .. }
            | Self::ReasoningEnd { .. }
            | Self::InputStart { .. }
            | Self::Approval { .. }
            | Self::Steer { .. }
            | Self::Finish { .. } => 0,
        }
    }
}

/// A chunk of the log with the text that came after it in deltas.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The chunk.
    pub chunk: Chunk,
    /// The text of its deltas; empty for chunks that open none.
    pub text: String,
}

/// A position in a run's stream: everything before it has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// How many chunks were told.
    pub chunks: usize,
    /// How many bytes of the last told chunk's text were told.
    pub bytes: usize,
}

/// Something to tell a reader, with the position after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// What to tell.
    pub told: Told,
    /// Where the reader stands afterwards.
    pub after: Position,
}

/// A chunk, or a delta of the chunk told last.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// A chunk.
    Chunk(Chunk),
    /// More text of the chunk before it.
    Delta {
        /// The chunk that opened the text.
        of: Chunk,
        /// The text.
        text: String,
    },
}

/// The folded log of one message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Log {
    entries: Vec<Entry>,
}

impl Log {
    /// Returns the entries.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the position of a reader who has been told everything.
    #[must_use]
    pub fn end(&self) -> Position {
        let bytes = self.entries.last().map_or(0, |entry| entry.text.len());
        Position { chunks: self.entries.len(), bytes }
    }

    /// Appends a chunk and returns what readers at the former end are told.
    pub fn push(&mut self, chunk: Chunk) -> Piece {
        self.entries.push(Entry { chunk: chunk.clone(), text: String::new() });
        Piece { told: Told::Chunk(chunk), after: self.end() }
    }

    /// Appends text to the last chunk; none when that chunk takes no text.
    pub fn push_text(&mut self, text: &str) -> Option<Piece> {
        let entry = self.entries.last_mut().filter(|entry| entry.chunk.opens_text())?;
        entry.text.push_str(text);
        let of = entry.chunk.clone();
        Some(Piece { told: Told::Delta { of, text: text.to_owned() }, after: self.end() })
    }

    /// Tells whether the last chunk is the finish.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.entries.last(), Some(Entry { chunk: Chunk::Finish { .. }, .. }))
    }

    /// Takes back the finish of a parked run, because it goes on.
    pub fn reopen(&mut self) {
        if self.is_finished() {
            self.entries.pop();
        }
    }

    /// Tells whether a reader can stand at `position`.
    #[must_use]
    pub fn holds(&self, position: Position) -> bool {
        match position.chunks.checked_sub(1) {
            None => position.bytes == 0,
            Some(last) => self
                .entries
                .get(last)
                .is_some_and(|entry| entry.text.is_char_boundary(position.bytes)),
        }
    }

    /// Returns what a reader at `position` is told next, of a text at most `bytes_max`; none at the end. A
    /// reader begins anew where nobody can stand.
    #[must_use]
    pub fn next(&self, position: Position, bytes_max: usize) -> Option<Piece> {
        let Position { chunks, bytes } =
            if self.holds(position) { position } else { Position::default() };
        let told = chunks.checked_sub(1).and_then(|last| self.entries.get(last));
        if let Some(entry) = told
            && let Some(rest) = entry.text.get(bytes..).filter(|rest| !rest.is_empty())
        {
            // A character wider than the bound is told whole, or nobody would get past it.
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let (text, _) = rest.split_at(rest.floor_char_boundary(bytes_max).max(first));
            let after = Position { chunks, bytes: bytes + text.len() };
            let told = Told::Delta { of: entry.chunk.clone(), text: text.to_owned() };
            return Some(Piece { told, after });
        }
        let entry = self.entries.get(chunks)?;
        let after = Position { chunks: chunks + 1, bytes: 0 };
        Some(Piece { told: Told::Chunk(entry.chunk.clone()), after })
    }

    /// Returns how many bytes a reader at `position` has not been told, of texts and of outcomes.
    #[must_use]
    pub fn bytes_after(&self, position: Position) -> usize {
        let Position { chunks, bytes } = position;
        let texts =
            self.entries.iter().skip(chunks.saturating_sub(1)).map(|entry| entry.text.len());
        let told = self.entries.iter().skip(chunks).map(|entry| entry.chunk.bytes());
        (texts.sum::<usize>() + told.sum::<usize>()).saturating_sub(bytes)
    }
}

/// Tells in one word how a run stands, for lists and lines.
#[must_use]
pub fn state_word(state: &RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Parked { .. } => "parked",
        RunState::Ended(RunEnd::Finished) => "finished",
        RunState::Ended(RunEnd::Aborted) => "aborted",
        RunState::Ended(RunEnd::Failed { .. }) => "failed",
        RunState::Ended(RunEnd::Interrupted) => "interrupted",
        RunState::Ended(RunEnd::StepLimit { .. }) => "step_limit",
    }
}

#[cfg(test)]
mod tests;
