//! Renames: all files are checked, then published.

use serde_json::{Value, json};
use vocab::{limits::LSP_RENAME_FILES_MAX, outcome::Effect};
use workspace::{
    call::{Call, CallContext},
    source::ToolSource,
};

use crate::rig::{Rig, able, call, prepared, refused};

fn edit(line: u32, from: u32, to: u32, text: &str) -> Value {
    let range =
        json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}});
    json!({"range": range, "newText": text})
}

fn at() -> Value {
    json!({"path": "a.py", "line": 1, "symbol": "x", "new_name": "y"})
}

fn renames(answers: &[Value]) -> Value {
    let lists: Vec<Value> = answers.iter().map(|answer| json!([{"answer": answer}])).collect();
    json!({"textDocument/rename": lists})
}

#[tokio::test]
async fn a_rename_changes_every_file_and_no_other_byte() {
    let rig = Rig::new();
    rig.file("a.py", "\u{feff}x = '𝄞'; x\r\nprint(x)\rx");
    rig.file("d/b.py", "from a import x");
    let outside = rig.dir.path().join("inode");
    std::fs::hard_link(rig.root().join("d/b.py"), &outside).unwrap();
    let answer = json!({"documentChanges": [
        {"textDocument": {"uri": rig.uri("a.py"), "version": 1},
         "edits": [edit(1, 6, 7, "y"), edit(0, 11, 12, "y"), edit(0, 1, 2, "y"), edit(2, 0, 1, "y")]},
        {"textDocument": {"uri": rig.uri("d/b.py"), "version": null}, "edits": [edit(0, 14, 15, "y")]},
    ]});
    let lsp = rig.open(rig.server("one", able(), renames(&[answer])));
    let outcome = call(&lsp, "lsp_rename", at()).await;
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.plain_text(), "Renamed to y in 2 files:\na.py: 4 places\nd/b.py: 1 place");
    assert_eq!(outcome.details.unwrap()["files"].as_array().unwrap().len(), 2);
    assert_eq!(rig.content("a.py"), "\u{feff}y = '𝄞'; y\r\nprint(y)\ry");
    assert_eq!(rig.content("d/b.py"), "from a import y");
    // Published by rename: what else has the old file keeps it.
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "from a import x");
    assert_eq!(rig.sent("one", "textDocument/rename")[0]["newName"], "y");
    lsp.close().await;
}

#[tokio::test]
async fn a_rename_that_cannot_be_done_whole_changes_nothing() {
    let rig = Rig::new();
    rig.file("a.py", "x = 1\n");
    rig.file("b.py", "x\n");
    rig.file("bytes.py", b"x = '\xff'\n");
    std::os::unix::fs::symlink("/etc/hostname", rig.root().join("out.py")).unwrap();
    std::os::unix::fs::symlink("b.py", rig.root().join("c.py")).unwrap();
    let good = edit(0, 0, 1, "y");
    let changes = |more: &[(String, Value)]| {
        let mut all = json!({rig.uri("a.py"): [good]});
        more.iter().for_each(|(uri, edits)| all[uri] = edits.clone());
        json!({"changes": all})
    };
    let in_file = |name: &str| changes(&[(rig.uri(name), json!([good]))]);
    let operation = |kind: &str| {
        json!({"documentChanges": [
            {"textDocument": {"uri": rig.uri("a.py"), "version": 1}, "edits": [good]},
            {"kind": kind, "uri": rig.uri("b.py"), "oldUri": rig.uri("b.py"), "newUri": rig.uri("n.py")},
        ]})
    };
    let cases = [
        (changes(&[("file:///etc/hostname".into(), json!([good]))]), "lsp_edit_refused"),
        (in_file("out.py"), "path_outside_root"),
        (in_file("missing.py"), "not_found"),
        (in_file("bytes.py"), "lsp_edit_refused"),
        (
            changes(&[(rig.uri("b.py"), json!([good])), (rig.uri("c.py"), json!([good]))]),
            "lsp_edit_refused",
        ),
        (changes(&[(rig.uri("b.py"), json!([edit(9, 0, 1, "y")]))]), "lsp_edit_refused"),
        (
            changes(&[(rig.uri("b.py"), json!([edit(0, 0, 1, "y"), edit(0, 0, 1, "z")]))]),
            "lsp_edit_refused",
        ),
        (operation("create"), "lsp_edit_refused"),
        (operation("rename"), "lsp_edit_refused"),
        (operation("delete"), "lsp_edit_refused"),
        (
            json!({"documentChanges": [{"textDocument": {"uri": rig.uri("a.py"), "version": 7}, "edits": [good]}]}),
            "stale_content",
        ),
        (json!(null), "lsp_edit_refused"),
    ];
    let answers: Vec<Value> = cases.iter().map(|(answer, _)| answer.clone()).collect();
    let lsp = rig.open(rig.server("one", able(), renames(&answers)));
    for (answer, code) in cases {
        let failure = refused(&lsp, "lsp_rename", at()).await;
        assert_eq!((failure.code.as_str(), failure.effect), (code, Effect::NotStarted), "{answer}");
        assert_eq!((rig.content("a.py"), rig.content("b.py")), ("x = 1\n".into(), "x\n".into()));
    }
    let mut names: Vec<_> =
        std::fs::read_dir(rig.root()).unwrap().map(|one| one.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.py", "b.py", "bytes.py", "c.py", "out.py"]);
    lsp.close().await;
}

#[tokio::test]
async fn a_rename_that_fails_after_the_first_file_says_what_was_changed() {
    let rig = Rig::new();
    rig.file("a.py", "x\n");
    rig.file("b/b.py", "x\n");
    let good = json!([edit(0, 0, 1, "y")]);
    let answer = json!({"changes": {rig.uri("a.py"): good, rig.uri("b/b.py"): good}});
    let on = json!({"textDocument/rename": [[{"answer": answer}]]});
    let lsp = rig.open(rig.server("one", able(), on));
    // The second file's directory is moved away between the two publications: whoever watches the first file
    // sees it appear, and acts at once.
    let (first, dir, away) = (rig.root().join("a.py"), rig.root().join("b"), rig.root().join("c"));
    let inode = |path: &std::path::Path| {
        std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap())
    };
    let before = inode(&first);
    let watch = std::thread::spawn(move || {
        while inode(&first) == before {
            std::hint::spin_loop();
        }
        std::fs::rename(dir, away).unwrap();
    });
    let outcome = call(&lsp, "lsp_rename", at()).await;
    watch.join().unwrap();
    // The other thread may have come too late; then all was done.
    if let Some(failure) = outcome.failure {
        assert_eq!(failure.effect, Effect::Indeterminate);
        assert!(failure.message.contains("a.py: 1 place"), "{failure}");
        assert_eq!(outcome.details.unwrap()["files"][0]["path"], "a.py");
    }
    assert_eq!(rig.content("a.py"), "y\n");
    lsp.close().await;
}

#[tokio::test]
async fn a_server_changes_nothing_on_its_own() {
    let rig = Rig::new();
    rig.file("a.py", "x\n");
    let wish = json!({"edit": {"changes": {rig.uri("a.py"): [edit(0, 0, 1, "evil")]}}});
    let on = json!({
        "textDocument/hover": [[{"ask": ["workspace/applyEdit", wish]}, {"answer": {"contents": "it"}}]],
        "textDocument/rename": [[{"ask": ["workspace/applyEdit", wish]}, {"answer": {"changes": {}}}]],
    });
    let lsp = rig.open(rig.server("one", able(), on));
    call(&lsp, "lsp_hover", json!({"path": "a.py", "line": 1, "symbol": "x"})).await;
    assert_eq!(refused(&lsp, "lsp_rename", at()).await.code, "lsp_edit_refused");
    assert_eq!(rig.content("a.py"), "x\n");
    lsp.close().await;
    let answers: Vec<Value> = rig
        .log("one")
        .into_iter()
        .filter(|message| !message["result"]["applied"].is_null())
        .collect();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer["result"]["applied"] == false));
}

#[tokio::test]
async fn a_rename_of_too_many_files_is_refused() {
    let rig = Rig::new();
    rig.file("a.py", "x\n");
    let files = |n: usize| {
        let all = (0..n).map(|n| (rig.uri(&format!("f{n}.py")), json!([edit(0, 0, 1, "y")])));
        json!({"changes": all.collect::<serde_json::Map<_, _>>()})
    };
    for n in 0..LSP_RENAME_FILES_MAX {
        rig.file(&format!("f{n}.py"), "x\n");
    }
    let answers = renames(&[files(LSP_RENAME_FILES_MAX + 1), files(LSP_RENAME_FILES_MAX)]);
    let lsp = rig.open(rig.server("one", able(), answers));
    assert_eq!(refused(&lsp, "lsp_rename", at()).await.code, "lsp_edit_refused");
    assert_eq!(rig.content("f0.py"), "x\n");
    assert_eq!(call(&lsp, "lsp_rename", at()).await.failure, None);
    assert_eq!(rig.content("f0.py"), "y\n");
    lsp.close().await;
}

#[tokio::test]
async fn two_renames_with_one_key_are_one() {
    let rig = Rig::new();
    rig.file("a.py", "x\n");
    let answer = json!({"changes": {rig.uri("a.py"): [edit(0, 0, 1, "xx")]}});
    let lsp = rig.open(rig.server("one", able(), renames(&[answer])));
    let call = Call { idempotency_key: Some("k".into()), ..prepared(&lsp, "lsp_rename", at()) };
    let one = lsp.call(call.clone(), CallContext::detached()).await;
    let two = lsp.call(call, CallContext::detached()).await;
    assert_eq!((one.failure.as_ref(), &one), (None, &two));
    assert_eq!(rig.content("a.py"), "xx\n");
    lsp.close().await;
}
