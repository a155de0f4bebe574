//! A command's output as it arrives in pieces, without a command.

#![expect(clippy::disallowed_methods, reason = "tests arrange and look at real files")]

use super::*;
use crate::truncate::Cut;
use std::io::Read;
use stdx::clock::Clock;
use vocab::ids::WorkspaceId;

fn collect(chunks: &[&[u8]]) -> (Collected, Vec<u8>, String) {
    let dir = tempfile::tempdir().unwrap();
    let id = WorkspaceId("w".into());
    let bounds = artifact::Bounds::default();
    let store = Store::open(&dir.path().join("a"), &id, bounds, &Clock::system()).unwrap();
    let mut collector = Collector::new(store.clone());
    let told: String = chunks.iter().map(|chunk| collector.push(chunk)).collect();
    let collected = collector.finish();
    let mut full = Vec::new();
    if let Some(uri) = &collected.artifact {
        store.read(uri).unwrap().0.read_to_end(&mut full).unwrap();
    }
    (collected, full, told)
}

#[test]
fn characters_cut_by_chunks_arrive_whole() {
    let text = "aé€😀b";
    for cut in 0..text.len() {
        let (one, two) = text.as_bytes().split_at(cut);
        let (collected, _, told) = collect(&[one, two]);
        assert_eq!((collected.text.as_str(), told.as_str()), (text, text));
    }
    assert_eq!(collect(&[b"a\xf0\x9f", b"b\xff"]).0.text, "a\u{fffd}b\u{fffd}");
    assert_eq!(collect(&[b"a\xe2\x82"]).0.text, "a\u{fffd}");
}

#[test]
fn totals_are_those_of_the_whole_output_and_all_of_it_is_kept() {
    let lines: Vec<String> = (1..=30_000).map(|n| format!("line number {n}\n")).collect();
    let all = lines.concat();
    let chunks: Vec<&[u8]> = all.as_bytes().chunks(7_001).collect();
    let (collected, full, _) = collect(&chunks);
    assert_eq!(full, all.as_bytes());
    let facts = collected.truncation;
    assert_eq!((facts.total_lines, facts.total_bytes), (30_000, all.len() as u64));
    assert_eq!((facts.by, facts.output_lines), (Some(Cut::Lines), 2_000));
    assert!(collected.text.starts_with("line number 28001\n"));
    assert!(collected.text.ends_with("line number 30000"));
}

#[test]
fn bytes_are_counted_as_they_came() {
    let bytes = [0xff; 40_000];
    let (collected, full, _) = collect(&[&bytes, b"\xe2\x82"]);
    assert_eq!(full.len(), 40_002);
    let facts = collected.truncation;
    // Each became three bytes of text, and so the text is cut.
    assert_eq!((facts.total_bytes, facts.by), (40_002, Some(Cut::Bytes)));
}

#[test]
fn many_short_lines_and_one_long_line_both_have_an_artifact() {
    let (collected, full, _) = collect(&["x\n".repeat(2_001).as_bytes()]);
    assert_eq!((collected.truncation.by, full.len()), (Some(Cut::Lines), 4_002));
    let long = "y".repeat(300_000);
    let (collected, full, _) = collect(&[b"a\n", long.as_bytes(), b"z"]);
    assert!(collected.truncation.last_line_partial && collected.text.ends_with("yz"));
    assert_eq!((collected.last_line_bytes, full.len()), (300_001, 300_003));
    assert_eq!(collected.text.len(), TOOL_TEXT_BYTES_MAX);
    assert!(collect(&[b"a\n"]).0.artifact.is_none());
    assert_eq!(collect(&[]).0.text, "");
}

#[test]
fn output_without_a_place_is_dropped_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let (id, bounds) = (WorkspaceId("w".into()), artifact::Bounds::default());
    let store = Store::open(&path, &id, bounds, &Clock::system()).unwrap();
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, "no directory").unwrap();
    let mut collector = Collector::new(store);
    let chunk = [b'x'; 64 * 1024];
    for _ in 0..400 {
        collector.push(&chunk);
        let raw = match &collector.kept {
            Kept::Memory(raw) => raw.capacity(),
            Kept::Artifact(_) | Kept::Nowhere { .. } => 0,
        };
        let held = raw + collector.tail.capacity() + collector.partial.capacity();
        assert!(held <= 8 * TAIL_BYTES, "{held}");
    }
    let collected = collector.finish();
    assert_eq!(collected.text.len(), TOOL_TEXT_BYTES_MAX);
    assert_eq!((collected.artifact, collected.dropped), (None, 400 * 64 * 1024));
}

#[test]
fn a_watcher_who_does_not_look_costs_a_bounded_memory() {
    let pending = Pending::default();
    for _ in 0..100 {
        pending.push(&"é".repeat(10_000));
    }
    pending.push("end");
    let text = pending.take().unwrap();
    assert!(text.len() <= PROGRESS_PENDING_BYTES_MAX && text.ends_with("éend"));
    assert_eq!(pending.take(), None);
}
