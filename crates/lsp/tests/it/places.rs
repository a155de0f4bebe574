//! Definitions, references, hovers and symbols.

use serde_json::{Value, json};
use vocab::{
    limits::{
        LSP_HOVER_BYTES_MAX, LSP_MESSAGE_SHOWN_BYTES_MAX, LSP_RESULTS_MAX, LSP_SHOWN_LINE_BYTES_MAX,
    },
    outcome::Effect,
};

use crate::rig::{Rig, able, call, refused, text};

fn range(line: u32, from: u32, to: u32) -> Value {
    json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}})
}

#[tokio::test]
async fn places_are_told_with_their_lines_and_none_outside_is_opened() {
    let rig = Rig::new();
    rig.file("a.py", "x = 1\nprint('äö𝄞', x)\n");
    rig.file("d/b c.py", "from a import x\n");
    let outside =
        json!({"targetUri": "file:///etc/passwd", "targetSelectionRange": range(0, 0, 1)});
    let answer = json!([
        {"uri": rig.uri("a.py"), "range": range(1, 14, 15)},
        {"uri": rig.uri("d/b%20c.py"), "range": range(0, 14, 15)},
        outside,
        {"uri": rig.uri("missing.py"), "range": range(4, 2, 3)},
        {"uri": rig.uri("../sibling"), "range": range(0, 0, 1)},
        {"uri": "untitled:1", "range": range(0, 0, 1)},
    ]);
    let on = json!({
        "textDocument/references": [[{"answer": answer}]],
        "textDocument/definition": [[{"answer": {"uri": "$uri", "range": range(0, 0, 1)}}], [{"answer": null}]],
    });
    let lsp = rig.open(rig.server("one", able(), on));
    let at = json!({"path": "a.py", "line": 2, "symbol": "x"});
    let said = text(&lsp, "lsp_references", at.clone()).await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "a.py:2:14: print('äö𝄞', x)");
    assert_eq!(lines[1], "d/b c.py:1:15: from a import x");
    assert_eq!(lines[2], "outside the workspace, not opened: file:///etc/passwd, line 1");
    assert_eq!(lines[3], "missing.py:5:3");
    assert!(lines[4].starts_with("outside the workspace"), "{said}");
    assert!(lines[5].starts_with("outside the workspace"), "{said}");
    // The place was counted as this server counts: one character takes two of its units.
    let asked = rig.sent("one", "textDocument/references");
    assert_eq!(asked[0]["position"], json!({"line": 1, "character": 14}));
    assert_eq!(text(&lsp, "lsp_definition", at.clone()).await, "a.py:1:1: x = 1");
    assert_eq!(text(&lsp, "lsp_definition", at).await, "No definition was found.");
    lsp.close().await;
}

#[tokio::test]
async fn a_place_is_named_by_symbol_or_column_in_every_encoding() {
    for (encoding, units) in [("utf-8", 15), ("utf-16", 11), ("utf-32", 10)] {
        let rig = Rig::new();
        rig.file("a.py", "print('äö𝄞', x)\r\n");
        let mut able = able();
        able["positionEncoding"] = json!(encoding);
        let on = json!({"textDocument/hover": [[{"answer": {"contents": "it"}}]]});
        let lsp = rig.open(rig.server("one", able, on));
        for place in [json!({"column": 11}), json!({"column": "11", "symbol": "print"})] {
            let mut at = json!({"path": "a.py", "line": 1});
            at.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
            assert_eq!(text(&lsp, "lsp_hover", at).await, "it");
        }
        let asked = rig.sent("one", "textDocument/hover");
        assert_eq!(asked[0]["position"]["character"], units, "{encoding}");
        assert_eq!(asked[1], asked[0]);
        let check = async |at: Value, code: &str| {
            let failure = refused(&lsp, "lsp_hover", at).await;
            assert_eq!((failure.code.as_str(), failure.effect), (code, Effect::NotStarted));
        };
        check(json!({"path": "a.py", "line": 1}), "invalid_arguments").await;
        check(json!({"path": "a.py", "line": 9, "column": 1}), "no_such_place").await;
        check(json!({"path": "a.py", "line": 1, "column": 99}), "no_such_place").await;
        check(json!({"path": "a.py", "line": 1, "symbol": "nowhere"}), "no_such_place").await;
        lsp.close().await;
    }
}

#[tokio::test]
async fn a_hover_is_read_in_every_shape_and_cut() {
    let rig = Rig::new();
    rig.file("a.py", "x = 1\n");
    let long = "y".repeat(LSP_HOVER_BYTES_MAX + 1);
    let shapes = json!([
        [{"answer": {"contents": {"kind": "markdown", "value": "one\u{1b}[31m"}}}],
        [{"answer": {"contents": ["two", {"language": "python", "value": "three"}]}}],
        [{"answer": null}],
        [{"answer": {"contents": long}}],
    ]);
    let lsp = rig.open(rig.server("one", able(), json!({"textDocument/hover": shapes})));
    let at = json!({"path": "a.py", "line": 1, "symbol": "x"});
    for wanted in ["one[31m", "two\n\nthree", "Nothing is known about this place."] {
        assert_eq!(text(&lsp, "lsp_hover", at.clone()).await, wanted);
    }
    let cut = text(&lsp, "lsp_hover", at).await;
    assert_eq!(cut.len(), LSP_HOVER_BYTES_MAX + "…".len());
    lsp.close().await;
}

#[tokio::test]
async fn symbols_of_a_file_are_a_tree_and_those_of_the_project_are_found_by_name() {
    let rig = Rig::new();
    rig.file("a.py", "class A:\n    def f(self): pass\n");
    let tree = json!([{
        "name": "A", "kind": 5, "range": range(0, 0, 8), "selectionRange": range(0, 6, 7),
        "children": [{"name": "f", "kind": 6, "range": range(1, 4, 8), "selectionRange": range(1, 8, 9)}],
    }]);
    let found = json!([
        {"name": "A", "kind": 5, "location": {"uri": rig.uri("a.py"), "range": range(0, 6, 7)}},
        {"name": "B", "kind": 99, "location": {"uri": "file:///usr/x.py", "range": range(0, 0, 1)}},
    ]);
    let on = json!({
        "textDocument/documentSymbol": [[{"answer": tree}]],
        "workspace/symbol": [[{"answer": found}], [{"answer": []}]],
    });
    let lsp = rig.open(rig.server("one", able(), on));
    let said = text(&lsp, "lsp_symbols", json!({"query": "A"})).await;
    let wanted = "class A  a.py:1:7: class A:\nsymbol B  outside the workspace, not opened: file:///usr/x.py, line 1";
    assert_eq!(said, wanted);
    let said = text(&lsp, "lsp_symbols", json!({"path": "a.py"})).await;
    assert_eq!(said, "1:7 class A\n  2:9 method f");
    let said = text(&lsp, "lsp_symbols", json!({"path": "a.py", "query": "nobody"})).await;
    assert_eq!(said, "No symbol was found.");
    assert_eq!(refused(&lsp, "lsp_symbols", json!({"query": ""})).await.code, "invalid_arguments");
    lsp.close().await;
}

#[tokio::test]
async fn results_are_bounded_and_say_so() {
    let rig = Rig::new();
    rig.file("a.py", format!("x = '{}'\n", "y".repeat(2 * LSP_SHOWN_LINE_BYTES_MAX)));
    let n = LSP_RESULTS_MAX + 1;
    let place = json!({"uri": rig.uri("a.py"), "range": range(0, 0, 1)});
    let message = "m".repeat(LSP_MESSAGE_SHOWN_BYTES_MAX + 1);
    let problem = json!({"range": range(0, 0, 1), "message": message});
    let symbol =
        json!({"name": "x", "kind": 13, "range": range(0, 0, 1), "selectionRange": range(0, 0, 1)});
    let on = json!({
        "textDocument/references": [[{"answer": vec![place; n]}]],
        "textDocument/documentSymbol": [[{"answer": vec![symbol; n]}]],
        "textDocument/didOpen": [[{"publish": {"version": "$version", "diagnostics": vec![problem; n]}}]],
    });
    let lsp = rig.open(rig.server("one", able(), on));
    let shown = format!("[{LSP_RESULTS_MAX} of {n} are shown.]");
    let at = json!({"path": "a.py", "line": 1, "symbol": "x"});
    let said = text(&lsp, "lsp_references", at).await;
    assert_eq!(said.lines().count(), LSP_RESULTS_MAX + 1);
    assert_eq!(said.lines().last(), Some(shown.as_str()));
    let most = LSP_SHOWN_LINE_BYTES_MAX + "a.py:1:1: …".len();
    assert_eq!(said.lines().next().unwrap().len(), most);
    let said = text(&lsp, "lsp_symbols", json!({"path": "a.py"})).await;
    assert_eq!(said.lines().last(), Some(shown.as_str()));
    let outcome = call(&lsp, "lsp_diagnostics", json!({"path": "a.py"})).await;
    assert_eq!(outcome.plain_text().lines().last(), Some(shown.as_str()));
    let details = outcome.details.unwrap();
    let one = &details["files"][0]["diagnostics"][0]["message"];
    assert_eq!(one.as_str().unwrap().len(), LSP_MESSAGE_SHOWN_BYTES_MAX + "…".len());
    lsp.close().await;
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused() {
    let rig = Rig::new();
    let most = usize::try_from(vocab::limits::LSP_DOCUMENT_BYTES_MAX).unwrap();
    rig.file("most.py", "#".repeat(most));
    rig.file("more.py", "#".repeat(most + 1));
    rig.file("bytes.py", b"x = '\xff'\n");
    rig.file("a.rs", "");
    rig.file("a.xyz", "");
    std::os::unix::fs::symlink("/etc/passwd", rig.root().join("link.py")).unwrap();
    std::os::unix::fs::symlink("/etc", rig.root().join("etc")).unwrap();
    let on = json!({"textDocument/documentSymbol": [[{"answer": []}]]});
    let lsp = rig.open(rig.server("one", able(), on));
    assert_eq!(text(&lsp, "lsp_symbols", json!({"path": "most.py"})).await, "No symbol was found.");
    for (path, code) in [
        ("more.py", "too_large"),
        ("bytes.py", "not_text"),
        ("missing.py", "not_found"),
        ("a.rs", "no_language_server"),
        ("a.xyz", "no_language_server"),
        ("link.py", "path_outside_root"),
        ("../a.py", "path_outside_root"),
        ("etc/../b.py", "path_outside_root"),
        ("/etc/a.py", "path_outside_root"),
        ("file:///etc/a.py", "path_outside_root"),
    ] {
        for tool in ["lsp_symbols", "lsp_diagnostics"] {
            let failure = refused(&lsp, tool, json!({"path": path})).await;
            assert_eq!(
                (failure.code.as_str(), failure.effect),
                (code, Effect::NotStarted),
                "{path}"
            );
        }
    }
    let opened = rig.sent("one", "textDocument/didOpen");
    assert_eq!(opened.len(), 1, "{opened:?}");
    lsp.close().await;
}

#[tokio::test]
async fn what_a_server_does_not_offer_is_told_and_what_it_adds_later_is_used() {
    let rig = Rig::new();
    rig.file("a.py", "x = 1\n");
    let registration = json!({"registrations": [{"id": "1", "method": "textDocument/hover"}]});
    let taken = json!({"unregisterations": [{"id": "1", "method": "textDocument/hover"}]});
    let on = json!({
        "textDocument/documentSymbol": [
            [{"ask": ["client/registerCapability", registration]}, {"answer": []}],
            [{"ask": ["client/unregisterCapability", taken]}, {"answer": []}],
        ],
        "textDocument/hover": [[{"answer": {"contents": "it"}}]],
    });
    let lsp = rig.open(rig.server("one", json!({"documentSymbolProvider": {}}), on));
    let at = json!({"path": "a.py", "line": 1, "symbol": "x"});
    let failure = refused(&lsp, "lsp_hover", at.clone()).await;
    assert_eq!(
        (failure.code.as_str(), failure.effect),
        ("method_not_supported", Effect::NotStarted)
    );
    text(&lsp, "lsp_symbols", json!({"path": "a.py"})).await;
    assert_eq!(text(&lsp, "lsp_hover", at.clone()).await, "it");
    text(&lsp, "lsp_symbols", json!({"path": "a.py"})).await;
    assert_eq!(refused(&lsp, "lsp_hover", at).await.code, "method_not_supported");
    lsp.close().await;
}
