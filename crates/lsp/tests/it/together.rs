//! A local workspace and its language servers as one.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use lsp::Lsp;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use workspace::{
    primitive::{Request, Upload},
    source::{OwnedWorkspace, Workspace},
};
use workspace_local::{Listener, LocalWorkspace, Options};

use crate::rig::{Rig, able, call, text, until};

fn open(rig: &Rig, lsp: Lsp) -> Box<dyn OwnedWorkspace> {
    let mut options = Options::new(rig.root(), rig.dir.path().join("artifacts"));
    let told = lsp.clone();
    options.listener = Listener::new(move |path| told.changed(path));
    lsp.beside(LocalWorkspace::open(options).unwrap())
}

fn at(workspace: &Arc<dyn Workspace>, path: &str) -> Request {
    Request { path: path.into(), expected: workspace.id(), cancel: CancellationToken::new() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_to_change_a_file_is_told_to_the_server() {
    let rig = Rig::new();
    rig.file("a.py", "x = 0\n");
    let publish = json!([{"publish": {"version": "$version", "diagnostics": []}}]);
    let on = json!({"textDocument/didOpen": [publish], "textDocument/didChange": [publish]});
    let owner = open(&rig, rig.open(rig.server("one", able(), on)));
    let workspace = owner.borrow();
    let source = workspace.as_ref() as &dyn workspace::source::ToolSource;
    let names: Vec<_> = source.catalog().tools().iter().map(|tool| tool.name).collect();
    assert!(names.contains(&"edit") && names.contains(&"lsp_rename"), "{names:?}");
    assert_eq!(
        text(source, "lsp_diagnostics", json!({"path": "a.py"})).await,
        "a.py: one finds no problems."
    );
    let heard = |n: usize| rig.sent("one", "textDocument/didChange").len() == n;
    let edit = json!({"path": "a.py", "edits": [{"oldText": "0", "newText": "1"}]});
    text(source, "edit", edit).await;
    until("the edit was heard of", || heard(1)).await;
    text(source, "write", json!({"path": "a.py", "content": "x = 2\n"})).await;
    until("the write was heard of", || heard(2)).await;
    workspace.write(at(&workspace, "a.py"), Bytes::from_static(b"x = 3\n")).await.unwrap();
    until("the primitive write was heard of", || heard(3)).await;
    let content = b"x = 4\n";
    let sha256 = "9ca84e8a6ccc19fe9a8c2a8dd8fd6c7ad31bcae1c0a35c29e7a9d9b8c1d1f5a0";
    let promise = Upload::of_file(6, sha256.into(), true);
    let pieces = futures_util::stream::iter([Ok(Bytes::from_static(content))]).boxed();
    // The hash is told by the refusal.
    let refusal =
        workspace.upload(at(&workspace, "a.py"), promise.clone(), pieces).await.unwrap_err();
    let sha256 =
        refusal.message.split(' ').find(|word| word.trim_end_matches(',').len() == 64).unwrap();
    let promise = Upload { sha256: sha256.trim_end_matches(',').into(), ..promise };
    let pieces = futures_util::stream::iter([Ok(Bytes::from_static(content))]).boxed();
    workspace.upload(at(&workspace, "a.py"), promise, pieces).await.unwrap();
    until("the upload was heard of", || heard(4)).await;
    // What is refused is not told, and what nobody told of is found.
    assert!(
        call(source, "edit", json!({"path": "a.py", "oldText": "0", "newText": "1"}))
            .await
            .is_error()
    );
    assert_eq!(
        text(source, "lsp_diagnostics", json!({"path": "a.py"})).await,
        "a.py: one finds no problems."
    );
    assert!(heard(4));
    owner.close().await;
}
