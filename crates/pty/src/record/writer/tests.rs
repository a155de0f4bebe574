//! When what is written, and what goes.

use vocab::limits::RECORD_FILE_BYTES_MAX;

use super::super::tests::{Desk, exit, noise};
use super::*;

#[test]
fn what_is_recorded_is_written_in_blocks() {
    let mut desk = Desk::new();
    let written = |desk: &Desk| desk.told().len() - 1;
    desk.show("a");
    assert_eq!(written(&desk), 0);
    desk.later(RECORD_BLOCK_MS - 1);
    desk.show("b");
    assert_eq!(written(&desk), 0);
    desk.later(1);
    desk.show("c");
    assert_eq!(written(&desk), 3, "it is old");
    desk.show(noise(RECORD_BLOCK_BYTES / 2, 1));
    assert_eq!(written(&desk), 3);
    desk.show(noise(RECORD_BLOCK_BYTES / 2, 2));
    assert_eq!(written(&desk), 5, "it is much");
    desk.show("d");
    desk.recorder.flush();
    assert_eq!(written(&desk), 6, "it is quiet");
    assert_eq!(desk.recorder.block.body.capacity(), 0);
}

#[test]
fn keyframes_come_by_size_and_by_time() {
    let mut desk = Desk::new();
    let chunk = vec![b'x'; 16 << 10];
    for _ in 0..RECORD_KEYFRAME_BYTES / (16 << 10) {
        desk.show(&chunk);
    }
    desk.recorder.flush();
    assert_eq!(desk.n_keyframes(), 1);
    desk.show(&chunk);
    desk.recorder.flush();
    assert_eq!(desk.n_keyframes(), 2);
    // By time only if it was busy.
    desk.later(RECORD_KEYFRAME_MS);
    desk.show("tick");
    desk.recorder.flush();
    assert_eq!(desk.n_keyframes(), 3);
    for _ in 0..10 {
        desk.later(RECORD_KEYFRAME_MS);
        desk.show("tick");
    }
    desk.recorder.flush();
    assert_eq!(desk.n_keyframes(), 3);
}

#[test]
fn the_oldest_segments_go_first() {
    let usual = Room { segment_bytes: RECORD_SEGMENT_BYTES, bytes: RECORD_BYTES_MAX };
    assert_eq!(Room::USUAL, usual);
    let mut desk = Desk::new();
    let room = Room { segment_bytes: 256 << 10, bytes: 4 << 20 };
    desk.recorder.room = room;
    for n in 0..400 {
        // Much is written, and little of it is seen.
        let text = noise(16 << 10, n * 7 + 1);
        desk.show([b"\x1b]777;", &text[..], format!("\x07\r\nline {n}").as_bytes()].concat());
        desk.later(1);
    }
    desk.recorder.flush();
    let segments = desk.segments();
    let n_bytes: u64 = segments.iter().map(|(_, n_bytes)| n_bytes).sum();
    assert!(n_bytes <= room.bytes && 3 <= segments.len(), "{segments:?}");
    let names: Vec<_> = segments.iter().map(|(path, _)| path.file_name().unwrap()).collect();
    assert!(names[0] != "00000001.rec" && names.is_sorted(), "{names:?}");
    // What is left begins with the whole screen and leads to the last one.
    let told = desk.told();
    assert!(told[0].ends_with("jump 20x4"), "{}", told[0]);
    assert_eq!(told.iter().filter(|line| line.contains("jump")).count(), 1);
    let screen = crate::text::of(&desk.mirror);
    assert_eq!(super::super::recover(&desk.files), Some(screen));
    let text = super::super::text(&mut desk.reader()).unwrap();
    assert!(desk.mirror.history_text().iter().all(|line| text.contains(line.as_str())));
}

#[test]
fn many_small_segments_are_bounded() {
    let mut desk = Desk::new();
    for n in 0..RECORD_SEGMENTS_MAX + 10 {
        desk.another_host(None);
        desk.show(format!("{n}"));
        desk.recorder.flush();
    }
    assert_eq!(desk.segments().len(), RECORD_SEGMENTS_MAX);
}

#[test]
fn a_disk_that_is_full_stops_a_recording_for_a_while() {
    let mut desk = Desk::new();
    desk.show("seen");
    desk.recorder.flush();
    desk.lose_the_disk();
    desk.show("12345");
    assert!(desk.recorder.trouble().is_some());
    assert!(!desk.recorder.finish(&desk.mirror, &exit(0)));
    desk.later(RECORD_RETRY_MS - 1);
    desk.show("678");
    desk.find_the_disk();
    desk.show("9");
    assert!(desk.recorder.trouble().is_some(), "it is not tried all the time");
    desk.later(1);
    desk.show("back");
    desk.recorder.flush();
    assert_eq!(desk.recorder.trouble(), None);
    let told = desk.told();
    let expected = ["0 fresh", "0 seen", "10000 jump 20x4", "10000 gap 9", "10000 back"];
    assert_eq!(told, expected);
    assert!(desk.recorder.finish(&desk.mirror, &exit(0)));
    assert!(desk.told().last().unwrap().ends_with("exit Some(0)"));
}

#[test]
fn a_write_that_fails_half_way_leaves_whole_records() {
    let mut desk = Desk::new();
    desk.show("kept");
    desk.recorder.flush();
    let segment = desk.recorder.segment.as_mut().unwrap();
    // Half of a record, as a full disk takes it.
    segment.file.write_all(&[format::BLOCK, 0, 0, 1, 0, 9, 9]).unwrap();
    let n_bytes = segment.n_bytes;
    desk.recorder.pause(&io::ErrorKind::StorageFull.into());
    assert_eq!(desk.segments()[0].1, n_bytes);
    assert_eq!(desk.told(), ["0 fresh", "0 kept"]);
    assert!(n_bytes < RECORD_FILE_BYTES_MAX);
}
