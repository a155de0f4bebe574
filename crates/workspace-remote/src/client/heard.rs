//! What a client does with each message of the server.

use vocab::limits::REMOTE_PIECE_BYTES_MAX;
use workspace::call::{Progress, ProgressSink};

use super::{
    core::Core,
    pending::{EndedRaw, Pending, Promised, Reply},
};
use crate::{
    codec::{self, Bounds, Piece, scan},
    connection::charge,
    frame::{Frame, Violation},
    line::{self, Control},
    protocol::{BadMessage, Begin, ServerMessage, resource::SentOf},
};

/// What is to be done once the client's lock is free.
pub(super) enum Then {
    /// Nothing.
    Nothing,
    /// Tell this to whoever listens to a call.
    Tell(ProgressSink, String),
    /// The server has closed the connection.
    Closed(String, String),
}

impl Core {
    /// Takes a message of the server.
    pub(super) fn hear(&mut self, frame: &Frame) -> Result<Then, Violation> {
        match line::control(frame)? {
            Some(Control::Ack(n_received)) => {
                self.line.confirmed(n_received)?;
                self.go_on();
                return Ok(Then::Nothing);
            }
            Some(Control::Ping) => {
                self.line.pong();
                return Ok(Then::Nothing);
            }
            Some(Control::Pong) => return Ok(Then::Nothing),
            None => {}
        }
        self.line.heard(frame.len());
        match frame {
            Frame::Binary(bytes) => self.piece(codec::piece(bytes)?).map(|()| Then::Nothing),
            Frame::Text(text) => {
                let head = scan(text, &Bounds::usual())?;
                let message = ServerMessage::read(head.kind, text).map_err(|bad| match bad {
                    BadMessage::UnknownKind => Violation::protocol("a message of unknown type"),
                    BadMessage::Syntax => Violation::protocol("a message is no JSON"),
                    BadMessage::Fields(problem) => Violation::protocol(problem),
                })?;
                self.message(message)
            }
        }
    }

    fn message(&mut self, message: ServerMessage) -> Result<Then, Violation> {
        match message {
            ServerMessage::Progress(one) => return Ok(self.told(one.id, one.output)),
            ServerMessage::Gap(one) => {
                let text = format!("\n[{} bytes of output were left out here]\n", one.bytes);
                return Ok(self.told(one.id, text));
            }
            ServerMessage::More(more) => self.more(&more),
            ServerMessage::Begin(begin) => {
                let pending = self.said(begin.id);
                if let Some(Pending { reply: Reply::Download(inbox), .. }) = pending {
                    let Begin { size, sha256, from, .. } = begin;
                    inbox.promise(Promised { sent: SentOf { size, sha256 }, from });
                }
            }
            ServerMessage::Outcome(one) => self.answered(one.id, EndedRaw::Outcome(one.outcome)),
            ServerMessage::ValueRaw(one) => self.answered(one.id, EndedRaw::Value(one.value)),
            ServerMessage::Problem(problem) => {
                self.answered(problem.id, EndedRaw::Failed(problem.into()));
            }
            ServerMessage::CatalogOf(one) => {
                self.catalog(one.id, &one.catalog).map_err(Violation::protocol)?;
            }
            ServerMessage::CatalogChanged(changed) => {
                if changed.generation != self.catalog.generation {
                    self.refresh();
                }
            }
            ServerMessage::Closing(closing) => {
                return Ok(Then::Closed(closing.code, closing.message));
            }
            ServerMessage::Welcome(_)
            | ServerMessage::Resumed(_)
            | ServerMessage::Ack(_)
            | ServerMessage::Ping(_)
            | ServerMessage::Pong(_) => {
                return Err(Violation::protocol("a message came where it must not"));
            }
        }
        Ok(Then::Nothing)
    }

    /// Ends a request; an answer that nobody asked for changes nothing.
    fn answered(&mut self, id: u64, ended: EndedRaw) {
        if self.said(id).is_some() {
            self.end(id, ended);
        }
    }

    fn told(&mut self, id: u64, text: String) -> Then {
        match self.said(id).and_then(|pending| pending.progress.clone()) {
            Some(sink) => Then::Tell(sink, text),
            None => Then::Nothing,
        }
    }

    fn piece(&mut self, piece: Piece) -> Result<(), Violation> {
        let Piece { id, offset, bytes } = piece;
        let len = bytes.len();
        debug_assert!(len <= REMOTE_PIECE_BYTES_MAX, "the codec has looked");
        let Some(pending) = self.said(id) else {
            return Err(Violation::protocol("content of no request"));
        };
        if !pending.flow.take(offset, len) {
            return Err(Violation::policy("content is out of place or beyond its credit"));
        }
        match &pending.reply {
            Reply::Download(inbox) => inbox.push(bytes),
            Reply::Once(_) if pending.gathered_max < pending.flow.offset() => {
                return Err(Violation::policy("more content than was asked for"));
            }
            Reply::Once(_) => {
                pending.gathered.push(bytes);
                self.used(id, charge(len));
            }
        }
        Ok(())
    }
}

/// Tells a call's listener.
pub(super) fn tell(sink: &ProgressSink, text: String) {
    sink(Progress::Output(text));
}
