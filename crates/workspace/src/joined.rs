//! Two sources of tools as one: a workspace, and what else offers tools for its files.
//!
//! Of two tools with one name the first source's stays. The generation is the sum of both, so that it rises
//! with every change of either.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{
    future::{BoxFuture, join},
    stream::BoxStream,
};
use vocab::{
    ids::{RunId, WorkspaceId},
    outcome::{Failure, Outcome},
};

use crate::{
    call::{Call, CallContext},
    catalog::Catalog,
    primitive::{
        Access, Answer, DirEntry, Download, Exec, HeldUpload, LineMatch, Request, Shape, Stat,
        Upload, Wanted, Written,
    },
    source::{ToolSource, Workspace},
};

/// Two sources as one.
#[derive(Debug)]
pub struct Joined<A: ?Sized, B: ?Sized> {
    first: Arc<A>,
    second: Arc<B>,
}

impl<A: ToolSource + ?Sized, B: ToolSource + ?Sized> Joined<A, B> {
    /// Joins two sources.
    #[must_use]
    pub fn new(first: Arc<A>, second: Arc<B>) -> Self {
        Self { first, second }
    }
}

impl<A: ToolSource + ?Sized, B: ToolSource + ?Sized> ToolSource for Joined<A, B> {
    fn catalog(&self) -> Arc<Catalog> {
        let (first, second) = (self.first.catalog(), self.second.catalog());
        let tools = first.tools().iter().chain(second.tools()).cloned();
        Arc::new(Catalog::new(first.generation + second.generation, tools))
    }

    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome> {
        let (first, second) = (self.first.catalog(), self.second.catalog());
        let now = first.generation + second.generation;
        if call.expected_generation != now {
            let expected = call.expected_generation;
            let message =
                format!("the catalog is at generation {now}, the call was made for {expected}");
            let failure = Failure::not_started("stale_generation", message);
            let failure = failure.with_hint("fetch the catalog again and repeat the call");
            return Box::pin(std::future::ready(Outcome::failed(failure)));
        }
        if first.find(&call.tool).is_none() && second.find(&call.tool).is_some() {
            let call = Call { expected_generation: second.generation, ..call };
            return self.second.call(call, context);
        }
        self.first.call(Call { expected_generation: first.generation, ..call }, context)
    }

    fn end_run(&self, run: &RunId) -> BoxFuture<'static, Vec<String>> {
        let both = join(self.first.end_run(run), self.second.end_run(run));
        Box::pin(async move {
            let (mut first, second) = both.await;
            first.extend(second);
            first
        })
    }
}

impl<A: Workspace + ?Sized, B: ToolSource + ?Sized> Workspace for Joined<A, B> {
    fn id(&self) -> WorkspaceId {
        self.first.id()
    }

    fn root(&self) -> String {
        self.first.root()
    }

    fn access(&self, at: Request, access: Access) -> BoxFuture<'static, Answer<()>> {
        self.first.access(at, access)
    }

    fn read(&self, at: Request, bytes_max: u64) -> BoxFuture<'static, Answer<Bytes>> {
        self.first.read(at, bytes_max)
    }

    fn write(&self, at: Request, content: Bytes) -> BoxFuture<'static, Answer<Written>> {
        self.first.write(at, content)
    }

    fn mkdir(&self, at: Request, parents: bool) -> BoxFuture<'static, Answer<()>> {
        self.first.mkdir(at, parents)
    }

    fn stat(&self, at: Request) -> BoxFuture<'static, Answer<Stat>> {
        self.first.stat(at)
    }

    fn readdir(&self, at: Request) -> BoxFuture<'static, Answer<Vec<DirEntry>>> {
        self.first.readdir(at)
    }

    fn glob(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<String>>> {
        self.first.glob(at, pattern, limit)
    }

    fn grep(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<LineMatch>>> {
        self.first.grep(at, pattern, limit)
    }

    fn detect_image_mime(&self, at: Request) -> BoxFuture<'static, Answer<Option<String>>> {
        self.first.detect_image_mime(at)
    }

    fn exec(&self) -> Option<Arc<dyn Exec>> {
        self.first.exec()
    }

    fn upload(
        &self,
        at: Request,
        promise: Upload,
        bytes: BoxStream<'static, Answer<Bytes>>,
    ) -> BoxFuture<'static, Answer<Written>> {
        self.first.upload(at, promise, bytes)
    }

    fn held(&self, at: Request, shape: Shape) -> BoxFuture<'static, Answer<Option<HeldUpload>>> {
        self.first.held(at, shape)
    }

    fn download(&self, at: Request, wanted: Wanted) -> BoxFuture<'static, Answer<Download>> {
        self.first.download(at, wanted)
    }
}

#[cfg(test)]
mod tests;
