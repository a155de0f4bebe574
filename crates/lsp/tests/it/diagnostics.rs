//! Diagnostics are those of the present content, or there are none yet.

use std::time::Duration;

use lsp::Bounds;
use serde_json::{Value, json};
use vocab::{
    limits::{LSP_CHANGED_MAX, LSP_DOCUMENTS_MAX, LSP_PULL_AGAIN_MS, LSP_SETTLE_MS},
    path,
};
use workspace::{
    call::{Call, CallContext},
    source::ToolSource,
};

use crate::rig::{Rig, able, call, let_go, prepared, text, until};

fn problem(message: &str) -> Value {
    let range = json!({"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}});
    json!({"range": range, "severity": 1, "message": message, "source": "lint", "code": "E1"})
}

fn publish(version: Value, message: &str) -> Value {
    let mut params = json!({"diagnostics": [problem(message)]});
    if !version.is_null() {
        params["version"] = version;
    }
    json!({ "publish": params })
}

/// Asks with a deadline that passes, when nothing fresh comes.
async fn soon(lsp: &lsp::Lsp, arguments: Value) -> String {
    let call = Call { timeout_ms: Some(300), ..prepared(lsp, "lsp_diagnostics", arguments) };
    let outcome = lsp.call(call, CallContext::detached()).await;
    assert_eq!(outcome.failure, None);
    outcome.plain_text()
}

const NOT_YET: &str = "a.py: one has no diagnostics for the present content yet.";

#[tokio::test]
async fn diagnostics_of_an_earlier_version_are_never_shown() {
    let rig = Rig::new();
    rig.file("a.py", "x = y\n");
    let go = rig.pipe("go");
    let at_go = go.clone();
    let on = json!({
        "textDocument/didOpen": [[publish(json!("$version"), "first")]],
        "textDocument/didChange": [
            // What it says of the change is of the content before it.
            [publish(json!(1), "late")],
            [publish(json!(2), "late"), {"wait": go}, publish(json!("$version"), "third")],
        ],
    });
    let lsp = rig.open(rig.server("one", able(), on));
    let at = json!({"path": "a.py"});
    let said = text(&lsp, "lsp_diagnostics", at.clone()).await;
    assert_eq!(said, "a.py: one finds 1 problem.\na.py:1:5 error: first [lint E1]\n    x = y");
    // Nobody tells of this change: it is found when the next question comes.
    rig.file("a.py", "x = z\n");
    assert_eq!(soon(&lsp, at.clone()).await, NOT_YET);
    rig.file("a.py", "x = zz\n");
    assert_eq!(soon(&lsp, at.clone()).await, NOT_YET);
    let (asked, ()) = tokio::join!(text(&lsp, "lsp_diagnostics", at), let_go(&at_go));
    assert_eq!(asked, "a.py: one finds 1 problem.\na.py:1:5 error: third [lint E1]\n    x = zz");
    let changes = rig.sent("one", "textDocument/didChange");
    let versions: Vec<_> =
        changes.iter().map(|one| one["textDocument"]["version"].clone()).collect();
    assert_eq!(versions, [2, 3]);
    // Only what differs was sent.
    assert_eq!(changes[0]["contentChanges"][0]["text"], "z");
    assert_eq!(rig.sent("one", "textDocument/didSave").len(), 2);
    lsp.close().await;
}

#[tokio::test]
async fn diagnostics_without_a_version_count_once_the_server_has_read_the_change_and_is_silent() {
    assert_eq!(Bounds::default().settle, Duration::from_millis(LSP_SETTLE_MS));
    let rig = Rig::new();
    rig.file("a.py", "x = y\n");
    let go = rig.pipe("go");
    let at_go = go.clone();
    let on = json!({
        "textDocument/didOpen": [[publish(json!(null), "first")]],
        "textDocument/documentSymbol": [[{"answer": []}]],
        // It says something of the old content, is busy for a while, and then says what is true.
        "textDocument/didChange": [
            [publish(json!(null), "old"), {"wait": go}, publish(json!(null), "syntax"), publish(json!(null), "types")],
        ],
    });
    let operator = rig.server("one", able(), on);
    let lsp = rig.open_with(operator, |bounds| bounds.settle = Duration::from_millis(50));
    let at = json!({"path": "a.py"});
    assert!(text(&lsp, "lsp_diagnostics", at.clone()).await.contains("first"));
    rig.file("a.py", "x = z\n");
    assert_eq!(soon(&lsp, at.clone()).await, NOT_YET);
    let (asked, ()) = tokio::join!(text(&lsp, "lsp_diagnostics", at), let_go(&at_go));
    assert!(asked.contains("types"), "{asked}");
    lsp.close().await;
}

#[tokio::test]
async fn a_change_of_another_file_gives_the_server_time_to_say_something_new() {
    let rig = Rig::new();
    rig.file("a.py", "x = y\n");
    rig.file("b.py", "y = 1\n");
    let (other, uri) = (json!({"version": "$version", "diagnostics": []}), rig.uri("a.py"));
    let again = json!({"uri": uri, "version": 1, "diagnostics": [problem("broken by b")]});
    let on = json!({
        "textDocument/didOpen": [[publish(json!("$version"), "first")]],
        "textDocument/didChange": [
            [{"publish": other}, {"notify": ["textDocument/publishDiagnostics", again]}],
        ],
    });
    let operator = rig.server("one", able(), on);
    // Long, so that the answer is the new word and not the end of the wait.
    let lsp = rig.open_with(operator, |bounds| bounds.settle = Duration::from_secs(20));
    for path in ["a.py", "b.py"] {
        text(&lsp, "lsp_diagnostics", json!({"path": path})).await;
    }
    rig.file("b.py", "z = 1\n");
    let said = text(&lsp, "lsp_diagnostics", json!({"path": "a.py"})).await;
    assert!(said.contains("broken by b"), "{said}");
    lsp.close().await;
}

#[tokio::test]
async fn a_question_that_the_server_gave_up_is_asked_again() {
    assert_eq!(LSP_PULL_AGAIN_MS, 100);
    let rig = Rig::new();
    rig.file("a.py", "x = y\n");
    let full = json!({"kind": "full", "items": [problem("pulled")]});
    let on = json!({
        "textDocument/diagnostic": [
            [{"error": [-32802, "later"]}], [{"error": [-32801, "modified"]}], [{"answer": full}],
            [{"answer": {"kind": "full", "items": []}}],
        ],
        // What is published beside is not what was asked for.
        "textDocument/didOpen": [[publish(json!("$version"), "pushed")]],
    });
    let mut able = able();
    able["diagnosticProvider"] = json!({"identifier": "lint", "interFileDependencies": true});
    let lsp = rig.open(rig.server("one", able, on));
    let said = text(&lsp, "lsp_diagnostics", json!({"path": "a.py"})).await;
    assert!(said.contains("pulled") && !said.contains("pushed"), "{said}");
    let asked = rig.sent("one", "textDocument/diagnostic");
    assert_eq!((asked.len(), &asked[0]["identifier"]), (3, &json!("lint")));
    rig.file("a.py", "x = 1\n");
    let outcome = call(&lsp, "lsp_diagnostics", json!({"path": "a.py"})).await;
    assert_eq!(outcome.plain_text(), "a.py: one finds no problems.");
    assert_eq!(outcome.details.unwrap()["files"][0]["fresh"], true);
    lsp.close().await;
}

#[tokio::test]
async fn a_server_that_says_later_that_it_can_be_asked_is_asked() {
    let rig = Rig::new();
    rig.file("a.py", "x = y\n");
    let pull = "textDocument/diagnostic";
    let add = |id: &str| {
        json!({"ask": ["client/registerCapability", {"registrations": [
            {"id": id, "method": pull, "registerOptions": {"identifier": id}},
        ]}]})
    };
    let take = json!({"ask": ["client/unregisterCapability", {"unregisterations": [{"id": "old", "method": pull}]}]});
    let on = json!({
        // The new one is there before the old one goes.
        "textDocument/didOpen": [[add("old"), add("new"), take]],
        "textDocument/diagnostic": [[{"answer": {"kind": "full", "items": [problem("pulled")]}}]],
    });
    let lsp = rig.open(rig.server("one", able(), on));
    for _ in 0..2 {
        let said = text(&lsp, "lsp_diagnostics", json!({"path": "a.py"})).await;
        assert!(said.contains("pulled"), "{said}");
    }
    assert_eq!(rig.sent("one", pull).last().unwrap()["identifier"], "new");
    lsp.close().await;
}

#[tokio::test]
async fn without_a_path_all_that_was_shown_is_told() {
    let rig = Rig::new();
    rig.file("a.py", "x = y\n");
    rig.file("b.py", "x = y\n");
    let on = json!({"textDocument/didOpen": [[publish(json!("$version"), "found")]]});
    let lsp = rig.open(rig.server("one", able(), on));
    let said = text(&lsp, "lsp_diagnostics", json!({})).await;
    assert!(said.starts_with("No file was shown"), "{said}");
    for path in ["a.py", "d/../b.py"] {
        std::fs::create_dir_all(rig.root().join("d")).unwrap();
        text(&lsp, "lsp_diagnostics", json!({"path": path})).await;
    }
    let said = text(&lsp, "lsp_diagnostics", json!({})).await;
    let heads: Vec<&str> = said.lines().filter(|line| line.contains("finds")).collect();
    assert_eq!(heads, ["a.py: one finds 1 problem.", "b.py: one finds 1 problem."]);
    // What is gone is no file any more.
    std::fs::remove_file(rig.root().join("b.py")).unwrap();
    let said = text(&lsp, "lsp_diagnostics", json!({})).await;
    assert!(!said.contains("b.py"), "{said}");
    until("its end was told", || rig.sent("one", "textDocument/didClose").len() == 1).await;
    lsp.close().await;
}

#[tokio::test]
async fn the_document_used_longest_ago_is_closed() {
    assert_eq!(Bounds::default().documents_max, LSP_DOCUMENTS_MAX);
    let rig = Rig::new();
    let on = json!({"textDocument/documentSymbol": [[{"answer": []}]]});
    let lsp = rig.open_with(rig.server("one", able(), on), |bounds| bounds.documents_max = 2);
    for path in ["a.py", "b.py", "a.py", "c.py"] {
        rig.file(path, "");
        text(&lsp, "lsp_symbols", json!({"path": path})).await;
    }
    let closed = rig.sent("one", "textDocument/didClose");
    assert_eq!(closed, [json!({"textDocument": {"uri": rig.uri("b.py")}})]);
    lsp.close().await;
}

#[tokio::test]
async fn a_change_that_is_told_reaches_the_server_before_the_next_question() {
    let rig = Rig::new();
    rig.file("a.py", "x = y\n");
    let on = json!({"textDocument/documentSymbol": [[{"answer": []}]]});
    let lsp = rig.open(rig.server("one", able(), on));
    let told = |name: &str| {
        path::parse(&rig.root().join(name).display().to_string(), &roots(&rig)).unwrap()
    };
    // Before it runs there is nobody to tell.
    lsp.changed(&told("a.py"));
    text(&lsp, "lsp_symbols", json!({"path": "a.py"})).await;
    rig.file("a.py", "x = z\n");
    rig.file("new.py", "");
    rig.file("pyproject.toml", "");
    for name in ["a.py", "new.py", "pyproject.toml"] {
        lsp.changed(&told(name));
    }
    until("the changes were told", || {
        rig.sent("one", "workspace/didChangeWatchedFiles").len() == 3
    })
    .await;
    assert_eq!(rig.sent("one", "textDocument/didChange").len(), 1);
    let opened = rig.sent("one", "textDocument/didOpen");
    let names: Vec<_> = opened.iter().map(|one| one["textDocument"]["uri"].clone()).collect();
    assert_eq!(names, [rig.uri("a.py"), rig.uri("new.py")]);
    std::fs::remove_file(rig.root().join("new.py")).unwrap();
    lsp.changed(&told("new.py"));
    until("the end of a file was told", || {
        rig.sent("one", "workspace/didChangeWatchedFiles").len() == 4
    })
    .await;
    let last = rig.sent("one", "workspace/didChangeWatchedFiles").pop().unwrap();
    assert_eq!(last["changes"][0]["type"], 3);
    lsp.close().await;
}

fn roots(rig: &Rig) -> path::Roots {
    confine::Root::open(&rig.root(), confine::RootOptions::default()).unwrap().roots().clone()
}

#[tokio::test]
async fn changes_beyond_the_bound_are_found_by_the_next_call() {
    let rig = Rig::new();
    rig.file("z.py", "x = y\n");
    let on = json!({"textDocument/documentSymbol": [[{"answer": []}]]});
    let lsp = rig.open(rig.server("one", able(), on));
    text(&lsp, "lsp_symbols", json!({"path": "z.py"})).await;
    rig.file("z.py", "x = z\n");
    let roots = roots(&rig);
    // This thread is the only one, so nobody takes any of them meanwhile.
    for n in 0..LSP_CHANGED_MAX {
        lsp.changed(&path::parse(&format!("a{n}.py"), &roots).unwrap());
    }
    lsp.changed(&path::parse("z.py", &roots).unwrap());
    text(&lsp, "lsp_symbols", json!({"path": "z.py"})).await;
    assert_eq!(rig.sent("one", "textDocument/didChange").len(), 1);
    lsp.close().await;
}
