//! The `grep` tool over real files.

use crate::bench::{Bench, details};
use serde_json::json;
use vocab::limits::{GREP_FILE_BYTES_MAX, GREP_HEAP_BYTES_MAX, GREP_LINE_CHARS_MAX};

#[tokio::test]
async fn grep_finds_lines_with_what_stands_around_them() {
    let bench = Bench::new();
    bench.file("a.txt", "one\ntwo\r\nthree\nfour\n-x\n");
    bench.file("d/b.rs", "Two\n");
    let check = async |arguments: serde_json::Value, wanted: &str| {
        let told = arguments.to_string();
        assert_eq!(bench.text("grep", arguments).await, wanted, "{told}");
    };
    check(json!({"pattern": "t[wh]"}), "a.txt:2: two\na.txt:3: three").await;
    check(json!({"pattern": "two$"}), "a.txt:2: two").await;
    check(json!({"pattern": "two", "ignoreCase": true, "glob": "*.rs"}), "d/b.rs:1: Two").await;
    check(json!({"pattern": "two", "ignoreCase": true, "glob": "!*.rs"}), "a.txt:2: two").await;
    check(json!({"pattern": "two", "context": 1}), "a.txt-1- one\na.txt:2: two\na.txt-3- three")
        .await;
    check(json!({"pattern": "Two", "path": "d"}), "b.rs:1: Two").await;
    check(json!({"pattern": "Two", "path": "d/b.rs"}), "b.rs:1: Two").await;
    check(json!({"pattern": "-x"}), "a.txt:5: -x").await;
    check(json!({"pattern": "t.o", "literal": true}), "No matches found").await;
    bench.refused_before("grep", json!({"pattern": "("}), "invalid_pattern").await;
    bench.refused_before("grep", json!({"pattern": "a\\nb"}), "invalid_pattern").await;
    bench.refused_before("grep", json!({"pattern": "a", "path": "none"}), "not_found").await;
}

#[tokio::test]
async fn grep_stops_at_its_limit_in_one_order() {
    let bench = Bench::new();
    for n in 0..60 {
        bench.file(&format!("d{}/f{n:02}", n % 7), "before\nx 1\nx 2\nafter\n");
    }
    let first = bench.call("grep", json!({"pattern": "x"})).await;
    assert_eq!(details(&first)["matchLimitReached"], 100);
    let limited = json!({"pattern": "x", "limit": 3, "context": 1});
    let wanted = "d0/f00-1- before\nd0/f00:2: x 1\nd0/f00:3: x 2\nd0/f00-4- after\nd0/f07-1- before\n\
                  d0/f07:2: x 1\n\n[First 3 matches, limit=6 shows more, or narrow the pattern]";
    for _ in 0..20 {
        assert_eq!(bench.text("grep", limited.clone()).await, wanted);
        assert_eq!(bench.call("grep", json!({"pattern": "x"})).await, first);
    }
    let exact = bench.call("grep", json!({"pattern": "x 1", "limit": 60})).await;
    assert_eq!(details(&exact).get("matchLimitReached"), None);
}

#[tokio::test]
async fn grep_cuts_long_lines_and_says_so() {
    let bench = Bench::new();
    bench.file("a", format!("{}\n", "é".repeat(GREP_LINE_CHARS_MAX + 1)));
    let outcome = bench.call("grep", json!({"pattern": "éé"})).await;
    let line = outcome.plain_text().lines().next().unwrap().to_owned();
    assert_eq!(line, format!("a:1: {}… [cut]", "é".repeat(GREP_LINE_CHARS_MAX)));
    assert_eq!(details(&outcome)["linesTruncated"], true);
}

#[tokio::test]
async fn grep_holds_a_bounded_text_of_one_file() {
    let bench = Bench::new();
    let line = format!("x{}\n", "y".repeat(99));
    bench.file("a", line.repeat(2 * GREP_FILE_BYTES_MAX / line.len()));
    bench.file("b", "x\n");
    let check = async |arguments: serde_json::Value, wanted: &str| {
        let outcome = bench.call("grep", arguments).await;
        let told = details(&outcome);
        let total = usize::try_from(told["truncation"]["totalBytes"].as_u64().unwrap()).unwrap();
        assert!(total <= GREP_FILE_BYTES_MAX, "{total}");
        assert_eq!(told["bytesLimitReached"], true);
        let text = outcome.plain_text();
        assert!(text.contains(wanted), "{}", &text[text.len() - 200..]);
    };
    check(json!({"pattern": "x", "limit": 100_000}), "[The search ended after 1").await;
    // The first match alone has more around it than may be held.
    bench.file("a", format!("x\n{}x\n", line.repeat(1_000).replace('x', &"é".repeat(400))));
    let wide = json!({"pattern": "x", "limit": 100_000, "context": 1_000});
    check(wide, "[The search ended after 1 matches").await;
}

#[tokio::test]
async fn grep_says_what_it_passed_over() {
    let bench = Bench::new();
    bench.file(".gitignore", "build\n");
    bench.file("build/a", "needle");
    bench.file("bin", b"needle\0");
    bench.file("wide", "x".repeat(GREP_HEAP_BYTES_MAX + 1));
    let outcome = bench.call("grep", json!({"pattern": "needle"})).await;
    let skipped = &details(&outcome)["skipped"];
    let counts = ["ignored", "binary", "too_large", "unreadable"].map(|why| skipped[why].as_u64());
    assert_eq!(counts, [Some(1), Some(1), Some(1), Some(0)]);
    assert_eq!(
        outcome.plain_text(),
        "No matches found (passed over: 1 ignored, 1 binary, 1 too large)"
    );
    // What is named itself is searched, whatever the rules say.
    assert_eq!(
        bench.text("grep", json!({"pattern": "needle", "path": "build/a"})).await,
        "a:1: needle"
    );
}
