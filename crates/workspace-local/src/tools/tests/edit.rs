//! The `edit` tool over real files.

use crate::bench::{Bench, details};
use serde_json::json;
use vocab::limits::EDIT_FILE_BYTES_MAX;

#[tokio::test]
async fn every_shape_that_models_write_is_understood() {
    let bench = Bench::new();
    for arguments in [
        json!({"path": "a", "edits": [{"oldText": "one", "newText": "two", "why": "x"}]}),
        json!({"path": "a", "oldText": "one", "newText": "two"}),
        json!({"file_path": "a", "old_string": "one", "new_string": "two"}),
        json!({"path": "a", "edits": r#"[{"oldText": "one", "newText": "two"}]"#}),
        json!({"path": "a", "edits": {"old_text": "one", "new_text": "two"}}),
        json!({"path": "a", "edits": null, "oldText": "one", "newText": "two"}),
    ] {
        bench.file("a", "one\r\n");
        let told = arguments.to_string();
        assert_eq!(bench.text("edit", arguments).await, "Changed 1 place in a", "{told}");
        assert_eq!(bench.content("a"), b"two\r\n", "{told}");
    }
}

#[tokio::test]
async fn an_edit_tells_what_changed() {
    let bench = Bench::new();
    bench.file("src/a.rs", "one\ntwo\nthree\n");
    let edits = json!([{"oldText": "two", "newText": "2"}, {"oldText": "three\n", "newText": ""}]);
    let outcome = bench.call("edit", json!({"path": "src/a.rs", "edits": edits})).await;
    let told = details(&outcome);
    assert_eq!(outcome.plain_text(), "Changed 2 places in src/a.rs");
    assert_eq!(
        told["patch"],
        "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,2 @@\n one\n-two\n-three\n+2\n"
    );
    assert_eq!(told["diff"], " 1 one\n-2 two\n-3 three\n+2 2");
    assert_eq!((&told["firstChangedLine"], &told["bytes"]), (&json!(2), &json!(6)));
    assert_ne!(told["sha256_before"], told["sha256_after"]);
}

#[tokio::test]
async fn a_refused_edit_leaves_the_file_alone() {
    let bench = Bench::new();
    bench.file("a", "x x\n");
    for (edits, code) in [
        (json!([{"oldText": "x", "newText": "y"}]), "edit_ambiguous"),
        (json!([{"oldText": "z", "newText": "y"}]), "edit_not_found"),
        (json!([{"oldText": "", "newText": "y"}]), "edit_old_text_empty"),
        (json!([{"oldText": "x x", "newText": "x x"}]), "edit_no_change"),
        (
            json!([{"oldText": "x x", "newText": "y"}, {"oldText": " x", "newText": ""}]),
            "edit_overlap",
        ),
    ] {
        bench.refused_before("edit", json!({"path": "a", "edits": edits}), code).await;
    }
    assert_eq!(bench.content("a"), b"x x\n");
    let edits = json!([{"oldText": "x", "newText": "y"}]);
    bench.refused_before("edit", json!({"path": "b", "edits": edits}), "not_found").await;
    bench.refused_before("edit", json!({"path": "b/c", "edits": edits}), "not_found").await;
}

#[tokio::test]
async fn a_giant_file_is_not_edited() {
    let bench = Bench::new();
    let path = bench.file("a", "x");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(EDIT_FILE_BYTES_MAX + 1).unwrap();
    bench
        .refused_before("edit", json!({"path": "a", "oldText": "x", "newText": "y"}), "too_large")
        .await;
}

#[test]
fn a_preview_writes_nothing() {
    let edits = [crate::edit::Edit { old: "a".into(), new: "b".into() }];
    let (edited, written) = crate::preview(b"a\n", &edits, "f", &|| true).unwrap();
    assert_eq!((edited.bytes.as_slice(), written.first_changed_line), (&b"b\n"[..], Some(1)));
}
