//! Files that go to a remote workspace and come from it, in pieces.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vocab::{limits::TRANSFER_PIECE_BYTES, outcome::Failure};
use workspace::{
    primitive::{Answer, Download, Request, Shape, Upload, Wanted, Written},
    tree::{NoSink, Reader},
};

use super::{
    link::{Asked, Guard, Link},
    pending::{Ended, Inbox, Lane, Next, Pending, Promised, Reply, Sending},
    primitive::{aborted, ready},
    unreadable,
};
use crate::{
    connection::{Outflow, charge},
    offer::hex,
    protocol::{
        self,
        resource::{PrefixOf, SentOf, WrittenOf},
        write,
    },
};

pub(super) fn upload(
    link: &Arc<Link>,
    at: Request,
    promise: Upload,
    bytes: BoxStream<'static, Answer<Bytes>>,
) -> BoxFuture<'static, Answer<Written>> {
    let Request { path, expected: workspace, cancel } = at;
    if cancel.is_cancelled() {
        return ready(aborted());
    }
    let opening = |id| {
        let Upload { shape, size, sha256, overwrite, keep, from } = promise;
        let shape = shape.into();
        write(&protocol::Upload { id, workspace, path, shape, size, sha256, overwrite, keep, from })
    };
    let moved = Arc::new(Notify::new());
    let shape = |mut pending: Pending| {
        let moved = Arc::clone(&moved);
        pending.sending = Sending::Upload { flow: Outflow::default(), moved };
        pending.changing()
    };
    let Asked { id, mut ended } = match link.ask(Lane::Uploads, opening, shape) {
        Ok(asked) => asked,
        Err(failure) => return ready(failure),
    };
    // Nobody who drops the future leaves half a file and a lane behind.
    let guard = Guard { link: Arc::clone(link), id };
    Box::pin(async move {
        let link = Arc::clone(&guard.link);
        let sent = tokio::select! {
            biased;
            // The server may say no before all has gone.
            early = &mut ended => return written(early.unwrap_or_else(|_| lost())),
            () = cancel.cancelled() => Err(aborted()),
            sent = send_all(&link, id, bytes, &moved) => sent,
        };
        if sent.is_err() {
            link.cancel(id);
        }
        let asked = Asked { id, ended };
        let answer = written(link.ended(asked, &cancel).await);
        match sent {
            Ok(()) => answer,
            // Our own source failed: that is why, unless the cancellation came too late.
            Err(why) => {
                if answer.is_ok() {
                    answer
                } else {
                    Err(why)
                }
            }
        }
    })
}

fn lost() -> Ended {
    Ended::Failed(unreadable())
}

fn written(ended: Ended) -> Answer<Written> {
    match ended {
        Ended::Value(value, _) => match serde_json::from_str::<WrittenOf>(value.get()) {
            Ok(written) => Ok(written.into()),
            Err(_shape) => Err(unreadable()),
        },
        Ended::Outcome(_) => Err(unreadable()),
        Ended::Failed(failure) => Err(failure),
    }
}

async fn send_all(
    link: &Link,
    id: u64,
    mut bytes: BoxStream<'static, Answer<Bytes>>,
    moved: &Notify,
) -> Answer<()> {
    while let Some(piece) = bytes.next().await {
        let mut rest = piece?;
        while !rest.is_empty() {
            let mut piece = rest.split_to(rest.len().min(TRANSFER_PIECE_BYTES));
            loop {
                let back = link.core().send_piece(id, piece);
                let Some(back) = back else { break };
                piece = back;
                moved.notified().await;
            }
            link.wake.notify_one();
        }
    }
    while !link.core().finish(id) {
        moved.notified().await;
    }
    link.wake.notify_one();
    Ok(())
}

pub(super) fn download(
    link: &Arc<Link>,
    at: Request,
    wanted: Wanted,
) -> BoxFuture<'static, Answer<Download>> {
    let Request { path, expected: workspace, cancel } = at;
    if cancel.is_cancelled() {
        return ready(aborted());
    }
    let shape = wanted.shape;
    let opening = |id| {
        let after = wanted.after.clone().map(PrefixOf::from);
        write(&protocol::Download { id, workspace, path, shape: shape.into(), after })
    };
    let inbox = Arc::new(Inbox::default());
    let reply = Reply::Download(Arc::clone(&inbox));
    let id = match link.ask_for(Lane::Downloads, reply, opening, |pending| pending) {
        Ok(id) => id,
        Err(failure) => return ready(failure),
    };
    let guard = Guard { link: Arc::clone(link), id };
    Box::pin(async move {
        let promise = tokio::select! {
            biased;
            promise = inbox.promised() => promise?,
            () = cancel.cancelled() => {
                guard.link.cancel(id);
                inbox.promised().await?
            }
        };
        let Promised { sent, from } = promise;
        let there = wanted.after.map_or(0, |prefix| prefix.size);
        if sent.size < from || (from != 0 && from != there) {
            return Err(mismatch("it goes on where nothing is"));
        }
        let SentOf { size, sha256 } = sent.clone();
        let check = match shape {
            // Of a file that goes on the beginning is not here, and its receiver checks the whole.
            Shape::File if from == 0 => Check::File(Sha256::new()),
            Shape::Tree if from == 0 => Check::Tree(Box::new(Reader::new(size, sha256.clone()))),
            Shape::File | Shape::Tree => Check::Rest,
        };
        let arriving = Arriving { inbox, guard, cancel, promise: sent, check, n_come: from };
        let bytes = stream::unfold(Some(arriving), next).boxed();
        Ok(Download { size, sha256, from, bytes })
    })
}

/// What vouches for the bytes.
enum Check {
    File(Sha256),
    Tree(Box<Reader>),
    Rest,
}

/// A download on its way.
struct Arriving {
    inbox: Arc<Inbox>,
    guard: Guard,
    cancel: CancellationToken,
    promise: SentOf,
    check: Check,
    n_come: u64,
}

type Step = Option<(Answer<Bytes>, Option<Arriving>)>;

/// Gives the next piece. The last one is given once all of it is what was promised.
async fn next(arriving: Option<Arriving>) -> Step {
    let mut arriving = arriving?;
    match arriving.step().await {
        Ok(Some(piece)) => {
            let done = arriving.n_come == arriving.promise.size;
            Some((Ok(piece), Some(arriving).filter(|_| !done)))
        }
        Ok(None) => None,
        Err(failure) => Some((Err(failure), None)),
    }
}

fn mismatch(message: &str) -> Failure {
    Failure::not_started("transfer_mismatch", message).with_hint("download the file again")
}

impl Arriving {
    async fn wait(&self) -> Next {
        tokio::select! {
            biased;
            next = self.inbox.next() => return next,
            () = self.cancel.cancelled() => {}
        }
        self.guard.link.cancel(self.guard.id);
        self.inbox.next().await
    }

    async fn step(&mut self) -> Answer<Option<Bytes>> {
        let piece = match self.wait().await {
            Next::Piece(piece) => piece,
            Next::Ended(ended) => {
                self.check(&ended?)?;
                return Ok(None);
            }
        };
        match &mut self.check {
            Check::File(hasher) => hasher.update(&piece),
            Check::Tree(reader) => reader.feed(&piece, &mut NoSink)?,
            Check::Rest => {}
        }
        self.n_come += piece.len() as u64;
        if self.promise.size < self.n_come {
            return Err(mismatch("more bytes came than were promised"));
        }
        if self.n_come < self.promise.size {
            let mut core = self.guard.link.core();
            core.used(self.guard.id, charge(piece.len()));
            drop(core);
            self.guard.link.wake.notify_one();
            return Ok(Some(piece));
        }
        match self.wait().await {
            Next::Ended(ended) => self.check(&ended?)?,
            Next::Piece(_) => return Err(mismatch("more bytes came than were promised")),
        }
        Ok(Some(piece))
    }

    fn check(&self, sent: &SentOf) -> Answer<()> {
        let is_right = match &self.check {
            Check::File(hasher) => hex(&hasher.clone().finalize()) == self.promise.sha256,
            Check::Tree(reader) => reader.whole().is_some(),
            Check::Rest => true,
        };
        if self.n_come != self.promise.size || !is_right {
            return Err(mismatch("what came is not what was promised"));
        }
        if *sent != self.promise {
            return Err(mismatch("what was sent is not what was promised"));
        }
        Ok(())
    }
}
