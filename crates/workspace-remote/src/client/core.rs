//! What a client knows: its requests, its place, its catalog, and the line they travel on. No I/O and no waiting.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use tokio::sync::watch;
use vocab::{
    limits::{REMOTE_WAITING_MAX, TRANSFER_PIECE_BYTES},
    outcome::{Effect, Failure},
    tool::ToolSpec,
};
use workspace::catalog::Catalog;

use super::pending::{EndedRaw, LANES, Lane, Pending, Sending};
use crate::{
    codec::piece_frame,
    line::{Keeping, Line},
    offer,
    protocol::{
        self, Cancel, Finish, More, Welcome,
        hello::{CatalogBody, ResumeRight},
        write,
    },
};

/// How a client is connected.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) connection: String,
    pub(super) resume: Option<ResumeRight>,
    /// Places of each lane.
    places: [u64; 3],
}

/// Everything a client knows.
pub(super) struct Core {
    pub(super) line: Line,
    pub(super) session: Option<Session>,
    pub(super) exec: bool,
    pub(super) catalog: Arc<Catalog>,
    pub(super) known: Vec<Arc<ToolSpec>>,
    /// Counts the catalogs that were fetched.
    pub(super) fetched: watch::Sender<u64>,
    pub(super) closed: bool,
    requests: HashMap<u64, Pending>,
    waiting: [VecDeque<u64>; 3],
    n_running: [u64; 3],
    /// The request for a new catalog, while calls wait for it.
    refreshing: Option<u64>,
    last_id: u64,
}

/// Says that nothing can be said any more.
pub(super) fn closed() -> Failure {
    Failure::not_started("closed", "the workspace was closed")
}

fn aborted() -> Failure {
    Failure::not_started("aborted", "stopped because the call was cancelled")
}

impl Core {
    pub(super) fn new(known: Vec<Arc<ToolSpec>>) -> Self {
        Self {
            line: Line::new(Keeping::Nothing),
            session: None,
            exec: false,
            catalog: Arc::new(Catalog::new(0, [])),
            known,
            fetched: watch::Sender::new(0),
            closed: false,
            requests: HashMap::new(),
            waiting: Default::default(),
            n_running: [0; 3],
            refreshing: None,
            last_id: 0,
        }
    }

    /// Begins upon a new connection.
    pub(super) fn welcome(&mut self, welcome: &Welcome) {
        let keeping =
            if welcome.resume.is_some() { Keeping::UntilConfirmed } else { Keeping::Nothing };
        self.line = Line::new(keeping);
        let limits = welcome.limits;
        self.session = Some(Session {
            connection: welcome.connection.clone(),
            resume: welcome.resume.clone(),
            places: [limits.calls, limits.uploads, limits.downloads],
        });
        self.exec = welcome.grants.exec;
        self.refreshing = None;
        self.adopt(&welcome.catalog);
        self.go_on();
    }

    fn adopt(&mut self, body: &CatalogBody) {
        self.catalog = Arc::new(offer::agreed(body, &self.known));
        self.fetched.send_modify(|count| *count += 1);
    }

    /// Tells whether something waits for a connection.
    pub(super) fn is_wanted(&self) -> bool {
        self.closed || self.waiting.iter().any(|lane| !lane.is_empty())
    }

    /// Tells whether something was asked and not answered.
    pub(super) fn is_busy(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Returns a request that the server may know of, since it was said.
    pub(super) fn said(&mut self, id: u64) -> Option<&mut Pending> {
        self.requests.get_mut(&id).filter(|pending| pending.opening.is_none())
    }

    /// Returns an id for a request.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Takes a request; it is said at once if there is a place for it.
    pub(super) fn ask(&mut self, id: u64, pending: Pending) {
        let lane = pending.lane;
        let Some(waiting) = self.waiting.get_mut(lane as usize) else { return };
        if self.closed {
            return pending.end(EndedRaw::Failed(closed()));
        }
        if waiting.len() >= REMOTE_WAITING_MAX {
            let message = "too many requests wait for this workspace";
            return pending.end(EndedRaw::Failed(Failure::not_started("busy", message)));
        }
        self.requests.insert(id, pending);
        waiting.push_back(id);
        self.go_on();
    }

    /// Says what there is room for.
    pub(super) fn go_on(&mut self) {
        let Some(places) = self.session.as_ref().map(|session| session.places) else { return };
        for lane in LANES {
            while self.line.has_room() {
                let lane_idx = lane as usize;
                if places.get(lane_idx) <= self.n_running.get(lane_idx) {
                    break;
                }
                let Some(id) = self.take_waiting(lane) else { break };
                self.say(id, lane);
            }
        }
        let sending: Vec<u64> = self
            .requests
            .iter()
            .filter(|(_, pending)| !matches!(pending.sending, Sending::None))
            .map(|(id, _)| *id)
            .collect();
        for id in sending {
            self.send_on(id);
        }
    }

    fn take_waiting(&mut self, lane: Lane) -> Option<u64> {
        let paused = self.refreshing.is_some();
        let waiting = self.waiting.get_mut(lane as usize)?;
        let may_go = |id: &u64| {
            self.requests.get(id).is_none_or(|pending| !(paused && pending.needs_catalog()))
        };
        let at = waiting.iter().position(may_go)?;
        waiting.remove(at)
    }

    fn say(&mut self, id: u64, lane: Lane) {
        let Some(pending) = self.requests.get_mut(&id) else { return };
        let Some(opening) = pending.opening.take() else { return };
        let number = self.line.push(opening);
        match &pending.sending {
            Sending::None => pending.decisive = Some(number),
            Sending::Write { .. } | Sending::Upload { .. } => {}
        }
        if let Some(count) = self.n_running.get_mut(lane as usize) {
            *count += 1;
        }
        // The content of a write follows at once, so that what is asked later also begins later.
        self.send_write(id);
    }

    /// Sends content as far as credit goes.
    fn send_write(&mut self, id: u64) {
        let Some(pending) = self.requests.get_mut(&id) else { return };
        let Sending::Write { rest, flow } = &mut pending.sending else { return };
        loop {
            let len = rest.len().min(TRANSFER_PIECE_BYTES);
            if len == 0 || !flow.allows(len) {
                break;
            }
            let piece = rest.split_to(len);
            let number = self.line.push(piece_frame(id, flow.send(len), &piece));
            if rest.is_empty() {
                pending.decisive = Some(number);
            }
        }
    }

    /// Goes on with content that waited for credit or room.
    fn send_on(&mut self, id: u64) {
        let room = self.line.has_room();
        let Some(pending) = self.requests.get_mut(&id) else { return };
        match &pending.sending {
            Sending::Upload { moved, .. } => moved.notify_one(),
            Sending::Write { .. } if room && pending.opening.is_none() => self.send_write(id),
            Sending::Write { .. } | Sending::None => {}
        }
    }

    /// Takes credit for a request.
    pub(super) fn more(&mut self, more: &More) {
        let Some(pending) = self.requests.get_mut(&more.id) else { return };
        match &mut pending.sending {
            Sending::Write { flow, .. } | Sending::Upload { flow, .. } => flow.more(more.bytes),
            Sending::None => {}
        }
        self.send_on(more.id);
    }

    /// Sends a piece of an upload if it may go now; gives it back otherwise. Takes it where the upload is over.
    pub(super) fn send_piece(&mut self, id: u64, piece: Bytes) -> Option<Bytes> {
        let room = self.line.has_room();
        let pending = self.requests.get_mut(&id)?;
        let Sending::Upload { flow, .. } = &mut pending.sending else { return None };
        if pending.opening.is_some() || !room || !flow.allows(piece.len()) {
            return Some(piece);
        }
        let frame = piece_frame(id, flow.send(piece.len()), &piece);
        self.line.push(frame);
        None
    }

    /// Says that all of an upload was sent; false when it has not begun yet.
    pub(super) fn finish(&mut self, id: u64) -> bool {
        let Some(pending) = self.requests.get_mut(&id) else { return true };
        if pending.opening.is_some() {
            return false;
        }
        pending.decisive = Some(self.line.push(write(&Finish { id })));
        true
    }

    /// Says that content of a request was used up.
    pub(super) fn used(&mut self, id: u64, charge: u64) {
        let given = self.requests.get_mut(&id).and_then(|pending| pending.flow.used(charge));
        if let Some(bytes) = given {
            self.line.push(write(&More { id, bytes }));
        }
    }

    /// Ends a request early. One that was not said yet ends at once.
    pub(super) fn cancel(&mut self, id: u64) {
        let Some(pending) = self.requests.get_mut(&id) else { return };
        if pending.opening.is_some() {
            for waiting in &mut self.waiting {
                waiting.retain(|one| *one != id);
            }
            if let Some(pending) = self.requests.remove(&id) {
                pending.end(EndedRaw::Failed(aborted()));
            }
        } else if !std::mem::replace(&mut pending.cancelled, true) {
            if let Sending::Write { .. } = pending.sending {
                pending.sending = Sending::None;
            }
            self.line.push(write(&Cancel { id }));
        }
    }

    /// Ends a request.
    pub(super) fn end(&mut self, id: u64, ended: EndedRaw) {
        let Some(pending) = self.requests.remove(&id) else { return };
        if let Some(count) = self.n_running.get_mut(pending.lane as usize) {
            *count = count.saturating_sub(1);
        }
        pending.end(ended);
        self.go_on();
    }

    /// Asks for the present catalog; calls wait for it.
    pub(super) fn refresh(&mut self) {
        if self.refreshing.is_none() && self.session.is_some() {
            let id = self.next_id();
            self.line.push(write(&protocol::Catalog { id }));
            self.refreshing = Some(id);
        }
    }

    /// Takes the catalog that was asked for. One that is not what its hash says is asked for again.
    pub(super) fn catalog(&mut self, id: u64, body: &CatalogBody) -> Result<(), &'static str> {
        if self.refreshing != Some(id) {
            return Ok(());
        }
        if offer::hash(&body.tools) != body.catalog_hash {
            return Err("a catalog is not what its hash says");
        }
        self.refreshing = None;
        self.adopt(body);
        self.go_on();
        Ok(())
    }

    /// Ends what was said on a connection that is over. What waits goes on waiting.
    pub(super) fn lost(&mut self, code: &str, message: &str) {
        self.session = None;
        self.refreshing = None;
        self.n_running = [0; 3];
        let said: Vec<u64> = self
            .requests
            .iter()
            .filter(|(_, pending)| pending.opening.is_none())
            .map(|(id, _)| *id)
            .collect();
        for id in said {
            let Some(pending) = self.requests.remove(&id) else { continue };
            let may_have = pending.decisive.is_some_and(|number| self.line.was_written(number));
            let effect = match (pending.changes, may_have) {
                (true, true) => Effect::Indeterminate,
                (true, false) | (false, _) => Effect::NotStarted,
            };
            let mut failure = Failure::new(code, effect, message);
            if effect == Effect::Indeterminate {
                failure = failure.with_hint("look at the workspace before trying again");
            }
            pending.end(EndedRaw::Failed(failure));
        }
        self.line = Line::new(Keeping::Nothing);
        self.fetched.send_modify(|count| *count += 1);
    }

    /// Ends what waits for a connection that cannot be had.
    pub(super) fn give_up(&mut self, failure: &Failure) {
        for lane in &mut self.waiting {
            for id in lane.drain(..) {
                if let Some(pending) = self.requests.remove(&id) {
                    pending.end(EndedRaw::Failed(failure.clone()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
