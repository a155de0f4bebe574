//! What the handles of a remote workspace and its driver share.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU8, Ordering},
};

use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
};
use tokio_util::sync::CancellationToken;
use vocab::outcome::{Effect, Failure};

use super::{
    Connected,
    core::Core,
    pending::{Ended, Lane, Pending, Reply},
};
use crate::{
    codec::{Bounds, scan},
    frame::Frame,
    protocol::hello::Place,
};

/// The shared part of a remote workspace.
pub(super) struct Link {
    core: Mutex<Core>,
    place: Place,
    connected: AtomicU8,
    /// Something is to be said.
    pub(super) wake: Notify,
    pub(super) closing: CancellationToken,
    pub(super) runtime: Handle,
}

/// A request that was asked, until it ends.
pub(super) struct Asked {
    pub(super) id: u64,
    pub(super) ended: oneshot::Receiver<Ended>,
}

impl Link {
    pub(super) fn new(core: Core, place: Place) -> Self {
        Self {
            core: Mutex::new(core),
            place,
            connected: AtomicU8::new(Connected::Yes as u8),
            wake: Notify::new(),
            closing: CancellationToken::new(),
            runtime: Handle::current(),
        }
    }

    pub(super) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn connected(&self) -> Connected {
        match self.connected.load(Ordering::Relaxed) {
            yes if yes == Connected::Yes as u8 => Connected::Yes,
            resuming if resuming == Connected::Resuming as u8 => Connected::Resuming,
            _ => Connected::No,
        }
    }

    pub(super) fn set_connected(&self, connected: Connected) {
        self.connected.store(connected as u8, Ordering::Relaxed);
    }

    pub(super) fn close(&self) {
        self.core().closed = true;
        self.closing.cancel();
    }

    /// Asks for something. It is in the order of all that is asked from here on.
    pub(super) fn ask(
        &self,
        lane: Lane,
        opening: impl FnOnce(u64) -> Frame,
        shape: impl FnOnce(Pending) -> Pending,
    ) -> Result<Asked, Failure> {
        let (reply, ended) = oneshot::channel();
        let id = self.ask_for(lane, Reply::Once(reply), opening, shape)?;
        Ok(Asked { id, ended })
    }

    /// The same for whoever hears of the end in another way.
    pub(super) fn ask_for(
        &self,
        lane: Lane,
        reply: Reply,
        opening: impl FnOnce(u64) -> Frame,
        shape: impl FnOnce(Pending) -> Pending,
    ) -> Result<u64, Failure> {
        let id = self.core().next_id();
        let opening = opening(id);
        if let Frame::Text(text) = &opening
            && let Err(violation) = scan(text, &Bounds::usual())
        {
            let message = format!("the request is too large for the wire: {violation}");
            return Err(Failure::not_started("request_too_large", message));
        }
        self.core().ask(id, shape(Pending::new(opening, lane, reply)));
        self.wake.notify_one();
        Ok(id)
    }

    /// Waits for the end of a request; a cancelled one is ended early and waited for all the same.
    pub(super) async fn ended(&self, asked: Asked, cancel: &CancellationToken) -> Ended {
        let Asked { id, mut ended } = asked;
        let lost = |_| {
            let message = "the workspace is no longer driven";
            Ended::Failed(Failure::new("connection_lost", Effect::Indeterminate, message))
        };
        tokio::select! {
            biased;
            ended = &mut ended => return ended.unwrap_or_else(lost),
            () = cancel.cancelled() => {}
        }
        self.cancel(id);
        ended.await.unwrap_or_else(lost)
    }

    pub(super) fn cancel(&self, id: u64) {
        self.core().cancel(id);
        self.wake.notify_one();
    }
}

/// Cancels a request that nobody takes any further, unless it ended.
pub(super) struct Guard {
    pub(super) link: Arc<Link>,
    pub(super) id: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // What has ended is unknown by now.
        self.link.cancel(self.id);
    }
}
