//! Hands work to the workspace, and content from one side to the other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use serde::Serialize;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::REMOTE_PROGRESS_BYTES_MAX,
    outcome::{Effect, Failure},
};
use workspace::{
    call::{CallContext, Progress, ProgressSink},
    primitive::{Answer, Download, ExecReport, Request},
    source::Workspace,
};

use crate::{
    connection::{
        charge,
        work::{At, Ending, Work},
    },
    frame::Frame,
    protocol::{
        ValueOf,
        resource::{EntryOf, HeldOf, LineOf, ReportOf, SizeOf, StatOf, WrittenOf},
        write,
    },
};

/// What work told the connection.
pub(super) enum Told {
    /// It ended.
    Ended(u64, Ending),
    /// It ended, and this is to be sent before its last message.
    Content(u64, Bytes, Frame),
    /// A download promised what comes.
    Began(u64, Download),
    /// A download gave its next piece, or its end.
    Piece(u64, Option<Answer<Bytes>>, BoxStream<'static, Answer<Bytes>>),
}

/// What running work says between: progress of calls, pieces that uploads have used up.
#[derive(Default)]
pub(super) struct Notices {
    said: Mutex<Said>,
    pub(super) more: Notify,
}

#[derive(Default)]
pub(super) struct Said {
    pub(super) output: Vec<(u64, String)>,
    output_bytes: usize,
    pub(super) dropped: HashMap<u64, u64>,
    pub(super) used: Vec<(u64, u64)>,
}

impl Notices {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all that was said.
    pub(super) fn take(&self) -> Said {
        std::mem::take(&mut *self.said())
    }

    fn output(&self, id: u64, text: String) {
        let mut said = self.said();
        let len = text.len();
        let gap = said.dropped.contains_key(&id);
        if gap || said.output_bytes + len > REMOTE_PROGRESS_BYTES_MAX {
            *said.dropped.entry(id).or_default() += len as u64;
        } else {
            said.output_bytes += len;
            said.output.push((id, text));
        }
        drop(said);
        self.more.notify_one();
    }

    fn used(&self, id: u64, charge: u64) {
        self.said().used.push((id, charge));
        self.more.notify_one();
    }
}

/// What an upload is fed.
pub(super) enum Fed {
    /// A piece.
    Piece(Bytes),
    /// Nothing more.
    Finished,
}

/// Pieces that may wait for an upload; credit never lets so many come.
pub(super) const N_FED: usize = 1_024;

/// The content of an upload, as the workspace takes it.
fn fed(
    id: u64,
    receiver: mpsc::Receiver<Fed>,
    notices: Arc<Notices>,
) -> BoxStream<'static, Answer<Bytes>> {
    let next = move |state: Option<(mpsc::Receiver<Fed>, Arc<Notices>)>| async move {
        let (mut receiver, notices) = state?;
        match receiver.recv().await {
            Some(Fed::Piece(bytes)) => {
                notices.used(id, charge(bytes.len()));
                Some((Ok(bytes), Some((receiver, notices))))
            }
            Some(Fed::Finished) => None,
            None => {
                let message = "the client left before all of the upload had come";
                Some((Err(Failure::not_started("connection_lost", message)), None))
            }
        }
    };
    stream::unfold(Some((receiver, notices)), next).boxed()
}

fn valued<A: Send + 'static, T: Serialize + 'static>(
    id: u64,
    answered: BoxFuture<'static, Answer<A>>,
    shape: fn(A) -> T,
) -> BoxFuture<'static, Told> {
    Box::pin(async move {
        let ending = match answered.await {
            Ok(answer) => Ending::Value(write(&ValueOf { id, value: shape(answer) })),
            Err(failure) => Ending::Failed(failure),
        };
        Told::Ended(id, ending)
    })
}

fn content<A: Send + 'static>(
    id: u64,
    answered: BoxFuture<'static, Answer<A>>,
    shape: fn(u64, A) -> (Bytes, Frame),
) -> BoxFuture<'static, Told> {
    Box::pin(async move {
        match answered.await {
            Ok(answer) => {
                let (bytes, last) = shape(id, answer);
                Told::Content(id, bytes, last)
            }
            Err(failure) => Told::Ended(id, Ending::Failed(failure)),
        }
    })
}

fn whole(id: u64, bytes: Bytes) -> (Bytes, Frame) {
    let size = bytes.len() as u64;
    (bytes, write(&ValueOf { id, value: SizeOf { size } }))
}

fn report(id: u64, report: ExecReport) -> (Bytes, Frame) {
    let ExecReport { exit_code, signal, output, truncated } = report;
    let value = ReportOf { exit_code, signal, size: output.len() as u64, truncated };
    (output, write(&ValueOf { id, value }))
}

/// Runs an upload beside the connection, so that one piece is written while the next one is read.
fn beside(id: u64, work: BoxFuture<'static, Told>) -> BoxFuture<'static, Told> {
    let task = tokio::spawn(work);
    Box::pin(async move {
        task.await.unwrap_or_else(|_lost| {
            let message = "the upload ended unexpectedly";
            let failure = Failure::new("internal", Effect::Indeterminate, message);
            Told::Ended(id, Ending::Failed(failure))
        })
    })
}

/// What work needs besides what it is.
pub(super) struct Hands {
    pub(super) cancel: CancellationToken,
    pub(super) notices: Arc<Notices>,
    /// Where an upload's content comes from.
    pub(super) fed: Option<mpsc::Receiver<Fed>>,
}

/// Begins work at once; the future only waits for its end.
pub(super) fn start(
    workspace: &Arc<dyn Workspace>,
    id: u64,
    work: Work,
    hands: Hands,
) -> BoxFuture<'static, Told> {
    let Hands { cancel, notices, fed: receiver } = hands;
    let at = |at: At| Request { path: at.path, expected: at.workspace, cancel: cancel.clone() };
    let unit = |()| ();
    match work {
        Work::Call(call) => {
            let progress: ProgressSink =
                Arc::new(move |Progress::Output(text)| notices.output(id, text));
            let ended = workspace.call(*call, CallContext { cancel, progress });
            Box::pin(async move { Told::Ended(id, Ending::Outcome(Box::new(ended.await))) })
        }
        Work::EndRun(run) => {
            let ended = workspace.end_run(&run);
            valued(id, Box::pin(async move { Ok(ended.await) }), |lines| lines)
        }
        Work::Access(path, access) => valued(id, workspace.access(at(path), access), unit),
        Work::Read(path, bytes_max) => content(id, workspace.read(at(path), bytes_max), whole),
        Work::Write(path, bytes) => valued(id, workspace.write(at(path), bytes), WrittenOf::from),
        Work::Mkdir(path, parents) => valued(id, workspace.mkdir(at(path), parents), unit),
        Work::Stat(path) => valued(id, workspace.stat(at(path)), StatOf::from),
        Work::Readdir(path) => valued(id, workspace.readdir(at(path)), |entries| {
            entries.into_iter().map(EntryOf::from).collect::<Vec<_>>()
        }),
        Work::Glob(path, pattern, limit) => {
            valued(id, workspace.glob(at(path), pattern, limit), |paths| paths)
        }
        Work::Grep(path, pattern, limit) => {
            valued(id, workspace.grep(at(path), pattern, limit), |lines| {
                lines.into_iter().map(LineOf::from).collect::<Vec<_>>()
            })
        }
        Work::ImageMime(path) => {
            valued(id, workspace.detect_image_mime(at(path)), |media_type| media_type)
        }
        Work::Exec(path, what) => match workspace.exec() {
            Some(exec) => content(id, exec.exec(at(path), what), report),
            None => {
                let message = "this workspace does not have that operation";
                let failure = Failure::not_started("method_not_supported", message);
                Box::pin(async move { Told::Ended(id, Ending::Failed(failure)) })
            }
        },
        Work::Upload(path, promise) => {
            let bytes = match receiver {
                Some(receiver) => fed(id, receiver, notices),
                None => stream::empty().boxed(),
            };
            let sent = valued(id, workspace.upload(at(path), promise, bytes), WrittenOf::from);
            beside(id, sent)
        }
        Work::Held(path, shape) => {
            valued(id, workspace.held(at(path), shape), |held| held.map(HeldOf::from))
        }
        Work::Download(path, wanted) => {
            let opened = workspace.download(at(path), wanted);
            Box::pin(async move {
                match opened.await {
                    Ok(download) => Told::Began(id, download),
                    Err(failure) => Told::Ended(id, Ending::Failed(failure)),
                }
            })
        }
    }
}

/// Asks a download for its next piece.
pub(super) fn pull(
    id: u64,
    mut bytes: BoxStream<'static, Answer<Bytes>>,
) -> BoxFuture<'static, Told> {
    Box::pin(async move {
        let piece = bytes.next().await;
        Told::Piece(id, piece, bytes)
    })
}
