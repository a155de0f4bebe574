//! Texts of others: skills, paths, event streams, the frames of a job's host, and what terminals draw.

use agent::project::Project;
use screen::{Depth, Mirror, Size};
use vocab::{
    limits::{PROJECT_BYTES_MAX, SKILL_DESCRIPTION_BYTES_MAX},
    path::{self, Flavor, Roots, Spelling},
};

/// A skill is told on one line, or left out with a reason.
pub(crate) fn skill(bytes: &[u8]) {
    let mut project = Project::default();
    project.teach("dir", "path", bytes);
    project.tell("file", bytes);
    let section = project.section("here");
    assert!(section.len() <= PROJECT_BYTES_MAX + SKILL_DESCRIPTION_BYTES_MAX + 4_096);
    assert!(section.matches("</project_file>").count() <= 1, "a file ends once");
    let told = section.lines().filter(|line| line.ends_with("(path)")).count();
    assert!(told <= 1 || section.contains("<project_file"), "{section}");
}

/// A path that is read has no way up that the text did not have, and is read the same once more.
pub(crate) fn path(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for flavor in [Flavor::Posix, Flavor::Windows] {
        let root = if flavor == Flavor::Posix { "/srv/root" } else { "C:\\root" };
        let workspace = Spelling { registered: root.into(), real: root.into() };
        let roots = Roots { flavor, workspace, temp: None, home: None };
        drop(path::parse_new(text, &roots));
        drop(path::candidates(text, &roots));
        let Ok(parsed) = path::parse(text, &roots) else { continue };
        let mut depth = 0_i64;
        for component in parsed.components() {
            depth += if matches!(component, path::Component::Parent) { -1 } else { 1 };
            assert!(depth >= 0 || text.contains(".."), "{text:?}");
        }
    }
}

/// Events of vendors are the same wherever the stream is cut.
pub(crate) fn vendor_events(bytes: &[u8]) {
    let read = |pieces: &[&[u8]]| {
        let (mut decoder, mut events) = (provider::sse::Decoder::default(), Vec::new());
        let fed = pieces.iter().try_for_each(|piece| decoder.feed(piece, &mut events));
        (events, fed.is_ok())
    };
    let (front, back) = bytes.split_at(bytes.len() / 2);
    assert_eq!(read(&[bytes]), read(&[front, back]));
}

/// Events of the daemon are the same wherever the stream is cut.
pub(crate) fn daemon_events(bytes: &[u8]) {
    let read = |pieces: &[&[u8]]| {
        let (mut decoder, mut events) = (api::sse::Decoder::default(), Vec::new());
        let fed = pieces.iter().try_for_each(|piece| decoder.feed(piece, &mut events));
        (events, fed.is_ok())
    };
    let (front, back) = bytes.split_at(bytes.len() / 2);
    assert_eq!(read(&[bytes]), read(&[front, back]));
}

/// Frames of a host are the same wherever the stream is cut.
pub(crate) fn host_frames(bytes: &[u8]) {
    let read = |pieces: &[&[u8]]| {
        let (mut decoder, mut found) = (pty::frame::Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.push(piece);
            loop {
                match decoder.take() {
                    Ok(Some(frame)) => found.push((frame.kind, frame.payload)),
                    Ok(None) => break,
                    Err(_) => return (found, true),
                }
            }
        }
        (found, false)
    };
    let (front, back) = bytes.split_at(bytes.len() / 2);
    assert_eq!(read(&[bytes]), read(&[front, back]));
}

/// What rebuilds a terminal rebuilds it, whatever was drawn and however it came.
pub(crate) fn screen(bytes: &[u8]) {
    let size = Size::clamped(40, 8);
    let mut mirror = Mirror::new(size);
    let (front, back) = bytes.split_at(bytes.len() / 2);
    mirror.feed(front);
    mirror.feed(back);
    let mut whole = Mirror::new(size);
    whole.feed(bytes);
    assert_eq!(mirror.snapshot(Depth::History), whole.snapshot(Depth::History), "cut in two");
    let mut again = Mirror::new(size);
    again.feed(&mirror.snapshot(Depth::History));
    assert_eq!(mirror.title(), again.title());
    mirror.resize(Size::clamped(7, 3));
    mirror.feed(front);
    drop(mirror.snapshot(Depth::History));
}
