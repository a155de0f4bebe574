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
mod content;
mod told;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use vocab::{limits::REMOTE_STRIKES_MAX, outcome::Failure, tool::Reach};

use self::{
    gate::{Gate, Permit, Room},
    greeting::Agreed,
    request::Asked,
    table::{Content, Live, Order, Requests, Tombs},
    work::{Ending, Work},
};
use crate::{
    codec::{self, Bounds, scan},
    frame::{CloseStatus, Frame, Violation},
    offer,
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
            .filter(|(_, live)| live.runs)
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
        let message = match message {
            ClientMessage::Call(call) if !call.arguments_prepared => {
                self.check_fresh(call.id)?;
                return self.strike(call.id, "the arguments are not prepared".to_owned(), now);
            }
            message => message,
        };
        match request::read(message) {
            Ok(asked) => self.request(asked, now),
            Err(ClientMessage::Catalog(one)) => {
                self.check_fresh(one.id)?;
                self.tombs.insert(one.id, now);
                let catalog = CatalogBody::clone(&self.served.catalog);
                self.send(write(&CatalogOf { id: one.id, catalog }));
                Ok(())
            }
            Err(ClientMessage::Cancel(one)) => {
                self.cancel(one.id, now);
                Ok(())
            }
            Err(ClientMessage::More(one)) => {
                if let Some(Live { content: Content::Sending(flow), .. }) =
                    self.requests.get_mut(&one.id)
                {
                    flow.more(one.bytes);
                    self.actions.push_back(Action::Credit(one.id));
                }
                Ok(())
            }
            Err(ClientMessage::Finish(one)) => self.finish(one.id),
            Err(ClientMessage::Goodbye(_)) => {
                self.actions.push_back(Action::Close(CloseStatus::Normal));
                self.abandon();
                Ok(())
            }
            Err(_) => Err(Violation::protocol("a message came where it must not")),
        }
    }

    fn request(&mut self, asked: Asked, now: Duration) -> Result<(), Violation> {
        let Asked { id, work, room, content } = asked;
        self.check_fresh(id)?;
        let transfers = matches!(room, Room::Uploads | Room::Downloads);
        let absent = match &work {
            Some(Work::Exec(..)) => !self.served.exec,
            _ => transfers && !self.agreed.has(capability::TRANSFER),
        };
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
        let runs = match &work {
            Some(Work::Call(call)) => {
                offer::reach(&self.served.catalog, &call.tool) == Reach::Runs
            }
            Some(Work::Exec(..)) => true,
            _ => false,
        };
        let changes = work.as_ref().is_none_or(Work::changes);
        let live = Live {
            _permits: permits,
            content,
            cancelled: false,
            runs,
            retired: false,
            changes,
        };
        self.requests.insert(id, live);
        match work {
            Some(work) => self.begin(id, work),
            None => self.order.expect(id),
        }
        Ok(())
    }

    /// Checks what can be checked before anything is taken.
    fn check(&self, work: Option<&Work>) -> Result<(), Failure> {
        if self.phase == Phase::Draining {
            return Err(Failure::not_started("draining", "the runtime is about to end"));
        }
        let Some(Work::Call(call)) = work else { return Ok(()) };
        let stale = |message: String| {
            Failure::not_started("stale_generation", message).with_hint("fetch the catalog again")
        };
        let catalog = &self.served.catalog;
        if call.expected_generation != catalog.generation {
            let (now, then) = (catalog.generation, call.expected_generation);
            let message = format!("the catalog is at generation {now}, the call was made for {then}");
            return Err(stale(message));
        }
        let row = catalog.tools.iter().find(|row| row.name == call.tool);
        if row.is_some_and(|row| row.schema_hash != call.schema_hash) {
            return Err(stale(format!("the call was made for another schema of {}", call.tool)));
        }
        Ok(())
    }

    fn admit(&self, room: Room, content: &Content) -> Result<Vec<Permit>, Failure> {
        let gathered = match content {
            Content::Gathering { size, .. } => Some((Room::Gathered, *size)),
            _ => None,
        };
        let mut permits = Vec::with_capacity(2);
        for (room, count) in [Some((room, 1)), gathered].into_iter().flatten() {
            for gate in &self.gates {
                let permit = gate.take(room, count).ok_or_else(|| {
                    let message = "too much runs at the same time";
                    Failure::not_started("busy", message).with_hint("try again in a while")
                })?;
                permits.push(permit);
            }
        }
        Ok(permits)
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
