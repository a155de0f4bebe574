//! The `read` tool over real files.

use crate::bench::{Bench, details};
use serde_json::json;
use vocab::{
    limits::{IMAGE_FILE_BYTES_MAX, TOOL_TEXT_BYTES_MAX},
    outcome::Content,
};

#[tokio::test]
async fn lines_come_as_they_are_with_a_way_to_go_on() {
    let bench = Bench::new();
    bench.file("a", "one\r\ntwo\nthree\n");
    let check = async |arguments: serde_json::Value, wanted: &str| {
        assert_eq!(bench.text("read", arguments).await, wanted);
    };
    check(json!({"path": "a"}), "one\r\ntwo\nthree\n").await;
    check(json!({"path": "@a"}), "one\r\ntwo\nthree\n").await;
    check(json!({"path": bench.root().join("a")}), "one\r\ntwo\nthree\n").await;
    check(json!({"path": "a", "offset": 0, "limit": 0}), "one\r\ntwo\nthree\n").await;
    let more = "two\n\n[1 more lines. Read on with offset=3.]";
    check(json!({"path": "a", "offset": "2", "limit": 1}), more).await;
    check(json!({"path": "a", "offset": 3}), "three\n").await;
    bench.refused_before("read", json!({"path": "a", "offset": 4}), "offset_beyond_end").await;
    bench.file("empty", "");
    check(json!({"path": "empty"}), "").await;
}

#[tokio::test]
async fn a_long_text_is_cut_with_its_total() {
    let bench = Bench::new();
    bench.file("lines", (1..=2_500).map(|n| format!("{n}\n")).collect::<String>());
    let outcome = bench.call("read", json!({"path": "lines"})).await;
    let text = outcome.plain_text();
    assert!(text.ends_with("\n2000\n\n[Lines 1-2000 of 2500. Read on with offset=2001.]"));
    let truncation = &details(&outcome)["truncation"];
    assert_eq!(truncation["truncatedBy"], "lines");
    assert_eq!(
        (&truncation["totalLines"], &truncation["outputLines"]),
        (&json!(2500), &json!(2000))
    );
    bench.file("wide", format!("{}\n", "x".repeat(99)).repeat(1_000));
    let outcome = bench.call("read", json!({"path": "wide"})).await;
    let text = outcome.plain_text();
    assert!(text.ends_with("[Lines 1-512 of 1000 (50.0KB limit). Read on with offset=513.]"));
    bench.file("giant", format!("a\n{}\nb\n", "x".repeat(TOOL_TEXT_BYTES_MAX + 1)));
    let outcome = bench.call("read", json!({"path": "giant", "offset": 2})).await;
    assert!(outcome.plain_text().starts_with("[Line 2 is 50.0KB long"), "{}", outcome.plain_text());
    assert!(outcome.plain_text().contains("sed -n '2p' giant"));
    assert_eq!(details(&outcome)["truncation"]["firstLineExceedsLimit"], true);
}

#[tokio::test]
async fn a_file_of_gigabytes_is_read_in_part() {
    let bench = Bench::new();
    // A hole reads as NUL bytes, behind a beginning that is text.
    let path = bench.file("huge", "line\n".repeat(4_000));
    std::fs::File::options().write(true).open(path).unwrap().set_len(2 << 30).unwrap();
    let text = bench.text("read", json!({"path": "huge", "offset": 5, "limit": 6})).await;
    let wanted =
        format!("{}\n\n[More lines follow. Read on with offset=11.]", ["line"; 6].join("\n"));
    assert_eq!(text, wanted);
}

#[tokio::test]
async fn what_is_no_text_is_refused_with_its_size() {
    let bench = Bench::new();
    bench.file("bin", b"\x7fELF\0\0\0");
    bench.refused_before("read", json!({"path": "bin"}), "binary_file").await;
    bench.refused_before("read", json!({"path": "."}), "is_a_directory").await;
    bench.refused_before("read", json!({"path": "missing"}), "not_found").await;
    bench.refused_before("read", json!({"path": "/etc/passwd"}), "path_outside_root").await;
    let gone =
        format!("stead-artifact://{}/{}", bench.workspace.id(), vocab::ids::ArtifactId::generate());
    bench.refused_before("read", json!({"path": gone}), "artifact_gone").await;
}

#[tokio::test]
async fn a_picture_comes_as_a_picture() {
    let bench = Bench::new();
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(2_400, 10).write_to(&mut png, image::ImageFormat::Png).unwrap();
    bench.file("p.txt", png.get_ref());
    let outcome = bench.call("read", json!({"path": "p.txt"})).await;
    assert!(outcome.plain_text().contains("2400x10, shown at 2000x8"), "{}", outcome.plain_text());
    assert!(
        matches!(&outcome.content[1], Content::Image { media_type, .. } if media_type == "image/png")
    );
    bench.file("broken", &png.get_ref()[..60]);
    let outcome = bench.call("read", json!({"path": "broken"})).await;
    assert_eq!((outcome.content.len(), outcome.failure.is_none()), (1, true));
    assert!(outcome.plain_text().contains("cannot be decoded"));
}

#[tokio::test]
async fn a_giant_picture_is_refused_unread() {
    let bench = Bench::new();
    let path = bench.file("p", b"\x89PNG\r\n\x1a\n");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(IMAGE_FILE_BYTES_MAX + 1).unwrap();
    bench.refused_before("read", json!({"path": "p"}), "too_large").await;
}
