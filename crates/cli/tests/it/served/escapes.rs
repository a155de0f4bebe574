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
use vocab::{
    ids::{CallId, RunId},
    outcome::Effect,
};
use workspace::{
    call::{Call, CallContext, Envelope},
    primitive::{Access, Answer, Download, ExecRequest, Request, Shape, Upload, Wanted},
    source::{OwnedWorkspace as _, Workspace},
    tree::Manifest,
};

use super::Served;
use crate::{
    home::Home,
    servers::{layer, private},
};

mod moving;

const SECRET: &str = "what nobody may see";

/// Operations of the seam that take a path.
const N_PRIMITIVES: usize = 15;

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
    symlink(far.join("secret.py"), root.join("link.py")).unwrap();
    fs::hard_link(far.join("secret-name"), root.join("hard")).unwrap();
    let far = far.to_str().unwrap();
    let secret = format!("{far}/secret");
    let mut all: Vec<String> = [
        "../far/secret",
        "in/../../far/secret",
        "./in/.././../far/secret",
        "dir-link/secret",
        "dir-link/secret.py",
        "link.py",
        "../far/secret.py",
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

/// All that was answered, and the codes with which the primitives refused.
#[derive(Default)]
struct Told {
    text: String,
    codes: Vec<(&'static str, String)>,
}

impl Told {
    fn say<T: std::fmt::Debug>(&mut self, op: &'static str, answer: &Answer<T>) {
        self.text.push_str(&format!("{answer:?}\n"));
        if let Err(failure) = answer {
            assert_ne!(failure.effect, Effect::Indeterminate, "{op}: {failure:?}");
            self.codes.push((op, failure.code.clone()));
        }
    }
}

fn tree() -> Wanted {
    Wanted { shape: Shape::Tree, after: None }
}

/// The content of a download, whole or not.
async fn came(download: Answer<Download>) -> Answer<String> {
    let pieces: Vec<Answer<Bytes>> = download?.bytes.collect().await;
    let pieces: Answer<Vec<Bytes>> = pieces.into_iter().collect();
    Ok(String::from_utf8_lossy(&pieces?.concat()).into_owned())
}

/// Tries every operation with one path, and returns all that was answered.
async fn tried(workspace: &dyn Workspace, path: &str) -> Told {
    let at = || at(workspace, path);
    let mut told = Told::default();
    let text = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
    told.say("access", &workspace.access(at(), Access::ReadWrite).await);
    told.say("read", &workspace.read(at(), 1_000).await.map(text));
    told.say("stat", &workspace.stat(at()).await);
    told.say("readdir", &workspace.readdir(at()).await);
    told.say("glob", &workspace.glob(at(), "**".into(), 100).await);
    told.say("grep", &workspace.grep(at(), "nobody".into(), 100).await);
    told.say("image_mime", &workspace.detect_image_mime(at()).await);
    told.say("download", &came(workspace.download(at(), Wanted::file()).await).await);
    told.say("download_tree", &came(workspace.download(at(), tree()).await).await);
    told.say("write", &workspace.write(at(), Bytes::from_static(b"written")).await);
    let promise = |all: &[u8]| {
        let sha256 = workspace_remote::offer::hex(&Sha256::digest(all));
        Upload::of_file(all.len() as u64, sha256, true)
    };
    let bytes = |all: Bytes| stream::iter([Ok(all)]).boxed();
    let new = Bytes::from_static(b"new");
    told.say("upload", &workspace.upload(at(), promise(&new), bytes(new)).await);
    let empty = Manifest::new(Vec::new()).unwrap();
    let file = Upload::of_file(empty.stream_bytes(), empty.sha256(), false);
    let promise = Upload { shape: Shape::Tree, ..file };
    told.say("upload_tree", &workspace.upload(at(), promise, bytes(empty.head())).await);
    told.say("held", &workspace.held(at(), Shape::File).await);
    told.say("mkdir", &workspace.mkdir(at(), true).await);
    let what = ExecRequest { command: "cat secret ./* 2>&1; pwd".into(), timeout_ms: 10_000 };
    let ran = workspace.exec().unwrap().exec(at(), what).await;
    told.say("exec", &ran.map(|report| text(report.output)));
    for (tool, arguments) in [
        ("read", json!({"path": path})),
        ("write", json!({"path": path, "content": "written"})),
        ("edit", json!({"path": path, "edits": [{"oldText": "what", "newText": "edited"}]})),
        ("ls", json!({"path": path})),
        ("find", json!({"pattern": "**", "path": path})),
        ("grep", json!({"pattern": "nobody", "path": path})),
        ("bash", json!({"command": "cat ./secret 2>&1", "cwd": path})),
    ] {
        told.text += &called(workspace, tool, arguments).await;
    }
    let (line, column) = (1, 1);
    for tool in lsp::specs().iter().filter(|spec| workspace.catalog().find(spec.name).is_some()) {
        let at = json!({"path": path, "line": line, "column": column, "new_name": "x"});
        told.text += &called(workspace, tool.name, at).await;
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

/// With what every operation refuses a way; none where it is only an odd name, which stays inside.
fn refusal(way: &str) -> Option<&'static str> {
    match way {
        way if way.contains('\0') => Some("path_invalid"),
        way if way.starts_with("loop") => Some("too_many_links"),
        // What other systems write their drives and shares with is part of a name here.
        way if way.contains('\\') || way.starts_with("C:") => None,
        _ => Some("path_outside_root"),
    }
}

/// Tries all ways with all operations, and looks at what stands outside.
async fn try_all(workspace: &dyn Workspace, ways: &[String], far: &Path) {
    let before = outside(far);
    let told = tried(workspace, "in/file").await;
    assert!(told.text.contains("inside"), "what is inside is there");
    for way in ways {
        let Told { text, codes } = tried(workspace, way).await;
        assert!(
            !text.contains(SECRET) && !text.contains("this is bad"),
            "{way:?} shows it: {text}"
        );
        assert_eq!(outside(far), before, "{way:?} changed what stands outside: {text}");
        let inside = ["not_found", "not_a_directory", "already_exists"];
        let is_fit = |code: &str| refusal(way).map_or(inside.contains(&code), |one| one == code);
        assert!(codes.iter().all(|(_, code)| is_fit(code)), "{way:?}: {codes:?}");
        assert!(refusal(way).is_none() || codes.len() == N_PRIMITIVES, "{way:?}: {codes:?}");
    }
}

/// A home with something outside its work directory, and the ways there.
fn stage() -> (Home, PathBuf, Vec<String>) {
    let home = Home::new();
    let far = home.path("far");
    fs::create_dir(&far).unwrap();
    fs::write(far.join("secret"), SECRET).unwrap();
    fs::write(far.join("secret.py"), format!("bad = {SECRET:?}\n")).unwrap();
    fs::write(far.join("secret-name"), "of both\n").unwrap();
    let far = fs::canonicalize(far).unwrap();
    let ways = ways(&home, &far);
    (home, far, ways)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_operation_leaves_a_directory_of_this_machine_by_any_way() {
    let (home, far, ways) = stage();
    let mut options = workspace_local::Options::new(home.work(), home.path("outputs"));
    options.grants.exec = Some(workspace::grant::ExecGrant::by_owner());
    let host = [
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), home.path("user").into()),
    ];
    options.programs.environment = sandbox::Environment::for_tools(&host, &[]);
    let local = workspace_local::LocalWorkspace::open(options).unwrap();
    try_all(&*local.borrow(), &ways, &far).await;
    local.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_operation_leaves_the_root_by_any_way() {
    let (home, far, ways) = stage();
    let servers = home.path("lsp.toml");
    private(&servers, &layer(&home));
    let flags = ["--allow-exec", "--lsp-config", servers.to_str().unwrap()];
    let served = Served::start(&home, &flags);
    let remote = served.connect().await;
    let workspace = remote.borrow();
    fs::write(home.path("work/in/a.py"), "bad\n").unwrap();
    let told = called(&*workspace, "lsp_diagnostics", json!({"path": "in/a.py"})).await;
    assert!(told.contains("this is bad"), "the server sees what is inside: {told}");
    try_all(&*workspace, &ways, &far).await;
    let before = outside(&far);
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
