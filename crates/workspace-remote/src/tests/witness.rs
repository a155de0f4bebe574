//! A workspace that writes down what it was asked, so that a repetition is seen.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use vocab::{
    ids::{RunId, WorkspaceId},
    outcome::Outcome,
};
use workspace::{
    call::{Call, CallContext},
    catalog::Catalog,
    primitive::{
        Access, Answer, DirEntry, Download, Exec, ExecReport, ExecRequest, HeldUpload, LineMatch,
        Request, Shape, Stat, Upload, Wanted, Written,
    },
    source::{ToolSource, Workspace},
};

/// Asks another workspace, and remembers that.
#[derive(Clone)]
pub(super) struct Witness {
    inner: Arc<dyn Workspace>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Witness {
    pub(super) fn new(inner: Arc<dyn Workspace>) -> Self {
        Self { inner, seen: Arc::default() }
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    fn saw(&self, what: &str, of: &str) {
        self.seen.lock().unwrap().push(format!("{what} {of}"));
    }
}

impl ToolSource for Witness {
    fn catalog(&self) -> Arc<Catalog> {
        self.inner.catalog()
    }

    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome> {
        self.saw("call", &call.tool);
        self.inner.call(call, context)
    }

    fn end_run(&self, run: &RunId) -> BoxFuture<'static, Vec<String>> {
        self.saw("end_run", "");
        self.inner.end_run(run)
    }
}

impl Workspace for Witness {
    fn id(&self) -> WorkspaceId {
        self.inner.id()
    }

    fn root(&self) -> String {
        self.inner.root()
    }

    fn access(&self, at: Request, access: Access) -> BoxFuture<'static, Answer<()>> {
        self.saw("access", &at.path);
        self.inner.access(at, access)
    }

    fn read(&self, at: Request, bytes_max: u64) -> BoxFuture<'static, Answer<Bytes>> {
        self.saw("read", &at.path);
        self.inner.read(at, bytes_max)
    }

    fn write(&self, at: Request, content: Bytes) -> BoxFuture<'static, Answer<Written>> {
        self.saw("write", &at.path);
        self.inner.write(at, content)
    }

    fn mkdir(&self, at: Request, parents: bool) -> BoxFuture<'static, Answer<()>> {
        self.saw("mkdir", &at.path);
        self.inner.mkdir(at, parents)
    }

    fn stat(&self, at: Request) -> BoxFuture<'static, Answer<Stat>> {
        self.saw("stat", &at.path);
        self.inner.stat(at)
    }

    fn readdir(&self, at: Request) -> BoxFuture<'static, Answer<Vec<DirEntry>>> {
        self.saw("readdir", &at.path);
        self.inner.readdir(at)
    }

    fn glob(
        &self,
        at: Request,
        glob: String,
        max: usize,
    ) -> BoxFuture<'static, Answer<Vec<String>>> {
        self.saw("glob", &at.path);
        self.inner.glob(at, glob, max)
    }

    fn grep(
        &self,
        at: Request,
        pattern: String,
        max: usize,
    ) -> BoxFuture<'static, Answer<Vec<LineMatch>>> {
        self.saw("grep", &at.path);
        self.inner.grep(at, pattern, max)
    }

    fn detect_image_mime(&self, at: Request) -> BoxFuture<'static, Answer<Option<String>>> {
        self.saw("image_mime", &at.path);
        self.inner.detect_image_mime(at)
    }

    fn exec(&self) -> Option<Arc<dyn Exec>> {
        self.inner.exec().map(|_| Arc::new(self.clone()) as Arc<dyn Exec>)
    }

    fn upload(
        &self,
        at: Request,
        promise: Upload,
        bytes: BoxStream<'static, Answer<Bytes>>,
    ) -> BoxFuture<'static, Answer<Written>> {
        self.saw("upload", &at.path);
        self.inner.upload(at, promise, bytes)
    }

    fn held(&self, at: Request, shape: Shape) -> BoxFuture<'static, Answer<Option<HeldUpload>>> {
        self.saw("held", &at.path);
        self.inner.held(at, shape)
    }

    fn download(&self, at: Request, wanted: Wanted) -> BoxFuture<'static, Answer<Download>> {
        self.saw("download", &at.path);
        self.inner.download(at, wanted)
    }
}

impl Exec for Witness {
    fn exec(&self, request: Request, what: ExecRequest) -> BoxFuture<'static, Answer<ExecReport>> {
        self.saw("exec", &what.command);
        self.inner.exec().unwrap().exec(request, what)
    }
}
