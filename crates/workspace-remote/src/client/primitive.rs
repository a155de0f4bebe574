//! The primitive operations of a remote workspace.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use serde::de::DeserializeOwned;
use vocab::{ids::WorkspaceId, limits::WRITE_BYTES_MAX, outcome::Failure};
use workspace::{
    primitive::{
        Access, Answer, DirEntry, Download, Exec, ExecReport, ExecRequest, HeldUpload, LineMatch,
        Request, Shape, Stat, Upload, Wanted, Written,
    },
    source::Workspace,
};

use super::{
    RemoteWorkspace,
    pending::{Ended, Lane, Pending, Sending},
    transfer, unreadable,
};
use crate::{
    connection::Outflow,
    frame::Frame,
    protocol::{
        self, AccessFile, Glob, Grep, ImageMime, Mkdir, ReadFile, Readdir, WriteFile,
        resource::{EntryOf, HeldOf, LineOf, ReportOf, SizeOf, StatOf, WrittenOf},
        write,
    },
};

/// Where a primitive acts, as messages have it.
pub(super) struct At {
    pub(super) id: u64,
    pub(super) workspace: WorkspaceId,
    pub(super) path: String,
}

pub(super) fn aborted() -> Failure {
    Failure::not_started("aborted", "stopped because the call was cancelled")
}

pub(super) fn ready<T: Send + 'static>(failure: Failure) -> BoxFuture<'static, Answer<T>> {
    Box::pin(std::future::ready(Err(failure)))
}

fn same(pending: Pending) -> Pending {
    pending
}

impl RemoteWorkspace {
    /// Asks at once; the future only waits.
    fn primitive<T: DeserializeOwned + Send + 'static, A: Send + 'static>(
        &self,
        at: Request,
        opening: impl FnOnce(At) -> Frame,
        shape: impl FnOnce(Pending) -> Pending,
        answer: fn(T, Bytes) -> Answer<A>,
    ) -> BoxFuture<'static, Answer<A>> {
        let Request { path, expected: workspace, cancel } = at;
        if cancel.is_cancelled() {
            return ready(aborted());
        }
        let opening = |id| opening(At { id, workspace, path });
        let asked = match self.0.ask(Lane::Calls, opening, shape) {
            Ok(asked) => asked,
            Err(failure) => return ready(failure),
        };
        let link = Arc::clone(&self.0);
        Box::pin(async move {
            match link.ended(asked, &cancel).await {
                Ended::Value(value, content) => match serde_json::from_str(value.get()) {
                    Ok(value) => answer(value, content),
                    Err(_shape) => Err(unreadable()),
                },
                Ended::Outcome(_) => Err(unreadable()),
                Ended::Failed(failure) => Err(failure),
            }
        })
    }
}

fn unit((): (), _: Bytes) -> Answer<()> {
    Ok(())
}

impl Workspace for RemoteWorkspace {
    fn id(&self) -> WorkspaceId {
        self.0.place().id.clone()
    }

    fn root(&self) -> String {
        self.0.place().root.clone()
    }

    fn access(&self, at: Request, access: Access) -> BoxFuture<'static, Answer<()>> {
        let opening = |At { id, workspace, path }| {
            write(&AccessFile { id, workspace, path, access: access.into() })
        };
        self.primitive(at, opening, same, unit)
    }

    fn read(&self, at: Request, bytes_max: u64) -> BoxFuture<'static, Answer<Bytes>> {
        let opening =
            |At { id, workspace, path }| write(&ReadFile { id, workspace, path, bytes_max });
        let shape = |mut pending: Pending| {
            pending.gathered_max = bytes_max;
            pending
        };
        self.primitive(at, opening, shape, |size: SizeOf, content| {
            if size.size == content.len() as u64 { Ok(content) } else { Err(unreadable()) }
        })
    }

    fn write(&self, at: Request, content: Bytes) -> BoxFuture<'static, Answer<Written>> {
        if content.len() > WRITE_BYTES_MAX {
            let message = "the content is more than a write carries";
            return ready(Failure::not_started("too_large", message).with_hint("upload it"));
        }
        let size = content.len() as u64;
        let opening = |At { id, workspace, path }| write(&WriteFile { id, workspace, path, size });
        let shape = |mut pending: Pending| {
            if !content.is_empty() {
                pending.sending = Sending::Write { rest: content, flow: Outflow::default() };
            }
            pending.changing()
        };
        self.primitive(at, opening, shape, |written: WrittenOf, _| Ok(written.into()))
    }

    fn mkdir(&self, at: Request, parents: bool) -> BoxFuture<'static, Answer<()>> {
        let opening = |At { id, workspace, path }| write(&Mkdir { id, workspace, path, parents });
        self.primitive(at, opening, Pending::changing, unit)
    }

    fn stat(&self, at: Request) -> BoxFuture<'static, Answer<Stat>> {
        let opening = |At { id, workspace, path }| write(&protocol::Stat { id, workspace, path });
        self.primitive(at, opening, same, |stat: StatOf, _| Ok(stat.into()))
    }

    fn readdir(&self, at: Request) -> BoxFuture<'static, Answer<Vec<DirEntry>>> {
        let opening = |At { id, workspace, path }| write(&Readdir { id, workspace, path });
        self.primitive(at, opening, same, |entries: Vec<EntryOf>, _| {
            Ok(entries.into_iter().map(DirEntry::from).collect())
        })
    }

    fn glob(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<String>>> {
        let opening = |At { id, workspace, path }| {
            write(&Glob { id, workspace, path, pattern, limit: limit as u64 })
        };
        self.primitive(at, opening, same, |paths: Vec<String>, _| Ok(paths))
    }

    fn grep(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<LineMatch>>> {
        let opening = |At { id, workspace, path }| {
            write(&Grep { id, workspace, path, pattern, limit: limit as u64 })
        };
        self.primitive(at, opening, same, |lines: Vec<LineOf>, _| {
            Ok(lines.into_iter().map(LineMatch::from).collect())
        })
    }

    fn detect_image_mime(&self, at: Request) -> BoxFuture<'static, Answer<Option<String>>> {
        let opening = |At { id, workspace, path }| write(&ImageMime { id, workspace, path });
        self.primitive(at, opening, same, |media_type: Option<String>, _| Ok(media_type))
    }

    fn exec(&self) -> Option<Arc<dyn Exec>> {
        let granted = self.0.core().exec;
        granted.then(|| Arc::new(self.clone()) as Arc<dyn Exec>)
    }

    fn upload(
        &self,
        at: Request,
        promise: Upload,
        bytes: BoxStream<'static, Answer<Bytes>>,
    ) -> BoxFuture<'static, Answer<Written>> {
        transfer::upload(&self.0, at, promise, bytes)
    }

    fn held(&self, at: Request, shape: Shape) -> BoxFuture<'static, Answer<Option<HeldUpload>>> {
        let opening = |At { id, workspace, path }| {
            write(&protocol::HeldUpload { id, workspace, path, shape: shape.into() })
        };
        self.primitive(at, opening, same, |held: Option<HeldOf>, _| Ok(held.map(Into::into)))
    }

    fn download(&self, at: Request, wanted: Wanted) -> BoxFuture<'static, Answer<Download>> {
        transfer::download(&self.0, at, wanted)
    }
}

impl Exec for RemoteWorkspace {
    fn exec(&self, request: Request, what: ExecRequest) -> BoxFuture<'static, Answer<ExecReport>> {
        let ExecRequest { command, timeout_ms } = what;
        let opening = |At { id, workspace, path }| {
            write(&protocol::Exec { id, workspace, path, command, timeout_ms })
        };
        let shape = |mut pending: Pending| {
            pending.gathered_max = WRITE_BYTES_MAX as u64;
            pending.changing()
        };
        let ended = self.primitive(request, opening, shape, |report: ReportOf, output| {
            let ReportOf { exit_code, signal, size, truncated } = report;
            if size != output.len() as u64 {
                return Err(unreadable());
            }
            Ok(ExecReport { exit_code, signal, output, truncated })
        });
        // A task of its own: cancelling must reach the program also when nobody polls the answer.
        let task = self.0.runtime.spawn(ended);
        Box::pin(async move { task.await.unwrap_or_else(|_lost| Err(unreadable())) })
    }
}
