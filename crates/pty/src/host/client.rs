//! One connection: what it is, what it has said so far, what it has not read yet.

use std::{mem::MaybeUninit, os::fd::OwnedFd, path::PathBuf};

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};
use screen::Size;
use serde::{Deserialize, Serialize};
use vocab::outcome::Failure;

use super::{
    queue::{Queue, Shared, Worth},
    typed::Sorter,
};
use crate::{
    frame::{self, Decoder, Kind},
    hello::{self, Detached, Reason, Reply, Role, State},
};

/// Nobody is waited for, and one that has left is an error and no signal.
const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// How a connection goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Flow {
    /// It is read.
    #[default]
    Open,
    /// It gets what it has not read, and nothing is read from it.
    Closing,
    /// It is gone.
    Gone,
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: u64,
    pub(super) stream: OwnedFd,
    pub(super) decoder: Decoder,
    pub(super) queue: Queue,
    /// None until it has said what it wants to be.
    pub(super) role: Option<Role>,
    pub(super) size: Option<Size>,
    pub(super) sorter: Sorter,
    pub(super) told: Option<State>,
    /// It sees nothing, and is told how the job is all the same.
    pub(super) follows: bool,
    /// The socket of the host in whose job it shows this one.
    pub(super) within: Option<PathBuf>,
    pub(super) flow: Flow,
    /// It reads nothing any more. What it has said before it left is still to be read.
    is_deaf: bool,
}

impl Client {
    pub(super) fn new(id: u64, stream: OwnedFd) -> Self {
        Self {
            id,
            stream,
            decoder: Decoder::default(),
            queue: Queue::default(),
            role: None,
            size: None,
            sorter: Sorter::default(),
            told: None,
            follows: false,
            within: None,
            flow: Flow::Open,
            is_deaf: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.flow == Flow::Open
    }

    /// Tells whether it is there and looks.
    pub(super) fn watches(&self) -> bool {
        self.is_open() && matches!(self.role, Some(Role::Attach | Role::View | Role::Tail))
    }

    /// Tells whether it is there and is told how the job is.
    pub(super) fn wants_states(&self) -> bool {
        self.watches() || (self.is_open() && self.follows)
    }

    /// Tells whether it is there and may type.
    pub(super) fn is_attached(&self) -> bool {
        self.is_open() && self.role == Some(Role::Attach)
    }

    /// Reads what has come, up to a buffer of it; none when nothing did.
    pub(super) fn read<'a>(&mut self, buffer: &'a mut [MaybeUninit<u8>]) -> Option<&'a [u8]> {
        match recv(&self.stream, buffer, RecvFlags::DONTWAIT) {
            Ok((([], _), _)) => {
                // It may still read what it has asked for.
                self.flow = Flow::Closing;
                None
            }
            Ok(((bytes, _), _)) => Some(bytes),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(_) => {
                self.flow = Flow::Gone;
                None
            }
        }
    }

    /// Sends what it takes now.
    pub(super) fn flush(&mut self) {
        let sent = self.queue.flush(|bytes| match send(&self.stream, bytes, SEND_FLAGS) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            other => other,
        });
        if let Err(errno) = sent {
            match errno {
                Errno::PIPE | Errno::CONNRESET => self.is_deaf = true,
                _ => self.flow = Flow::Gone,
            }
        }
        if self.is_deaf {
            self.queue = Queue::default();
        }
        if self.flow == Flow::Closing && self.queue.is_empty() {
            self.flow = Flow::Gone;
        }
    }

    /// Gives it a frame of output, if it looks. What it does not take at once waits, in a copy that everyone
    /// shares.
    pub(super) fn output(&mut self, frame: &[u8], shared: &mut Option<Shared>) {
        if !self.watches() || self.queue.is_behind() {
            return;
        }
        let n_sent = match self.queue.is_empty() {
            // Whatever is wrong with it is seen when the rest is sent.
            true => send(&self.stream, frame, SEND_FLAGS).unwrap_or(0),
            false => 0,
        };
        if n_sent < frame.len() {
            let shared = shared.get_or_insert_with(|| frame.into());
            self.queue.push_output(shared, n_sent);
        }
    }

    pub(super) fn say(&mut self, kind: Kind, payload: &[u8]) {
        let is_screen = matches!(kind, Kind::State | Kind::Resync | Kind::Data);
        let worth = if is_screen { Worth::Screen } else { Worth::Kept };
        if self.queue.push(frame::encode(kind, payload), worth).is_err() {
            self.flow = Flow::Gone;
        }
    }

    pub(super) fn reply(&mut self, reply: &Reply) {
        self.say(Kind::Reply, &hello::to_json(reply));
    }

    /// Tells what it may do, unless it knows.
    pub(super) fn tell(&mut self, state: State) {
        // One that is behind is told together with its next snapshot.
        if self.told.as_ref() != Some(&state) && !self.queue.is_behind() {
            self.say(Kind::State, &hello::to_json(&state));
            self.told = Some(state);
        }
    }

    /// Gives it the whole in place of what waits.
    pub(super) fn resync(&mut self, state: State, snapshot: &[u8]) {
        self.queue.restart();
        self.told = None;
        self.tell(state);
        let bytes = snapshot.len();
        self.say(Kind::Resync, &hello::to_json(&hello::Resync { bytes }));
        self.say(Kind::Data, snapshot);
    }

    /// Lets go of it.
    pub(super) fn let_go(&mut self, reason: Reason, error: Option<Failure>) {
        if self.is_open() {
            self.say(Kind::Detached, &hello::to_json(&Detached { reason, error }));
            if self.flow == Flow::Open {
                self.flow = Flow::Closing;
            }
        }
    }
}
