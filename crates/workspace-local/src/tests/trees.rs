//! Directories that go and come, and uploads that break off and go on.

#![expect(clippy::disallowed_methods, reason = "tests arrange and look at real files")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};
use vocab::{
    limits::{HELD_UPLOAD_MS, HELD_UPLOADS_MAX},
    outcome::Failure,
};
use workspace::{
    primitive::{Answer, Prefix, Shape, Upload, Wanted},
    tree::{Entry, Manifest, hex},
};

use crate::bench::Bench;

fn temporaries(bench: &Bench) -> usize {
    let names = bench.root().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count()
}

fn tree() -> Wanted {
    Wanted { shape: Shape::Tree, after: None }
}

/// Downloads all of it: what was promised, and the bytes.
async fn fetched(bench: &Bench, path: &str, wanted: Wanted) -> Answer<(Upload, Vec<u8>)> {
    let shape = wanted.shape;
    let download = bench.workspace.download(bench.at(path), wanted).await?;
    let file = Upload::of_file(download.size, download.sha256, false);
    let promise = Upload { shape, from: download.from, ..file };
    let pieces: Answer<Vec<Bytes>> = download.bytes.collect::<Vec<_>>().await.into_iter().collect();
    Ok((promise, pieces?.concat()))
}

async fn sent(bench: &Bench, path: &str, promise: Upload, bytes: &[u8]) -> Result<u64, Failure> {
    let pieces: Vec<_> =
        bytes.chunks(1_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let pieces = stream::iter(pieces).boxed();
    bench.workspace.upload(bench.at(path), promise, pieces).await.map(|written| written.size)
}

/// Sends some bytes, then the one who sends is lost.
async fn broke_off(bench: &Bench, path: &str, promise: &Upload, bytes: &[u8]) {
    let lost = Failure::not_started("connection_lost", "the client is gone");
    let pieces = stream::iter([Ok(Bytes::copy_from_slice(bytes)), Err(lost)]).boxed();
    let ended = bench.workspace.upload(bench.at(path), promise.clone(), pieces).await;
    assert_eq!(ended.unwrap_err().code, "connection_lost");
}

#[tokio::test]
async fn a_directory_goes_and_comes_with_all_that_travels() {
    let bench = Bench::new();
    let mode =
        |path: &str| fs::metadata(bench.root().join(path)).unwrap().permissions().mode() & 0o777;
    let set = |path: &str, mode| {
        fs::set_permissions(bench.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    let long: Vec<u8> = (0..700_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    bench.file("d/a", "one");
    bench.file("d/long", &long);
    bench.file("d/shut/inner/x", "two");
    fs::create_dir(bench.root().join("d/empty")).unwrap();
    symlink("/etc/passwd", bench.root().join("d/link")).unwrap();
    set("d/a", 0o755);
    set("d/shut/inner/x", 0o400);
    set("d/shut", 0o555);
    let (promise, bytes) = fetched(&bench, "d", tree()).await.unwrap();
    assert_eq!(bytes.len() as u64, promise.size);
    assert_eq!(sent(&bench, "e", promise.clone(), &bytes).await.unwrap(), promise.size);
    assert_eq!((bench.content("e/a"), bench.content("e/long")), (b"one".to_vec(), long));
    assert_eq!((mode("e/a"), mode("e/shut"), mode("e/shut/inner/x")), (0o755, 0o555, 0o400));
    assert!(bench.root().join("e/empty").is_dir());
    assert!(fs::symlink_metadata(bench.root().join("e/link")).is_err(), "links do not travel");
    // It is the same as far as it travels, but for what was only told.
    let manifest = |bytes: &[u8]| {
        let len = u32::from_be_bytes(*bytes.first_chunk().unwrap()) as usize;
        Manifest::read(Bytes::copy_from_slice(&bytes[4..4 + len])).unwrap()
    };
    let (_, again) = fetched(&bench, "e", tree()).await.unwrap();
    let mut first = manifest(&bytes).entries().to_vec();
    assert!(
        first.iter().any(
            |entry| matches!(entry, Entry::Left { what, .. } if what == "a link to /etc/passwd")
        )
    );
    first.retain(|entry| !matches!(entry, Entry::Left { .. }));
    assert_eq!(first, manifest(&again).entries());
    for path in ["d", "e"] {
        set(&format!("{path}/shut"), 0o755);
    }
}

#[tokio::test]
async fn a_directory_is_published_whole_or_not_at_all() {
    let bench = Bench::new();
    bench.file("d/a", "one");
    bench.file("d/b/c", "two");
    bench.file("taken", "x");
    let (promise, bytes) = fetched(&bench, "d", tree()).await.unwrap();
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    let overwrite = Upload { overwrite: true, ..promise.clone() };
    let check = async |path: &str, promise: &Upload, bytes: &[u8], code: &str| {
        assert_eq!(
            sent(&bench, path, promise.clone(), bytes).await.unwrap_err().code,
            code,
            "{path}"
        );
        assert_eq!(temporaries(&bench), 0, "{path}: {code}");
    };
    check("e", &promise, &other, "transfer_mismatch").await;
    check("e", &promise, &bytes[..bytes.len() - 1], "transfer_mismatch").await;
    check("e", &overwrite, &bytes, "invalid_arguments").await;
    check("d", &promise, &bytes, "already_exists").await;
    check("taken", &promise, &bytes, "already_exists").await;
    check(".", &promise, &bytes, "already_exists").await;
    check("missing/e", &promise, &bytes, "not_found").await;
    check("../e", &promise, &bytes, "path_outside_root").await;
    assert!(!bench.root().join("e").exists());
    // Somebody else is there first, at the very end.
    let taking = bench.root().join("late");
    let pieces = stream::iter([bytes.clone(), Vec::new()]).map(move |piece| {
        if piece.is_empty() {
            fs::create_dir(&taking).unwrap();
        }
        Ok(Bytes::from(piece))
    });
    let ended = bench.workspace.upload(bench.at("late"), promise.clone(), pieces.boxed()).await;
    assert_eq!(ended.unwrap_err().code, "already_exists");
    assert_eq!(
        (temporaries(&bench), fs::read_dir(bench.root().join("late")).unwrap().count()),
        (0, 0)
    );
}

#[tokio::test]
async fn an_upload_that_broke_off_goes_on_where_it_was() {
    let bench = Bench::new();
    let content: Vec<u8> = (0..500_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    bench.file("source", &content);
    bench.file("d/a", &content);
    bench.file("d/b", "end");
    for (source, wanted) in [("source", Wanted::file()), ("d", tree())] {
        let (promise, bytes) = fetched(&bench, source, wanted.clone()).await.unwrap();
        let promise = Upload { keep: true, ..promise };
        let half = bytes.len() / 2;
        broke_off(&bench, "copy", &promise, &bytes[..half]).await;
        assert!(!bench.root().join("copy").exists());
        let held = bench.workspace.held(bench.at("copy"), promise.shape).await.unwrap().unwrap();
        let expected = Prefix { size: half as u64, sha256: hex(&Sha256::digest(&bytes[..half])) };
        assert_eq!((held.size, &held.sha256), (promise.size, &promise.sha256));
        assert_eq!(held.prefix, expected);
        let rest = Wanted { after: Some(held.prefix), ..wanted.clone() };
        let (again, rest) = fetched(&bench, source, rest).await.unwrap();
        assert_eq!((again.from, rest.len()), (half as u64, bytes.len() - half));
        let promise = Upload { from: again.from, ..promise };
        let ahead = Upload { from: again.from + 1, ..promise.clone() };
        assert_eq!(sent(&bench, "copy", ahead, &rest).await.unwrap_err().code, "not_held");
        sent(&bench, "copy", promise.clone(), &rest).await.unwrap();
        assert_eq!(fetched(&bench, "copy", wanted).await.unwrap().1, bytes);
        // It is kept no longer, and nothing of it stays.
        assert_eq!(
            sent(&bench, "copy2", promise.clone(), &rest).await.unwrap_err().code,
            "not_held"
        );
        assert_eq!(temporaries(&bench), 0);
        let copy = bench.root().join("copy");
        fs::remove_file(&copy).or_else(|_| fs::remove_dir_all(&copy)).unwrap();
    }
}

#[tokio::test]
async fn what_is_there_must_be_the_beginning_of_what_comes() {
    let bench = Bench::new();
    bench.file("source", "0123456789");
    bench.file("d/a", "0123456789");
    for (source, shape) in [("source", Shape::File), ("d", Shape::Tree)] {
        let whole = fetched(&bench, source, Wanted { shape, after: None }).await.unwrap().1;
        let check = async |size: u64, bytes: &[u8], from: u64| {
            let after = Some(Prefix { size, sha256: hex(&Sha256::digest(bytes)) });
            let (promise, rest) = fetched(&bench, source, Wanted { shape, after }).await.unwrap();
            assert_eq!(
                (promise.from, rest.as_slice()),
                (from, &whole[usize::try_from(from).unwrap()..])
            );
        };
        let len = whole.len() as u64;
        check(3, &whole[..3], 3).await;
        check(len, &whole, len).await;
        check(3, b"xyz", 0).await;
        check(4, &whole[..3], 0).await;
        check(len + 1, &whole, 0).await;
        check(0, b"", 0).await;
    }
}

#[tokio::test]
async fn uploads_that_broke_off_are_kept_up_to_a_bound() {
    let bench = Bench::new();
    let promise = |n: usize| {
        let sha256 = hex(&Sha256::digest(n.to_le_bytes()));
        Upload { keep: true, ..Upload::of_file(10, sha256, false) }
    };
    for n in 0..=HELD_UPLOADS_MAX {
        broke_off(&bench, "x", &promise(n), b"half").await;
    }
    let held = bench.workspace.held(bench.at("x"), Shape::File).await.unwrap().unwrap();
    assert_eq!((held.sha256, held.prefix.size), (promise(HELD_UPLOADS_MAX).sha256, 4));
    // The oldest one has made room.
    for (n, code) in [(0, "not_held"), (1, "transfer_mismatch")] {
        let goes_on = Upload { from: 4, ..promise(n) };
        assert_eq!(sent(&bench, "x", goes_on, b"").await.unwrap_err().code, code);
    }
    broke_off(&bench, "x", &promise(1), b"half").await;
    assert_eq!(temporaries(&bench), HELD_UPLOADS_MAX);
    // Whoever does not ask for it has nothing kept, and neither has whoever stops it.
    broke_off(&bench, "y", &Upload { keep: false, ..promise(0) }, b"half").await;
    let at = bench.at("y");
    let cancel = at.cancel.clone();
    let pieces = stream::iter([Ok(Bytes::from_static(b"x"))]).chain(stream::poll_fn(move |_| {
        cancel.cancel();
        std::task::Poll::Pending
    }));
    let ended = bench.workspace.upload(at, promise(0), pieces.boxed()).await;
    assert_eq!(
        (ended.unwrap_err().code.as_str(), temporaries(&bench)),
        ("aborted", HELD_UPLOADS_MAX)
    );
}

#[tokio::test(start_paused = true)]
async fn uploads_that_broke_off_are_kept_for_a_while() {
    let bench = Bench::new();
    let promise = Upload { keep: true, ..Upload::of_file(10, "0".repeat(64), false) };
    broke_off(&bench, "x", &promise, b"half").await;
    // Time stands still only while something of this runtime runs, so that nothing may wait for another thread here.
    tokio::time::sleep(Duration::from_millis(HELD_UPLOAD_MS - 1)).await;
    assert_eq!(temporaries(&bench), 1);
    tokio::time::sleep(Duration::from_millis(2)).await;
    while temporaries(&bench) > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.workspace.held(bench.at("x"), Shape::File).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_written_while_it_goes_is_told_before_its_end() {
    let bench = Bench::new();
    let content = vec![b'x'; 600_000];
    bench.file("a", &content);
    let download = bench.workspace.download(bench.at("a"), Wanted::file()).await.unwrap();
    let mut bytes = download.bytes;
    assert!(bytes.next().await.unwrap().is_ok());
    fs::write(bench.root().join("a"), vec![b'y'; 600_000]).unwrap();
    let rest: Vec<Answer<Bytes>> = bytes.collect().await;
    assert_eq!(rest.last().unwrap().as_ref().unwrap_err().code, "path_changed");
}
