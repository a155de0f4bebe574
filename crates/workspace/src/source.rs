//! The two traits of the seam.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use vocab::{
    ids::{RunId, WorkspaceId},
    outcome::Outcome,
    place::Link,
};

use crate::{
    call::{Call, CallContext},
    catalog::Catalog,
    primitive::{
        Access, Answer, DirEntry, Download, Exec, HeldUpload, LineMatch, Request, Shape, Stat,
        Upload, Wanted, Written,
    },
};

/// A source of tools.
pub trait ToolSource: Send + Sync {
    /// Returns the tools of the present generation.
    fn catalog(&self) -> Arc<Catalog>;

    /// Runs one call to its end. A dropped future does not undo anything; cancel through the context.
    fn call(&self, call: Call, context: CallContext) -> BoxFuture<'static, Outcome>;

    /// Ends everything that calls of this run left running, and says what that was, one line each.
    fn end_run(&self, run: &RunId) -> BoxFuture<'static, Vec<String>>;
}

/// A place where agents act.
pub trait Workspace: ToolSource {
    /// Returns its id.
    fn id(&self) -> WorkspaceId;

    /// Returns its root as people write it.
    fn root(&self) -> String;

    /// Tells whether a file is there and can be used so far.
    fn access(&self, at: Request, access: Access) -> BoxFuture<'static, Answer<()>>;

    /// Reads a whole file up to a bound.
    fn read(&self, at: Request, bytes_max: u64) -> BoxFuture<'static, Answer<Bytes>>;

    /// Writes a whole file, published at once.
    fn write(&self, at: Request, content: Bytes) -> BoxFuture<'static, Answer<Written>>;

    /// Makes a directory, with its parents if asked.
    fn mkdir(&self, at: Request, parents: bool) -> BoxFuture<'static, Answer<()>>;

    /// Tells what is there, links followed.
    fn stat(&self, at: Request) -> BoxFuture<'static, Answer<Stat>>;

    /// Lists a directory, sorted by name.
    fn readdir(&self, at: Request) -> BoxFuture<'static, Answer<Vec<DirEntry>>>;

    /// Finds files by glob below a directory, sorted.
    fn glob(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<String>>>;

    /// Finds lines by regular expression below a path, sorted.
    fn grep(
        &self,
        at: Request,
        pattern: String,
        limit: usize,
    ) -> BoxFuture<'static, Answer<Vec<LineMatch>>>;

    /// Tells the media type of a picture by its first bytes; none for what is no picture models take.
    fn detect_image_mime(&self, at: Request) -> BoxFuture<'static, Answer<Option<String>>>;

    /// Returns what runs programs, where that was granted.
    fn exec(&self) -> Option<Arc<dyn Exec>>;

    /// Takes a file or directory in pieces and publishes it once length and hash hold.
    fn upload(
        &self,
        at: Request,
        promise: Upload,
        bytes: BoxStream<'static, Answer<Bytes>>,
    ) -> BoxFuture<'static, Answer<Written>>;

    /// Tells what is kept of the last upload to that path that broke off.
    fn held(&self, at: Request, shape: Shape) -> BoxFuture<'static, Answer<Option<HeldUpload>>>;

    /// Hands out a file or directory, or the artifact that a `stead-artifact://` text names, in pieces.
    fn download(&self, at: Request, wanted: Wanted) -> BoxFuture<'static, Answer<Download>>;
}

/// The one owner of a workspace: it alone can close it. Borrowers hold `Arc<dyn Workspace>`.
pub trait OwnedWorkspace: Send + Sync {
    /// Returns a handle for borrowers.
    fn borrow(&self) -> Arc<dyn Workspace>;

    /// Tells whether something still runs in it that closing would end, though nobody borrows it: what a
    /// run left running that waits for an answer.
    fn is_busy(&self) -> bool;

    /// Tells how it is reached.
    fn link(&self) -> Link {
        Link::Open
    }

    /// Ends what still runs and releases what is held.
    fn close(self: Box<Self>) -> BoxFuture<'static, ()>;
}
