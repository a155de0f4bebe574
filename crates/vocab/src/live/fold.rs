//! From a stored message to the log that its run told, or would have told.

use std::sync::Arc;

use super::{Chunk, Log};
use crate::{
    ids::{BlockId, CallId, RunId, SessionId},
    message::{CallState, Message, Part, RunState, Usage},
    outcome::Outcome,
};

impl Log {
    /// Folds a stored assistant message into the log that its run told, or would have told.
    ///
    /// A live log equals this at every moment at which everything told was also stored.
    #[must_use]
    pub fn of_message(
        session: &SessionId,
        run: &RunId,
        message: &Message,
        state: &RunState,
    ) -> Self {
        let mut log = Self::default();
        log.push(Chunk::Start {
            session: session.clone(),
            run: run.clone(),
            message: message.id.clone(),
        });
        let mut usage = Usage::default();
        let mut in_step = false;
        let mut idx = 0;
        while idx < message.parts.len() {
            let until = segment_end(&message.parts, idx);
            let begins_step = matches!(message.parts.get(idx), Some(Part::Step { .. }));
            let ends_step =
                matches!(message.parts.get(idx), Some(Part::Step { .. } | Part::Steer { .. }));
            if in_step && ends_step {
                log.push(Chunk::StepEnd);
            }
            in_step = begins_step || (in_step && !ends_step);
            log.fold_segment(&message.parts, idx..until, &mut usage);
            idx = until;
        }
        if in_step && !matches!(state, RunState::Running | RunState::Parked { .. }) {
            log.push(Chunk::StepEnd);
        }
        if !matches!(state, RunState::Running) {
            log.push(Chunk::Finish { state: state.clone(), usage });
        }
        log
    }

    /// Folds the parts of one segment: what the model said in its order, then what is asked of people,
    /// then the outcomes in the order they came.
    fn fold_segment(&mut self, parts: &[Part], range: std::ops::Range<usize>, total: &mut Usage) {
        let mut outcomes: Vec<(u32, &CallId, &Option<BlockId>, &Outcome)> = Vec::new();
        let mut blocks: Vec<(&BlockId, &CallId)> = Vec::new();
        for (idx, part) in parts.iter().enumerate().skip(range.start).take(range.len()) {
            match part {
                Part::Step { usage, .. } => {
                    self.push(Chunk::StepStart);
                    total.add(&usage.unwrap_or_default());
                }
                Part::Text { text, done } => {
                    self.push(Chunk::TextStart { part: idx });
                    self.push_text(text);
                    if *done {
                        self.push(Chunk::TextEnd { part: idx });
                    }
                }
                Part::Reasoning { text, done, .. } => {
                    self.push(Chunk::ReasoningStart { part: idx });
                    self.push_text(text);
                    if *done {
                        self.push(Chunk::ReasoningEnd { part: idx });
                    }
                }
                Part::Call { call, tool, input, block, state } => {
                    self.push(Chunk::InputStart { call: call.clone(), tool: tool.clone() });
                    self.push(Chunk::InputDone {
                        call: call.clone(),
                        tool: tool.clone(),
                        input: Arc::new(input.clone()),
                    });
                    if let Some(block) = block {
                        blocks.push((block, call));
                    }
                    if let CallState::Ended { outcome, ordinal } = state {
                        outcomes.push((*ordinal, call, block, outcome));
                    }
                }
                Part::Steer { message } => {
                    self.push(Chunk::Steer { message: message.clone() });
                }
                Part::Note { kind, text } => {
                    self.push(Chunk::Note { part: idx, kind: kind.clone(), text: text.clone() });
                }
                Part::File { .. } => {}
            }
        }
        blocks.sort();
        for (block, call) in blocks {
            self.push(Chunk::Approval { call: call.clone(), block: block.clone() });
        }
        outcomes.sort_by_key(|(ordinal, ..)| *ordinal);
        for (_, call, block, outcome) in outcomes {
            let (call, block) = (call.clone(), block.clone());
            let outcome = Arc::new(outcome.clone());
            self.push(Chunk::Output { call, block, outcome });
        }
    }
}

/// Returns where the segment that begins at `start` ends: at the next step, steering message or note.
/// The outcomes of a segment's calls are told at its end, in the order in which they came.
#[must_use]
pub fn segment_end(parts: &[Part], start: usize) -> usize {
    let next = parts.iter().skip(start + 1).position(|part| {
        matches!(part, Part::Step { .. } | Part::Steer { .. } | Part::Note { .. })
    });
    next.map_or(parts.len(), |offset| start + 1 + offset)
}
