//! Keys as they come, read on a thread of their own, which can be stopped: while another program has the
//! terminal, nobody else reads from it.
//!
//! What they mean is not known here.

use std::{
    io,
    os::fd::OwnedFd,
    thread::{self, JoinHandle},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    stdio::stdin,
};
use tokio::sync::mpsc::{self, Receiver, Sender};
use vocab::limits::{VIEW_ESCAPE_MS, VIEW_TOLD_MAX};

use crate::{input::Parser, msg::Msg};

/// Bytes of one read.
const READ_BYTES: usize = 4_096;

/// The keys of the terminal. Dropping it stops the thread.
#[derive(Debug)]
pub(crate) struct Keys {
    told: Receiver<Msg>,
    /// Its other end says by ending that reading is over.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// Begins to read.
    ///
    /// # Errors
    /// When there are no threads or pipes left.
    pub(crate) fn read() -> io::Result<Self> {
        let (sender, told) = mpsc::channel(VIEW_TOLD_MAX);
        let (ended, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let thread = thread::Builder::new().name("keys".to_owned());
        let thread = thread.spawn(move || read(&ended, &sender))?;
        Ok(Self { told, stop: Some(stop), thread: Some(thread) })
    }

    /// Waits for the next key or pasted text; none once the terminal says nothing any more.
    pub(crate) async fn next(&mut self) -> Option<Msg> {
        self.told.recv().await
    }

    /// Forgets what was typed and not taken yet.
    pub(crate) fn forget(&mut self) {
        super::forget_typed();
        while self.told.try_recv().is_ok() {}
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A thread that waits for room would wait for ever.
        self.told.close();
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Reads until it is stopped, the terminal is gone, or nobody listens.
fn read(ended: &OwnedFd, sender: &Sender<Msg>) {
    let (mut parser, mut bytes) = (Parser::default(), [0; READ_BYTES]);
    loop {
        let mut out = Vec::new();
        let mut fds =
            [PollFd::from_borrowed_fd(stdin(), PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(VIEW_ESCAPE_MS * 1_000_000).unwrap_or(i64::MAX),
        };
        match poll(&mut fds, parser.is_waiting().then_some(&pause)) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(0) => parser.lapse(&mut out),
            Ok(_) if !fds[1].revents().is_empty() => return,
            Ok(_) => match rustix::io::read(stdin(), &mut bytes) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                Ok(0) | Err(_) => return,
                Ok(n_bytes) => parser.feed(&bytes[..n_bytes], &mut out),
            },
        }
        for msg in out {
            if sender.blocking_send(msg).is_err() {
                return;
            }
        }
    }
}
