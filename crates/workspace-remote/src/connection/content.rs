//! Content that a client sends under a request's id.

use bytes::{Bytes, BytesMut};

use super::{
    Action, Connection,
    table::{Content, charge},
    work::Work,
};
use crate::{
    codec::Piece,
    frame::Violation,
    protocol::{More, write},
};

impl Connection {
    pub(super) fn piece(&mut self, piece: Piece) -> Result<(), Violation> {
        let Piece { id, offset, bytes } = piece;
        let len = bytes.len();
        let out_of_place = || Violation::policy("content is out of place or beyond its credit");
        let Some(live) = self.requests.get_mut(&id) else {
            // What was under way when its request ended is no fault.
            let known = self.tombs.contains(id);
            return if known { Ok(()) } else { Err(Violation::protocol("content of no request")) };
        };
        match &mut live.content {
            Content::Gathering { at, size, parts, flow } => {
                if !flow.take(offset, len) || flow.offset() > *size {
                    return Err(out_of_place());
                }
                parts.push(bytes);
                let given = flow.used(charge(len));
                if flow.offset() == *size {
                    let work = Work::Write(at.clone(), joined(parts));
                    live.content = Content::None;
                    self.begin(id, work);
                } else if let Some(bytes) = given {
                    self.send(write(&More { id, bytes }));
                }
                Ok(())
            }
            Content::Feeding { flow, finished: false } => {
                if !flow.take(offset, len) {
                    return Err(out_of_place());
                }
                self.actions.push_back(Action::Feed(id, bytes));
                Ok(())
            }
            Content::Feeding { .. }
            | Content::None
            | Content::Sending(_)
            | Content::Telling { .. } => {
                Err(Violation::protocol("content of a request that takes none"))
            }
        }
    }

    pub(super) fn finish(&mut self, id: u64) -> Result<(), Violation> {
        match self.requests.get_mut(&id).map(|live| &mut live.content) {
            Some(Content::Feeding { finished, .. }) if !*finished => {
                *finished = true;
                self.actions.push_back(Action::Finish(id));
                Ok(())
            }
            None if self.tombs.contains(id) => Ok(()),
            Some(_) | None => Err(Violation::protocol("the end of content that was not expected")),
        }
    }

    /// Says that an upload has used up pieces of so much charge.
    pub fn used(&mut self, id: u64, charge: u64) {
        let live = self.requests.get_mut(&id);
        if let Some(Content::Feeding { flow, .. }) = live.map(|live| &mut live.content)
            && let Some(bytes) = flow.used(charge)
        {
            self.send(write(&More { id, bytes }));
        }
    }
}

fn joined(parts: &mut Vec<Bytes>) -> Bytes {
    if let [one] = parts.as_slice() {
        return one.clone();
    }
    let mut whole = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    for part in parts.drain(..) {
        whole.extend_from_slice(&part);
    }
    whole.freeze()
}
