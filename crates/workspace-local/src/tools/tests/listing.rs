//! The `ls` and `find` tools over real directories.

#![expect(clippy::disallowed_methods, reason = "tests arrange and look at real files")]

use crate::bench::{Bench, details};
use serde_json::json;
use std::os::unix::{ffi::OsStrExt, fs::symlink};
use vocab::limits::{LS_LIMIT_DEFAULT, SEARCH_BYTES_MAX};

#[tokio::test]
async fn ls_lists_in_order_and_marks_what_links_lead_to() {
    let bench = Bench::new();
    for name in ["b", "A", ".hidden", "dir/x", "z\nz"] {
        bench.file(name, "");
    }
    bench.file(std::ffi::OsStr::from_bytes(b"odd\xff").to_str().unwrap_or("odd"), "");
    for (target, name) in [("dir", "l1"), ("gone", "l2"), ("/etc", "l3"), ("l4", "l4"), ("b", "l5")]
    {
        symlink(target, bench.root().join(name)).unwrap();
    }
    let wanted = ".hidden\nA\nb\ndir/\nl1/\nl2 (broken link)\nl3 (link out of the workspace)\n\
                  l4 (link in a circle)\nl5\nodd\nz\\nz";
    assert_eq!(bench.text("ls", json!({})).await, wanted);
    assert_eq!(bench.text("ls", json!({"path": "l1"})).await, "x");
    let outcome = bench.call("ls", json!({"limit": 2})).await;
    assert_eq!(outcome.plain_text(), ".hidden\nA\n\n[2 of 11 entries, limit=4 shows more]");
    assert_eq!(details(&outcome)["entryLimitReached"], 2);
    assert_eq!(bench.text("read", json!({"path": "z\\nz"})).await, "");
    bench.refused_before("ls", json!({"path": "b"}), "not_a_directory").await;
    bench.refused_before("ls", json!({"path": "none"}), "not_found").await;
    bench.text("bash", json!({"command": "mkdir many; cd many; seq 1 600 | xargs touch"})).await;
    let outcome = bench.call("ls", json!({"path": "many"})).await;
    assert_eq!(details(&outcome)["entryLimitReached"], LS_LIMIT_DEFAULT);
    bench.text("bash", json!({"command": "mkdir empty"})).await;
    assert_eq!(bench.text("ls", json!({"path": "empty"})).await, "(empty directory)");
}

#[tokio::test]
async fn find_sorts_and_says_what_it_left_out() {
    let bench = Bench::new();
    for name in ["b.ts", "a/c.ts", "a/d/e.ts", "a-b.ts", ".hid/f.ts", "out/g.ts", "a/x.rs", "-n.ts"]
    {
        bench.file(name, "");
    }
    bench.file(".gitignore", "out/\n");
    let all = ".hid/f.ts\n-n.ts\na/c.ts\na/d/e.ts\na-b.ts\nb.ts";
    let outcome = bench.call("find", json!({"pattern": "*.ts"})).await;
    let mut found: Vec<String> = outcome.plain_text().lines().map(str::to_owned).collect();
    let mut wanted: Vec<&str> = all.lines().collect();
    assert_eq!(details(&outcome)["skipped"]["ignored"], 1);
    let again = bench.text("find", json!({"pattern": "*.ts"})).await;
    assert_eq!(again, outcome.plain_text());
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    assert_eq!(bench.text("find", json!({"pattern": "a/*.ts"})).await, "a/c.ts");
    assert_eq!(bench.text("find", json!({"pattern": "d"})).await, "a/d/");
    assert_eq!(bench.text("find", json!({"pattern": "*.ts", "path": "a"})).await, "c.ts\nd/e.ts");
    let outcome = bench.call("find", json!({"pattern": "*.ts", "limit": 2})).await;
    assert_eq!(details(&outcome)["resultLimitReached"], 2);
    assert!(outcome.plain_text().ends_with("[First 2 results, limit=4 shows more]"));
    let none = bench.text("find", json!({"pattern": "g.ts"})).await;
    assert_eq!(none, "No files found that fit the pattern (1 ignored entries were passed over)");
    bench.refused_before("find", json!({"pattern": "a["}), "invalid_pattern").await;
    bench.refused_before("find", json!({"pattern": "x", "path": "b.ts"}), "not_a_directory").await;
    bench.refused_before("find", json!({"pattern": "x", "path": "none"}), "not_found").await;
}

#[tokio::test]
async fn searches_and_listings_hold_a_bounded_text() {
    let bench = Bench::new();
    // Each byte of these names is shown as four.
    for n in 0..SEARCH_BYTES_MAX / 1_000 + 100 {
        let name = [format!("{n:05}").as_bytes(), &[0xff; 250]].concat();
        std::fs::write(bench.root().join(std::ffi::OsStr::from_bytes(&name)), "").unwrap();
    }
    let line = format!("x{}\n", "y".repeat(199));
    for n in 0..SEARCH_BYTES_MAX / 200_000 {
        bench.file(&format!("text/{n}"), line.repeat(1_000));
    }
    let check = async |tool: &str, arguments: serde_json::Value| {
        let outcome = bench.call(tool, arguments).await;
        let told = details(&outcome);
        let total = usize::try_from(told["truncation"]["totalBytes"].as_u64().unwrap()).unwrap();
        assert!(SEARCH_BYTES_MAX / 2 < total && total <= SEARCH_BYTES_MAX, "{tool}: {total}");
        outcome.plain_text()
    };
    check("ls", json!({"limit": 100_000})).await;
    let text = check("find", json!({"pattern": "0*", "limit": 100_000})).await;
    assert!(text.contains("[The search ended after "), "{text}");
    let text = check("grep", json!({"pattern": "x", "limit": 100_000})).await;
    assert!(text.contains("[The search ended after "), "{text}");
    let workspace = &bench.workspace;
    let paths = workspace.glob(bench.at("."), "0*".into(), 100_000).await.map(drop);
    let lines = workspace.grep(bench.at("."), "x".into(), 100_000).await.map(drop);
    for refused in [paths, lines] {
        assert_eq!(refused.unwrap_err().code, "too_many_results");
    }
}
