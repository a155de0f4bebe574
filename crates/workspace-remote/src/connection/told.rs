//! What work tells while it runs and when it ends, as the client hears it.

use std::time::Duration;

use bytes::Bytes;
use vocab::{
    limits::{REMOTE_PROGRESS_BYTES_MAX, REMOTE_TEXT_BYTES_MAX},
    outcome::{Effect, Failure, Outcome},
};

use super::{
    Connection,
    table::{Content, Live, Nature},
    work::Ending,
};
use crate::{
    codec::{Bounds, piece_frame, scan},
    frame::Frame,
    protocol::{self, Begin, Gap, Problem, Progress, write},
};

/// Whether the queue toward the client takes what nobody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// It does.
    Free,
    /// Too much waits already.
    Full,
}

impl Connection {
    /// Tells what a download promises.
    pub fn promise(&mut self, id: u64, (size, sha256): (u64, String), from: u64) {
        if self.requests.contains_key(&id) {
            self.send(write(&Begin { id, size, sha256, from }));
        }
    }

    /// Tells whether a piece of that length may go to the client; none may for what has ended.
    #[must_use]
    pub fn allows(&self, id: u64, len: usize) -> bool {
        match self.requests.get(&id).map(|live| &live.content) {
            Some(Content::Sending(flow)) => flow.allows(len),
            Some(_) | None => false,
        }
    }

    /// Words a piece for the client, which is to be said at once. The caller has asked whether it is allowed.
    #[must_use]
    pub fn piece_of(&mut self, id: u64, bytes: &Bytes) -> Option<Frame> {
        let Content::Sending(flow) = &mut self.requests.get_mut(&id)?.content else { return None };
        Some(piece_frame(id, flow.send(bytes.len()), bytes))
    }

    /// Tells whether a request runs a program.
    #[must_use]
    pub fn runs(&self, id: u64) -> bool {
        self.requests.get(&id).is_some_and(|live| live.nature == Nature::Runs)
    }

    /// Tells more output of a call, or counts it where nobody could take it.
    pub fn progress(&mut self, id: u64, output: String, space: Space) {
        let live = self.requests.get_mut(&id);
        let Some(Content::Telling { offset, gap }) = live.map(|live| &mut live.content) else {
            return;
        };
        let len = output.len() as u64;
        if space == Space::Full || output.len() > REMOTE_PROGRESS_BYTES_MAX {
            *gap += len;
            return;
        }
        let missing = std::mem::take(gap);
        let at = *offset + missing;
        *offset = at + len;
        if missing > 0 {
            self.send(write(&Gap { id, bytes: missing }));
        }
        self.send(write(&Progress { id, offset: at, output }));
    }

    /// Counts output of a call that was dropped before it came here.
    pub fn dropped(&mut self, id: u64, bytes: u64) {
        let live = self.requests.get_mut(&id);
        if let Some(Content::Telling { gap, .. }) = live.map(|live| &mut live.content) {
            *gap += bytes;
        }
    }

    /// Ends a request: its places are free, its id is used up, and the client hears how.
    pub fn end(&mut self, id: u64, ending: Ending, now: Duration) {
        let Some(live) = self.requests.remove(&id) else { return };
        self.order.remove(id);
        self.tombs.insert(id, now);
        if let Content::Telling { gap, .. } = live.content
            && gap > 0
        {
            self.send(write(&Gap { id, bytes: gap }));
        }
        let frame = self.worded(id, &live, ending);
        self.send(frame);
        self.go_on();
    }

    fn worded(&self, id: u64, live: &Live, ending: Ending) -> Frame {
        match ending {
            Ending::Outcome(mut outcome) => {
                outcome.failure = outcome.failure.map(|failure| retired(live, failure));
                let effect = outcome.effect();
                let frame = write(&protocol::Outcome { id, outcome: *outcome });
                if fits(&frame) {
                    return frame;
                }
                let outcome = Outcome::failed(too_large(effect));
                write(&protocol::Outcome { id, outcome })
            }
            Ending::Value(frame) if fits(&frame) => frame,
            Ending::Value(_) => {
                let looked = live.nature == Nature::Looks;
                let effect = if looked { Effect::NotStarted } else { Effect::Completed };
                write(&Problem::of(id, too_large(effect)))
            }
            Ending::Failed(failure) => {
                let frame = write(&Problem::of(id, retired(live, failure.clone())));
                if fits(&frame) {
                    return frame;
                }
                let message = "the failure's text is too large for the wire";
                write(&Problem::of(id, Failure::new("result_too_large", failure.effect, message)))
            }
        }
    }
}

/// What ended because its generation did says so.
fn retired(live: &Live, mut failure: Failure) -> Failure {
    if live.retired {
        "generation_retired".clone_into(&mut failure.code);
    }
    failure
}

fn too_large(effect: Effect) -> Failure {
    Failure::new("result_too_large", effect, "the result is too large for the wire")
}

/// Tells whether the client can read a message; a small one without structure always can be.
fn fits(frame: &Frame) -> bool {
    match frame {
        Frame::Text(text) => {
            text.len() <= REMOTE_TEXT_BYTES_MAX && scan(text, &Bounds::usual()).is_ok()
        }
        Frame::Binary(_) => true,
    }
}
