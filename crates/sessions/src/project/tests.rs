//! A workspace that does not answer.

use std::future::pending;

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
        Access, Answer, DirEntry, Download, Exec, HeldUpload, LineMatch, Shape, Stat, Upload,
        Wanted, Written,
    },
    source::ToolSource,
};

use super::*;

/// One that never answers.
struct Deaf;

impl ToolSource for Deaf {
    fn catalog(&self) -> Arc<Catalog> {
        Arc::new(Catalog::new(1, []))
    }

    fn call(&self, _: Call, _: CallContext) -> BoxFuture<'static, Outcome> {
        Box::pin(pending())
    }

    fn end_run(&self, _: &RunId) -> BoxFuture<'static, Vec<String>> {
        Box::pin(pending())
    }
}

impl Workspace for Deaf {
    fn id(&self) -> WorkspaceId {
        WorkspaceId("deaf".to_owned())
    }

    fn root(&self) -> String {
        "/deaf".to_owned()
    }

    fn access(&self, _: Request, _: Access) -> BoxFuture<'static, Answer<()>> {
        Box::pin(pending())
    }

    fn read(&self, _: Request, _: u64) -> BoxFuture<'static, Answer<Bytes>> {
        Box::pin(pending())
    }

    fn write(&self, _: Request, _: Bytes) -> BoxFuture<'static, Answer<Written>> {
        Box::pin(pending())
    }

    fn mkdir(&self, _: Request, _: bool) -> BoxFuture<'static, Answer<()>> {
        Box::pin(pending())
    }

    fn stat(&self, _: Request) -> BoxFuture<'static, Answer<Stat>> {
        Box::pin(pending())
    }

    fn readdir(&self, _: Request) -> BoxFuture<'static, Answer<Vec<DirEntry>>> {
        Box::pin(pending())
    }

    fn glob(&self, _: Request, _: String, _: usize) -> BoxFuture<'static, Answer<Vec<String>>> {
        Box::pin(pending())
    }

    fn grep(&self, _: Request, _: String, _: usize) -> BoxFuture<'static, Answer<Vec<LineMatch>>> {
        Box::pin(pending())
    }

    fn detect_image_mime(&self, _: Request) -> BoxFuture<'static, Answer<Option<String>>> {
        Box::pin(pending())
    }

    fn exec(&self) -> Option<Arc<dyn Exec>> {
        None
    }

    fn upload(
        &self,
        _: Request,
        _: Upload,
        _: BoxStream<'static, Answer<Bytes>>,
    ) -> BoxFuture<'static, Answer<Written>> {
        Box::pin(pending())
    }

    fn held(&self, _: Request, _: Shape) -> BoxFuture<'static, Answer<Option<HeldUpload>>> {
        Box::pin(pending())
    }

    fn download(&self, _: Request, _: Wanted) -> BoxFuture<'static, Answer<Download>> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_does_not_answer_holds_no_run_up() {
    let deaf: Arc<dyn Workspace> = Arc::new(Deaf);
    let (began, cancel) = (tokio::time::Instant::now(), CancellationToken::new());
    let project = read(&deaf, &cancel).await;
    assert_eq!(began.elapsed(), Duration::from_millis(PROJECT_READ_MS));
    let why = "the project's files: they could not be read in time";
    assert_eq!(
        (project.left_out(), project.section("here")),
        (&[why.to_owned()][..], String::new())
    );
    cancel.cancel();
    assert_eq!(read(&deaf, &cancel).await, Project::default());
}
