//! A request that waits for its end, and what flows under its id until then.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::{Bytes, BytesMut};
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use vocab::outcome::{Failure, Outcome};
use workspace::call::ProgressSink;

use crate::{
    connection::{Inflow, Outflow},
    frame::Frame,
    protocol::resource::SentOf,
};

/// Which places a request takes on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Calls,
    Uploads,
    Downloads,
}

pub(super) const LANES: [Lane; 3] = [Lane::Calls, Lane::Uploads, Lane::Downloads];

/// How a request ended.
pub(super) enum Ended {
    Outcome(Outcome),
    /// Its answer, and the content that came before it.
    Value(Box<RawValue>, Bytes),
    Failed(Failure),
}

/// Who waits.
pub(super) enum Reply {
    Once(oneshot::Sender<Ended>),
    Download(Arc<Inbox>),
}

/// Content on its way to the server.
pub(super) enum Sending {
    None,
    /// All of it is here.
    Write {
        rest: Bytes,
        flow: Outflow,
    },
    /// It is asked for piece by piece.
    Upload {
        flow: Outflow,
        moved: Arc<Notify>,
    },
}

/// A request.
pub(super) struct Pending {
    /// Its first message, until that was said.
    pub(super) opening: Option<Frame>,
    pub(super) lane: Lane,
    /// Whether it can change something.
    pub(super) changes: bool,
    /// The number of the message without which it cannot have changed anything, once that was said.
    pub(super) decisive: Option<u64>,
    pub(super) sending: Sending,
    pub(super) gathered: Vec<Bytes>,
    /// How much content may come.
    pub(super) gathered_max: u64,
    pub(super) flow: Inflow,
    pub(super) progress: Option<ProgressSink>,
    pub(super) cancelled: bool,
    pub(super) reply: Reply,
}

impl Pending {
    pub(super) fn new(opening: Frame, lane: Lane, reply: Reply) -> Self {
        Self {
            opening: Some(opening),
            lane,
            changes: false,
            decisive: None,
            sending: Sending::None,
            gathered: Vec::new(),
            gathered_max: 0,
            flow: Inflow::default(),
            progress: None,
            cancelled: false,
            reply,
        }
    }

    /// Tells whether it must wait while the catalog changes: it is a call.
    pub(super) fn needs_catalog(&self) -> bool {
        self.progress.is_some()
    }

    /// Says that it can change something.
    pub(super) fn changing(mut self) -> Self {
        self.changes = true;
        self
    }

    /// Tells whoever waits how it ended.
    pub(super) fn end(self, ended: EndedRaw) {
        if let Sending::Upload { moved, .. } = &self.sending {
            moved.notify_one();
        }
        match self.reply {
            // Nobody may wait any more; the end is an end all the same.
            Reply::Once(reply) => reply
                .send(match ended {
                    EndedRaw::Outcome(outcome) => Ended::Outcome(outcome),
                    EndedRaw::Value(value) => Ended::Value(value, joined(&self.gathered)),
                    EndedRaw::Failed(failure) => Ended::Failed(failure),
                })
                .unwrap_or(()),
            Reply::Download(inbox) => inbox.end(match ended {
                EndedRaw::Value(value) => {
                    serde_json::from_str(value.get()).map_err(|_shape| super::unreadable())
                }
                EndedRaw::Outcome(_) => Err(super::unreadable()),
                EndedRaw::Failed(failure) => Err(failure),
            }),
        }
    }
}

/// The last message of a request.
pub(super) enum EndedRaw {
    Outcome(Outcome),
    Value(Box<RawValue>),
    Failed(Failure),
}

fn joined(parts: &[Bytes]) -> Bytes {
    match parts {
        [] => Bytes::new(),
        [one] => one.clone(),
        parts => {
            let mut whole = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
            parts.iter().for_each(|part| whole.extend_from_slice(part));
            whole.freeze()
        }
    }
}

/// What has come of a download and was not taken yet; credit bounds it.
#[derive(Default)]
pub(super) struct Inbox {
    state: Mutex<Arrived>,
    more: Notify,
}

#[derive(Default)]
struct Arrived {
    promise: Option<Promised>,
    pieces: VecDeque<Bytes>,
    ended: Option<Result<SentOf, Failure>>,
}

/// What a download promises.
#[derive(Debug, Clone)]
pub(super) struct Promised {
    /// The whole.
    pub(super) sent: SentOf,
    /// How much of it does not come.
    pub(super) from: u64,
}

/// What an inbox holds for its reader.
pub(super) enum Next {
    Piece(Bytes),
    Ended(Result<SentOf, Failure>),
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, Arrived> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn promise(&self, promise: Promised) {
        self.state().promise = Some(promise);
        self.more.notify_one();
    }

    pub(super) fn push(&self, piece: Bytes) {
        self.state().pieces.push_back(piece);
        self.more.notify_one();
    }

    fn end(&self, ended: Result<SentOf, Failure>) {
        self.state().ended = Some(ended);
        self.more.notify_one();
    }

    /// Waits for what the download promises.
    pub(super) async fn promised(&self) -> Result<Promised, Failure> {
        loop {
            {
                let state = self.state();
                if let Some(promise) = &state.promise {
                    return Ok(promise.clone());
                }
                match &state.ended {
                    Some(Err(failure)) => return Err(failure.clone()),
                    Some(Ok(_)) => return Err(super::unreadable()),
                    None => {}
                }
            }
            self.more.notified().await;
        }
    }

    /// Waits for the next piece or the end.
    pub(super) async fn next(&self) -> Next {
        loop {
            {
                let mut state = self.state();
                if let Some(piece) = state.pieces.pop_front() {
                    return Next::Piece(piece);
                }
                if let Some(ended) = &state.ended {
                    return Next::Ended(ended.clone());
                }
            }
            self.more.notified().await;
        }
    }
}
