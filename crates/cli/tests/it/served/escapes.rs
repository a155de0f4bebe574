//! Ways out of the root, tried with every operation that takes a path: none leads anywhere, and a hard link's other name
//! keeps its content.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use vocab::ids::{CallId, RunId};
use workspace::{
    call::{Call, CallContext, Envelope},
    primitive::{Access, ExecRequest, Request, Upload, Wanted},
    source::{OwnedWorkspace as _, Workspace},
};

use super::Served;
use crate::home::Home;

const SECRET: &str = "what nobody may see";

/// All that stands outside: content, place on the disk and time of each.
fn outside(dir: &Path) -> BTreeMap<PathBuf, (String, u64, i64)> {
    let mut all = BTreeMap::new();
    for path in super::names(dir) {
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            all.extend(outside(&path));
        }
        let content = fs::read_to_string(&path).unwrap_or_default();
        all.insert(path, (content, meta.ino(), meta.mtime() * 1_000_000_000 + meta.mtime_nsec()));
    }
    all
}

/// Builds a root with ways out of it, and returns the paths that try them.
fn ways(home: &Home, far: &Path) -> Vec<String> {
    let root = home.work();
    fs::create_dir(root.join("in")).unwrap();
    fs::write(root.join("in/file"), "inside\n").unwrap();
    symlink(far, root.join("dir-link")).unwrap();
    symlink(far.join("secret"), root.join("file-link")).unwrap();
    symlink("/", root.join("top")).unwrap();
    symlink("..", root.join("in/up")).unwrap();
    symlink("../..", root.join("in/out")).unwrap();
    symlink(far.join("new"), root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    fs::hard_link(far.join("secret-name"), root.join("hard")).unwrap();
    let far = far.to_str().unwrap();
    let secret = format!("{far}/secret");
    let mut all: Vec<String> = [
        "../far/secret",
        "in/../../far/secret",
        "./in/.././../far/secret",
        "dir-link/secret",
        "file-link",
        "dir-link",
        "dir-link/new",
        "dangling",
        "dangling/new",
        "in/out/far/secret",
        "in/up/../../far/secret",
        "loop/secret",
        "IN/../../far/secret",
        "..",
        "../far",
        "../far/new",
        "../far/new/deep",
        "../far/./secret",
        "../work/../far/secret",
        "in\\..\\..\\far\\secret",
        "..\\far\\secret",
        "C:\\far\\secret",
        "C:far",
        "\\\\server\\share\\secret",
        "//server/share/secret",
        "\\\\?\\C:\\far",
        "~/../far/secret",
        "a\0b",
        "/proc/self/environ",
        "/proc/self/cwd/../far/secret",
        "/proc/self/root/etc/passwd",
        "/dev/fd/0",
        "/dev/stdin",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend([
        secret.clone(),
        format!("top{secret}"),
        format!("file://{secret}"),
        format!("/proc/self/root{secret}"),
        format!("top/proc/self/root{secret}"),
        far.to_owned(),
        format!("{far}/"),
        secret.to_uppercase(),
    ]);
    all
}

fn at(workspace: &dyn Workspace, path: &str) -> Request {
    let cancel = CancellationToken::new();
    Request { path: path.to_owned(), expected: workspace.id(), cancel }
}

/// Tries every operation with one path, and returns all that was answered.
async fn tried(workspace: &dyn Workspace, path: &str) -> String {
    let at = || at(workspace, path);
    let mut told = String::new();
    let mut say = |answer: &dyn std::fmt::Debug| told.push_str(&format!("{answer:?}\n"));
    say(&workspace.access(at(), Access::ReadWrite).await);
    say(&workspace
        .read(at(), 1_000)
        .await
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    say(&workspace.stat(at()).await);
    say(&workspace.readdir(at()).await);
    say(&workspace.glob(at(), "**".into(), 100).await);
    say(&workspace.grep(at(), "nobody".into(), 100).await);
    say(&workspace.detect_image_mime(at()).await);
    if let Ok(mut download) = workspace.download(at(), Wanted::file()).await {
        while let Some(Ok(bytes)) = download.bytes.next().await {
            say(&String::from_utf8_lossy(&bytes));
        }
    }
    say(&workspace.write(at(), Bytes::from_static(b"written")).await);
    let promise = Upload::of_file(3, workspace_remote::offer::hex(&Sha256::digest(b"new")), true);
    let bytes = stream::iter([Ok(Bytes::from_static(b"new"))]).boxed();
    say(&workspace.upload(at(), promise, bytes).await);
    say(&workspace.mkdir(at(), true).await);
    let what = ExecRequest { command: "cat secret ./* 2>&1; pwd".into(), timeout_ms: 10_000 };
    let ran = workspace.exec().unwrap().exec(at(), what).await;
    say(&ran.map(|report| String::from_utf8_lossy(&report.output).into_owned()));
    for (tool, arguments) in [
        ("read", json!({"path": path})),
        ("write", json!({"path": path, "content": "written"})),
        ("edit", json!({"path": path, "edits": [{"oldText": "what", "newText": "edited"}]})),
        ("ls", json!({"path": path})),
        ("find", json!({"pattern": "**", "path": path})),
        ("grep", json!({"pattern": "nobody", "path": path})),
    ] {
        say(&called(workspace, tool, arguments).await);
    }
    told
}

async fn called(workspace: &dyn Workspace, tool: &str, arguments: Value) -> String {
    let catalog = workspace.catalog();
    let spec = catalog.find(tool).unwrap();
    let call = Call {
        run: RunId::generate(),
        id: CallId("call".into()),
        tool: tool.to_owned(),
        arguments: (spec.prepare)(arguments),
        schema_hash: spec.schema_hash(),
        expected_generation: catalog.generation,
        timeout_ms: None,
        idempotency_key: None,
        envelope: Envelope::default(),
    };
    format!("{:?}", workspace.call(call, CallContext::detached()).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_operation_leaves_the_root_by_any_way() {
    let home = Home::new();
    let far = home.path("far");
    fs::create_dir(&far).unwrap();
    fs::write(far.join("secret"), SECRET).unwrap();
    fs::write(far.join("secret-name"), "of both\n").unwrap();
    let ways = ways(&home, &fs::canonicalize(&far).unwrap());
    let before = outside(&far);
    let served = Served::start(&home, &["--allow-exec"]);
    let remote = served.connect().await;
    let workspace = remote.borrow();
    assert!(tried(&*workspace, "in/file").await.contains("inside"), "what is inside is there");
    for way in &ways {
        let told = tried(&*workspace, way).await;
        assert!(!told.contains(SECRET), "{way:?} shows it: {told}");
        assert_eq!(outside(&far), before, "{way:?} changed what stands outside: {told}");
    }
    // A hard link counts as inside: it is replaced, and its other name keeps what it had.
    assert!(workspace.read(at(&*workspace, "hard"), 1_000).await.is_ok());
    for (tool, arguments) in [
        ("edit", json!({"path": "hard", "edits": [{"oldText": "both", "newText": "one"}]})),
        ("write", json!({"path": "hard", "content": "written"})),
    ] {
        called(&*workspace, tool, arguments).await;
        assert_eq!(outside(&far), before, "{tool}");
    }
    assert_eq!(fs::read_to_string(home.path("work/hard")).unwrap(), "written");
    for name in ["uploaded", "put"] {
        fs::hard_link(far.join("secret-name"), home.path("work").join(name)).unwrap();
    }
    let before = outside(&far);
    let promise = Upload::of_file(3, workspace_remote::offer::hex(&Sha256::digest(b"new")), true);
    let bytes = stream::iter([Ok(Bytes::from_static(b"new"))]).boxed();
    workspace.upload(at(&*workspace, "uploaded"), promise, bytes).await.unwrap();
    workspace.write(at(&*workspace, "put"), Bytes::from_static(b"new")).await.unwrap();
    assert_eq!(outside(&far), before, "another name's content");
    assert_eq!(fs::read_to_string(home.path("work/put")).unwrap(), "new");
    Box::new(remote).close().await;
}
