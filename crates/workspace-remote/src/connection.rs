//! The server's side of one connection, without I/O and without a clock: messages and endings come in, actions
//! come out.
//!
//! It knows what may be asked when, how often, and how much at a time. It runs nothing, and which line its
//! messages travel on is not its business.

pub mod greeting;
pub mod gate;
pub mod work;
mod request;
mod table;
mod admission;
mod content;
mod told;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use vocab::{limits::REMOTE_STRIKES_MAX, outcome::Failure};

use self::{
    gate::{Gate, Room},
    greeting::Agreed,
    request::{Asked, Meant},
    table::{Content, Live, Nature, Order, Requests, Tombs},
    work::{Ending, Work},
};
use crate::{
    codec::{self, Bounds, scan},
    frame::{CloseStatus, Frame, Violation},
    protocol::{
        BadMessage, CatalogChanged, CatalogOf, ClientMessage, Closing, Problem, capability,
        hello::CatalogBody, write,
    },
};

pub use table::{Inflow, Outflow, charge};
pub use told::Space;

/// What the connection wants done.
#[derive(Debug)]
pub enum Action {
    /// Say this to the client.
    Send(Frame),
    /// Begin this work.
    Start(u64, Work),
    /// Hand a piece to an upload.
    Feed(u64, Bytes),
    /// Tell an upload that all has come.
    Finish(u64),
    /// Work that sends content may go on.
    Credit(u64),
    /// End this work early; it still ends by itself.
    Cancel(u64),
    /// Close the line. Nothing follows.
    Close(CloseStatus),
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Requests are taken.
    Open,
    /// What runs may end; nothing new is taken.
    Draining,
    /// Nothing is said any more.
    Closed,
}

/// What a workspace grants, besides its catalog.
#[derive(Debug, Clone)]
pub struct Served {
    /// The present catalog.
    pub catalog: Arc<CatalogBody>,
    /// Whether programs may be run.
    pub exec: bool,
}

/// One connection, from the greeting to its end.
#[derive(Debug)]
pub struct Connection {
    agreed: Agreed,
    served: Served,
    /// Its own places, then those of the runtime.
    gates: [Gate; 2],
    phase: Phase,
    requests: Requests,
    order: Order,
    tombs: Tombs,
    n_strikes: u32,
    actions: VecDeque<Action>,
}

impl Connection {
    /// Begins after the greeting.
    #[must_use]
    pub fn new(agreed: Agreed, served: Served, gates: [Gate; 2]) -> Self {
        Self {
            agreed,
            served,
            gates,
            phase: Phase::Open,
            requests: Requests::default(),
            order: Order::default(),
            tombs: Tombs::default(),
            n_strikes: 0,
            actions: VecDeque::new(),
        }
    }

    /// Returns what is to be done next.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Tells whether nothing runs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Tells whether the connection is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Takes a message of the client.
    pub fn hear(&mut self, frame: &Frame, now: Duration) {
        if self.is_closed() {
            return;
        }
        let heard = match frame {
            Frame::Text(text) => self.text(text, now),
            Frame::Binary(bytes) => codec::piece(bytes).and_then(|piece| self.piece(piece)),
        };
        if let Err(violation) = heard {
            self.fail(&violation);
        }
    }

    /// Ends the connection because of what the client did.
    pub fn fail(&mut self, violation: &Violation) {
        self.close(violation.status, violation.code, &violation.message);
    }

    /// Ends the connection and says why.
    pub fn close(&mut self, status: CloseStatus, code: &str, message: &str) {
        if self.is_closed() {
            return;
        }
        self.send(write(&Closing { code: code.to_owned(), message: message.to_owned() }));
        self.actions.push_back(Action::Close(status));
        self.abandon();
    }

    /// Ends the connection without a word: there is nobody to say it to.
    pub fn abandon(&mut self) {
        self.cancel_all();
        self.phase = Phase::Closed;
    }

    /// Takes no more requests and ends those that run.
    pub fn drain(&mut self, now: Duration) {
        if self.phase == Phase::Open {
            self.phase = Phase::Draining;
            let waiting: Vec<u64> = self.requests.keys().copied().collect();
            for id in waiting {
                self.cancel(id, now);
            }
        }
    }

    /// Publishes another generation. Programs of the one before are ended.
    pub fn publish(&mut self, served: Served, now: Duration) {
        let CatalogBody { generation, catalog_hash, .. } = &*served.catalog;
        if *generation == self.served.catalog.generation {
            return;
        }
        self.send(write(&CatalogChanged {
            generation: *generation,
            catalog_hash: catalog_hash.clone(),
        }));
        self.served = served;
        let retired: Vec<u64> = self
            .requests
            .iter_mut()
            .filter(|(_, live)| live.nature == Nature::Runs)
            .map(|(id, live)| {
                live.retired = true;
                *id
            })
            .collect();
        for id in retired {
            self.cancel(id, now);
        }
    }

    fn cancel_all(&mut self) {
        for id in self.order.clear() {
            self.requests.remove(&id);
        }
        for (id, live) in &mut self.requests {
            if !std::mem::replace(&mut live.cancelled, true) {
                self.actions.push_back(Action::Cancel(*id));
            }
        }
    }

    fn send(&mut self, frame: Frame) {
        if !self.is_closed() {
            self.actions.push_back(Action::Send(frame));
        }
    }

    fn text(&mut self, text: &Bytes, now: Duration) -> Result<(), Violation> {
        let head = scan(text, &Bounds::usual())?;
        let usable = || head.id.ok_or_else(|| Violation::protocol("a request has no usable id"));
        match ClientMessage::read(head.kind, text) {
            Ok(message @ ClientMessage::Goodbye(_)) => self.message(message, now),
            Ok(message) => usable().and_then(|_| self.message(message, now)),
            Err(BadMessage::Syntax) => Err(Violation::protocol("a message is no JSON")),
            Err(BadMessage::UnknownKind) => {
                let id = usable()?;
                self.check_fresh(id)?;
                self.not_supported(id, now);
                Ok(())
            }
            Err(BadMessage::Fields(problem)) => {
                let id = usable()?;
                self.check_fresh(id)?;
                self.strike(id, problem, now)
            }
        }
    }

    fn check_fresh(&self, id: u64) -> Result<(), Violation> {
        if self.requests.contains_key(&id) || self.tombs.contains(id) {
            return Err(Violation::policy("an id was used twice"));
        }
        Ok(())
    }

    fn refuse(&mut self, id: u64, failure: Failure, now: Duration) {
        self.tombs.insert(id, now);
        self.send(write(&Problem::of(id, failure)));
    }

    fn not_supported(&mut self, id: u64, now: Duration) {
        let message = "this workspace does not have that operation";
        self.refuse(id, Failure::not_started("method_not_supported", message), now);
    }

    fn strike(&mut self, id: u64, problem: String, now: Duration) -> Result<(), Violation> {
        self.refuse(id, Failure::not_started("invalid_request", problem), now);
        self.n_strikes += 1;
        if self.n_strikes < REMOTE_STRIKES_MAX {
            return Ok(());
        }
        Err(Violation::policy(format!("{REMOTE_STRIKES_MAX} requests were invalid")))
    }

    fn message(&mut self, message: ClientMessage, now: Duration) -> Result<(), Violation> {
        match request::read(message) {
            Meant::Asks(asked) => return self.request(asked, now),
            Meant::Unprepared(id) => {
                self.check_fresh(id)?;
                return self.strike(id, "the arguments are not prepared".to_owned(), now);
            }
            Meant::Catalog(id) => {
                self.check_fresh(id)?;
                self.tombs.insert(id, now);
                let catalog = CatalogBody::clone(&self.served.catalog);
                self.send(write(&CatalogOf { id, catalog }));
            }
            Meant::Cancel(id) => self.cancel(id, now),
            Meant::More(id, bytes) => {
                let live = self.requests.get_mut(&id);
                if let Some(Content::Sending(flow)) = live.map(|live| &mut live.content) {
                    flow.more(bytes);
                    self.actions.push_back(Action::Credit(id));
                }
            }
            Meant::Finish(id) => return self.finish(id),
            Meant::Goodbye => {
                self.actions.push_back(Action::Close(CloseStatus::Normal));
                self.abandon();
            }
            Meant::Misplaced => {
                return Err(Violation::protocol("a message came where it must not"));
            }
        }
        Ok(())
    }

    fn request(&mut self, asked: Asked, now: Duration) -> Result<(), Violation> {
        let Asked { id, work, room, content } = asked;
        self.check_fresh(id)?;
        let transfers =
            matches!(room, Room::Uploads | Room::Downloads) || matches!(work, Some(Work::Held(..)));
        let absent = (matches!(work, Some(Work::Exec(..))) && !self.served.exec)
            || (transfers && !self.agreed.has(capability::TRANSFER));
        if absent {
            self.not_supported(id, now);
            return Ok(());
        }
        let checked = self
            .check(work.as_ref())
            .and_then(|()| request::check_size(&content))
            .and_then(|()| self.admit(room, &content));
        let permits = match checked {
            Ok(permits) => permits,
            Err(failure) => {
                self.refuse(id, failure, now);
                return Ok(());
            }
        };
        let nature = self.nature(work.as_ref());
        let live = Live { _permits: permits, content, nature, cancelled: false, retired: false };
        self.requests.insert(id, live);
        match work {
            Some(work) => self.begin(id, work),
            None => self.order.expect(id),
        }
        Ok(())
    }

    fn begin(&mut self, id: u64, work: Work) {
        if let Some(work) = self.order.pass(id, work) {
            self.actions.push_back(Action::Start(id, work));
        }
        self.go_on();
    }

    fn go_on(&mut self) {
        while let Some((id, work)) = self.order.next() {
            self.actions.push_back(Action::Start(id, work));
        }
    }

    fn cancel(&mut self, id: u64, now: Duration) {
        let Some(live) = self.requests.get_mut(&id) else { return };
        if self.order.remove(id) {
            let message = "stopped because the call was cancelled";
            self.end(id, Ending::Failed(Failure::not_started("aborted", message)), now);
            self.go_on();
        } else if !std::mem::replace(&mut live.cancelled, true) {
            self.actions.push_back(Action::Cancel(id));
        }
    }
}

#[cfg(test)]
mod tests;
