//! Content on its way to the client: one piece after another, as far as credit and the queue allow.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use vocab::{
    limits::{TRANSFER_IDLE_MS, TRANSFER_PIECE_BYTES},
    outcome::{Effect, Failure},
};
use workspace::primitive::{Answer, Download};

use super::{Hand, Running};
use crate::{
    connection::{Connection, work::Ending},
    frame::Frame,
    line::Line,
    protocol::{ValueOf, resource::SentOf, write},
    server::work::{self, Fed, Told},
};

/// Content that is being sent.
pub(super) struct Leaving {
    /// What of the present piece has not gone.
    rest: Bytes,
    after: After,
    /// When something of it last went, or came to be sent.
    moved: Duration,
}

/// What comes once the present piece has gone.
enum After {
    /// The last message; a cancelled request has changed nothing.
    Looked(Frame),
    /// The last message of a program that has ended.
    Ran(Frame),
    /// The next piece of a download.
    Next(Source),
    /// A piece that the download is asked for just now.
    Asked(Promise),
}

struct Source {
    promise: Promise,
    bytes: BoxStream<'static, Answer<Bytes>>,
}

/// What a download has promised, and how much of it has come.
struct Promise {
    size: u64,
    sha256: String,
    n_come: u64,
}

fn aborted(effect: Effect) -> Ending {
    let message = "stopped because the call was cancelled";
    Ending::Failed(Failure::new("aborted", effect, message))
}

impl Hand {
    /// Ends the work. An upload of a client that was lost hears that nothing more comes, and decides what becomes
    /// of what has.
    pub(super) fn end(&mut self, lost: bool) {
        self.feed = None;
        if !(lost && self.is_upload) {
            self.cancel.cancel();
        }
    }
}

impl Running {
    /// Hands something to an upload; one that has ended takes nothing.
    pub(super) fn feed(&mut self, id: u64, fed: Fed) {
        if let Some(feed) = self.hands.get(&id).and_then(|hand| hand.feed.as_ref()) {
            // Credit bounds what may wait, so a full queue means that nobody takes any more.
            feed.try_send(fed).ok();
        }
    }

    /// Ends work early. Content that is only being sent ends at once.
    pub(super) fn cancel(&mut self, id: u64, connection: &mut Connection, now: Duration) {
        if let Some(hand) = self.hands.get_mut(&id) {
            hand.end(self.lost);
        }
        let effect = match self.leaving.remove(&id).map(|leaving| leaving.after) {
            Some(After::Ran(_)) => Effect::Completed,
            Some(After::Looked(_) | After::Next(_) | After::Asked(_)) => Effect::NotStarted,
            None => return,
        };
        self.hands.remove(&id);
        connection.end(id, aborted(effect), now);
    }

    /// Takes what work told.
    pub(super) fn told(&mut self, told: Told, connection: &mut Connection, now: Duration) {
        match told {
            Told::Ended(id, ending) => self.end(id, ending, connection, now),
            Told::Content(id, rest, last) => {
                let exec = connection.runs(id);
                let after = if exec { After::Ran(last) } else { After::Looked(last) };
                self.leaving.insert(id, Leaving { rest, after, moved: now });
            }
            Told::Began(id, download) => {
                let Download { size, sha256, from, bytes } = download;
                connection.promise(id, (size, sha256.clone()), from);
                let promise = Promise { size, sha256, n_come: from };
                let after = After::Next(Source { promise, bytes });
                self.leaving.insert(id, Leaving { rest: Bytes::new(), after, moved: now });
            }
            Told::Piece(id, piece, bytes) => {
                let Some(leaving) = self.leaving.remove(&id) else { return };
                let After::Asked(mut promise) = leaving.after else { return };
                match piece {
                    Some(Ok(rest)) => {
                        promise.n_come += rest.len() as u64;
                        let after = After::Next(Source { promise, bytes });
                        self.leaving.insert(id, Leaving { rest, after, moved: now });
                    }
                    Some(Err(failure)) => self.end(id, Ending::Failed(failure), connection, now),
                    None => {
                        let Promise { size, sha256, n_come } = promise;
                        let ending = if n_come == size {
                            Ending::Value(write(&ValueOf { id, value: SentOf { size, sha256 } }))
                        } else {
                            let message = "the file gave other bytes than were promised";
                            Ending::Failed(Failure::not_started("transfer_mismatch", message))
                        };
                        self.end(id, ending, connection, now);
                    }
                }
            }
        }
    }

    fn end(&mut self, id: u64, ending: Ending, connection: &mut Connection, now: Duration) {
        self.hands.remove(&id);
        connection.end(id, ending, now);
    }

    /// The client is back: from here on it can take again.
    pub(super) fn back(&mut self, now: Duration) {
        self.away = false;
        self.leaving.values_mut().for_each(|leaving| leaving.moved = now);
    }

    /// Ends what nobody takes: whoever gives no credit has its place no longer than whoever sends nothing.
    pub(super) fn end_the_idle(&mut self, connection: &mut Connection, now: Duration) {
        if self.away {
            return;
        }
        let limit = Duration::from_millis(TRANSFER_IDLE_MS);
        let is_idle = |leaving: &Leaving| {
            !matches!(leaving.after, After::Asked(_)) && now.saturating_sub(leaving.moved) >= limit
        };
        let idle: Vec<u64> =
            self.leaving.iter().filter(|(_, one)| is_idle(one)).map(|(id, _)| *id).collect();
        for id in idle {
            let effect = match self.leaving.remove(&id).map(|leaving| leaving.after) {
                Some(After::Ran(_)) => Effect::Completed,
                Some(After::Looked(_) | After::Next(_) | After::Asked(_)) | None => {
                    Effect::NotStarted
                }
            };
            if let Some(hand) = self.hands.get_mut(&id) {
                hand.end(false);
            }
            let message = "nothing of the content was taken for too long";
            self.end(id, Ending::Failed(Failure::new("timeout", effect, message)), connection, now);
        }
    }

    /// Sends one piece of everything that may go. False when nothing could.
    pub(super) fn send_content(
        &mut self,
        connection: &mut Connection,
        line: &mut Line,
        now: Duration,
    ) -> bool {
        let mut gone = Vec::new();
        let mut moved = false;
        for (&id, leaving) in &mut self.leaving {
            if !line.has_room() {
                break;
            }
            if !leaving.rest.is_empty() {
                let len = leaving.rest.len().min(TRANSFER_PIECE_BYTES);
                if !connection.allows(id, len) {
                    continue;
                }
                if let Some(frame) = connection.piece_of(id, &leaving.rest.split_to(len)) {
                    line.push(frame);
                }
                leaving.moved = now;
                moved = true;
            }
            if leaving.rest.is_empty() && !matches!(leaving.after, After::Asked(_)) {
                gone.push(id);
            }
        }
        for id in gone {
            let Some(leaving) = self.leaving.remove(&id) else { continue };
            match leaving.after {
                After::Looked(last) | After::Ran(last) => {
                    self.end(id, Ending::Value(last), connection, now);
                    moved = true;
                }
                After::Next(Source { promise, bytes }) => {
                    self.works.push(work::pull(id, bytes));
                    let after = After::Asked(promise);
                    self.leaving.insert(id, Leaving { rest: Bytes::new(), after, moved: now });
                }
                After::Asked(promise) => {
                    let after = After::Asked(promise);
                    self.leaving
                        .insert(id, Leaving { rest: leaving.rest, after, moved: leaving.moved });
                }
            }
        }
        moved
    }
}
