//! A workspace whose `mkdir` waits until it is let go, for tests of what happens meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use tokio::sync::Semaphore;
use vocab::{
    ids::{RunId, WorkspaceId},
    outcome::{Failure, Outcome},
};
use workspace::{
    call::{Call, CallContext},
    catalog::Catalog,
    fake::Fake,
    primitive::{
        Access, Answer, DirEntry, Download, Exec, HeldUpload, LineMatch, Request, Shape, Stat,
        Upload, Wanted, Written,
    },
    source::{ToolSource, Workspace},
};

/// A fake that is slow at one thing. Clones are the same.
#[derive(Clone)]
pub(super) struct Slow {
    inner: Fake,
    may_go: Arc<Semaphore>,
    begun: Arc<Semaphore>,
    heeds: bool,
}

impl Default for Slow {
    fn default() -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self { inner: Fake::default(), may_go: none(), begun: none(), heeds: true }
    }
}

impl Slow {
    /// One that does not heed cancellation.
    pub(super) fn stubborn() -> Self {
        Self { heeds: false, ..Self::default() }
    }

    /// Lets all go, from now on.
    pub(super) fn go(&self) {
        self.may_go.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Waits until one more has begun.
    pub(super) async fn waits(&self) {
        self.begun.acquire().await.unwrap().forget();
    }
}

impl ToolSource for Slow {
    fn catalog(&self) -> Arc<Catalog> {
        self.inner.catalog()
    }

    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome> {
        self.inner.call(call, context)
    }

    fn end_run(&self, run: &RunId) -> BoxFuture<'static, Vec<String>> {
        self.inner.end_run(run)
    }
}

impl Workspace for Slow {
    fn id(&self) -> WorkspaceId {
        self.inner.id()
    }

    fn root(&self) -> String {
        self.inner.root()
    }

    fn access(&self, at: Request, access: Access) -> BoxFuture<'static, Answer<()>> {
        self.inner.access(at, access)
    }

    fn read(&self, at: Request, bytes_max: u64) -> BoxFuture<'static, Answer<Bytes>> {
        self.inner.read(at, bytes_max)
    }

    fn write(&self, at: Request, content: Bytes) -> BoxFuture<'static, Answer<Written>> {
        self.inner.write(at, content)
    }

    fn mkdir(&self, at: Request, parents: bool) -> BoxFuture<'static, Answer<()>> {
        let slow = self.clone();
        Box::pin(async move {
            slow.begun.add_permits(1);
            let cancelled = async {
                if slow.heeds {
                    at.cancel.cancelled().await;
                } else {
                    std::future::pending().await
                }
            };
            tokio::select! {
                permit = slow.may_go.acquire() => permit.unwrap().forget(),
                () = cancelled => return Err(Failure::not_started("aborted", "stopped")),
            }
            slow.inner.mkdir(at, parents).await
        })
    }

    fn stat(&self, at: Request) -> BoxFuture<'static, Answer<Stat>> {
        self.inner.stat(at)
    }

    fn readdir(&self, at: Request) -> BoxFuture<'static, Answer<Vec<DirEntry>>> {
        self.inner.readdir(at)
    }

    fn glob(
        &self,
        at: Request,
        glob: String,
        max: usize,
    ) -> BoxFuture<'static, Answer<Vec<String>>> {
        self.inner.glob(at, glob, max)
    }

    fn grep(
        &self,
        at: Request,
        pattern: String,
        max: usize,
    ) -> BoxFuture<'static, Answer<Vec<LineMatch>>> {
        self.inner.grep(at, pattern, max)
    }

    fn detect_image_mime(&self, at: Request) -> BoxFuture<'static, Answer<Option<String>>> {
        self.inner.detect_image_mime(at)
    }

    fn exec(&self) -> Option<Arc<dyn Exec>> {
        None
    }

    fn upload(
        &self,
        at: Request,
        promise: Upload,
        bytes: BoxStream<'static, Answer<Bytes>>,
    ) -> BoxFuture<'static, Answer<Written>> {
        self.inner.upload(at, promise, bytes)
    }

    fn held(&self, at: Request, shape: Shape) -> BoxFuture<'static, Answer<Option<HeldUpload>>> {
        self.inner.held(at, shape)
    }

    fn download(&self, at: Request, wanted: Wanted) -> BoxFuture<'static, Answer<Download>> {
        self.inner.download(at, wanted)
    }
}
