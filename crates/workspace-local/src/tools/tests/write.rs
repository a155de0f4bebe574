//! The `write` tool over real files.

use crate::bench::{Bench, details};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use vocab::limits::WRITE_BYTES_MAX;

#[tokio::test]
async fn a_file_is_made_with_its_directories_and_replaced_with_its_mode() {
    let bench = Bench::new();
    let outcome = bench.call("write", json!({"path": "a/b/c", "content": "é\n"})).await;
    assert_eq!(outcome.plain_text(), "Wrote 3 bytes to a/b/c");
    let told = details(&outcome);
    assert_eq!((&told["bytes"], &told["sha256_before"]), (&json!(3), &json!(null)));
    let path = bench.root().join("a/b/c");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let second = details(&bench.call("write", json!({"path": "a/b/c", "content": ""})).await);
    assert_eq!(second["sha256_before"], told["sha256_after"]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(bench.content("a/b/c"), b"");
}

#[tokio::test]
async fn links_are_followed_inside_and_nothing_else_is_written() {
    let bench = Bench::new();
    bench.file("real", "x");
    std::os::unix::fs::symlink("real", bench.root().join("link")).unwrap();
    std::os::unix::fs::symlink(bench.dir.path().join("outside"), bench.root().join("out")).unwrap();
    bench.text("write", json!({"path": "link", "content": "y"})).await;
    assert_eq!(bench.content("real"), b"y");
    assert!(std::fs::symlink_metadata(bench.root().join("link")).unwrap().is_symlink());
    for (path, code) in
        [("out", "path_outside_root"), (".", "is_a_directory"), ("../x", "path_outside_root")]
    {
        bench.refused_before("write", json!({"path": path, "content": ""}), code).await;
    }
    let (code, _) = bench.refused("write", json!({"path": "real/x", "content": ""})).await;
    assert_eq!(code, "not_a_directory");
    assert!(!bench.dir.path().join("outside").exists());
}

#[tokio::test]
async fn content_beyond_a_call_is_refused() {
    let bench = Bench::new();
    let content = "x".repeat(WRITE_BYTES_MAX + 1);
    let outcome = bench.call("write", json!({"path": "a", "content": content})).await;
    assert_eq!(outcome.failure.unwrap().code, "too_large");
    assert!(!bench.root().join("a").exists());
}
