//! Artifacts are private, bounded, and gone when their place is closed.

use super::*;
use std::{io::Read, os::unix::fs::MetadataExt};

fn store(dir: &Path, clock: &Clock, bounds: Bounds) -> Store {
    Store::open(&dir.join("a"), &WorkspaceId("w".into()), bounds, clock).unwrap()
}

fn keep(store: &Store, bytes: &[u8]) -> String {
    let mut writer = store.create().unwrap();
    writer.push(bytes);
    store.uri(writer.id())
}

fn read(store: &Store, uri: &str) -> Result<Vec<u8>, String> {
    let (mut file, size) = store.read(uri).map_err(|failure| failure.code)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len() as u64, size);
    Ok(bytes)
}

#[test]
fn artifacts_are_private_and_removed_on_close() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path(), &Clock::system(), Bounds::default());
    let uri = keep(&store, b"all of it");
    assert!(uri.starts_with("stead-artifact://w/art_"));
    assert_eq!(read(&store, &uri).unwrap(), b"all of it");
    let file = fs::read_dir(dir.path().join("a")).unwrap().next().unwrap().unwrap();
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    for (uri, code) in [
        (uri.replace("//w/", "//v/"), "wrong_workspace"),
        ("stead-artifact://w/../../etc/passwd".into(), "artifact_malformed"),
        ("stead-artifact://w".into(), "artifact_malformed"),
        (store.uri(&ArtifactId::generate()), "artifact_gone"),
    ] {
        assert_eq!(read(&store, &uri).unwrap_err(), code, "{uri}");
    }
    store.close();
    assert!(!dir.path().join("a").exists());
}

#[test]
fn artifacts_are_bounded_each_and_together_and_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(Timestamp::from_millis(1_000));
    let bounds = Bounds { bytes: 4, total_bytes: 10, ttl: Duration::from_secs(60) };
    let store = store(dir.path(), &clock, bounds);
    let mut writer = store.create().unwrap();
    writer.push(b"abc");
    writer.push(b"def");
    writer.push(b"g");
    assert_eq!(writer.dropped(), 3);
    let first = store.uri(writer.id());
    drop(writer);
    assert_eq!(read(&store, &first).unwrap(), b"abcd");
    let (second, third) = (keep(&store, b"1234"), keep(&store, b"1234"));
    assert_eq!(read(&store, &first).unwrap_err(), "artifact_gone");
    assert!(read(&store, &second).is_ok());
    clock.advance(Duration::from_secs(60));
    assert_eq!(read(&store, &third).unwrap_err(), "artifact_gone");
}

#[test]
fn no_more_artifacts_are_kept_than_a_directory_bears() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(dir.path(), &Clock::system(), Bounds::default());
    let uris: Vec<String> = (0..=ARTIFACTS_MAX).map(|_| keep(&store, b"x")).collect();
    assert_eq!(read(&store, &uris[0]).unwrap_err(), "artifact_gone");
    assert!(read(&store, &uris[1]).is_ok());
}
