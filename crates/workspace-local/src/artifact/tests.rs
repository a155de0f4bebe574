//! Artifacts are private, bounded, and stay when their place is closed.

use super::*;
use std::{
    io::Read,
    os::unix::fs::{MetadataExt, symlink},
};

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
fn artifacts_are_private_and_named() {
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
}

#[test]
fn what_an_earlier_process_kept_is_kept_on() {
    let dir = tempfile::tempdir().unwrap();
    let (clock, place) = (Clock::system(), dir.path().join("a"));
    let bounds = Bounds { bytes: 4, total_bytes: 10, ttl: Duration::from_secs(3_600) };
    let first = store(dir.path(), &clock, bounds);
    let old = keep(&first, b"1234");
    let mut cut = first.create().unwrap();
    cut.push(b"567");
    let young = first.uri(cut.id());
    // As a process does that is killed: nobody ends what is open.
    std::mem::forget(cut);
    let id = old.rsplit('/').next().unwrap();
    let earlier = std::time::SystemTime::now() - Duration::from_secs(60);
    File::options().write(true).open(place.join(id)).unwrap().set_modified(earlier).unwrap();
    // None of these is an artifact.
    fs::write(place.join("note"), "x").unwrap();
    symlink("note", place.join(ArtifactId::generate().as_str())).unwrap();
    fs::create_dir(place.join(ArtifactId::generate().as_str())).unwrap();

    let second = store(dir.path(), &clock, bounds);
    assert_eq!(second.kept().len(), 2);
    assert_eq!(read(&second, &old).unwrap(), b"1234");
    assert_eq!(read(&second, &young).unwrap(), b"567");
    // They count as what they are, and the oldest goes first.
    let new = keep(&second, b"8901");
    assert_eq!(read(&second, &old).unwrap_err(), "artifact_gone");
    assert!(read(&second, &young).is_ok() && read(&second, &new).is_ok());
    let later = Bounds { ttl: Duration::ZERO, ..bounds };
    let third = store(dir.path(), &clock, later);
    assert_eq!(read(&third, &new).unwrap_err(), "artifact_gone");
    assert_eq!(fs::read_dir(place).unwrap().count(), 3);
}

#[test]
fn bytes_are_taken_before_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let bounds = Bounds { bytes: 8, total_bytes: 10, ttl: Duration::from_secs(60) };
    let store = store(dir.path(), &Clock::system(), bounds);
    let closed = keep(&store, b"123");
    let (mut one, mut two) = (store.create().unwrap(), store.create().unwrap());
    one.push(b"abcdef");
    assert!(read(&store, &closed).is_ok());
    // What is closed makes room, what is open does not.
    two.push(b"ghij");
    assert_eq!(read(&store, &closed).unwrap_err(), "artifact_gone");
    two.push(b"k");
    one.push(b"l");
    assert_eq!((one.dropped(), two.dropped()), (1, 1));
    let on_disk = || -> u64 {
        fs::read_dir(dir.path().join("a"))
            .unwrap()
            .map(|one| one.unwrap().metadata().unwrap().len())
            .sum()
    };
    assert_eq!(on_disk(), 10);
    let (one, two) = (store.uri(one.id()), store.uri(two.id()));
    assert_eq!(read(&store, &one).unwrap(), b"abcdef");
    assert_eq!(read(&store, &two).unwrap(), b"ghij");
}

#[test]
fn full_outputs_are_kept_within_the_named_bounds() {
    let bounds = Bounds::default();
    assert_eq!(bounds.bytes, ARTIFACT_BYTES_MAX);
    assert_eq!(bounds.total_bytes, ARTIFACTS_BYTES_MAX);
    assert_eq!(bounds.ttl, Duration::from_millis(ARTIFACT_TTL_MS));
    let options = crate::Options::new("/root", "/artifacts");
    assert_eq!(options.artifact_bounds.bytes, bounds.bytes);
    assert_eq!(options.artifact_bounds.total_bytes, bounds.total_bytes);
    assert_eq!(options.artifact_bounds.ttl, bounds.ttl);
}

#[test]
fn outputs_of_all_places_are_swept_by_age_and_size() {
    let dir = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now();
    let clock = Clock::system();
    // Sparse, so that they cost nothing: two that are too much together, one that is too old.
    let kept = |place: &str, bytes: u64, age: u64| {
        let path = dir.path().join(place).join(ArtifactId::generate().as_str());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = File::create(&path).unwrap();
        file.set_len(bytes).unwrap();
        file.set_modified(now - Duration::from_millis(age)).unwrap();
        path
    };
    let late = kept("a", 1, ARTIFACT_TTL_MS);
    let old = kept("b", 1, 60_000);
    let young = kept("c", ARTIFACTS_ALL_BYTES_MAX, 1_000);
    fs::write(dir.path().join("c/note"), "x").unwrap();
    assert_eq!(sweep(dir.path(), &clock).unwrap(), 2);
    assert_eq!([&late, &old, &young].map(|path| path.exists()), [false, false, true]);
    assert!(!dir.path().join("b").exists());
    let tiny = Bounds { total_bytes: 0, ..Bounds::default() };
    assert_eq!(sweep_to(dir.path(), &clock, tiny).unwrap(), 1);
    assert!(dir.path().join("c/note").exists());
    // A place in use may have nothing for an hour, and then something again.
    let store = store(dir.path(), &clock, Bounds::default());
    assert_eq!(sweep(dir.path(), &clock).unwrap(), 0);
    assert!(!dir.path().join("a").exists());
    let uri = keep(&store, b"x");
    assert_eq!(read(&store, &uri).unwrap(), b"x");
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
