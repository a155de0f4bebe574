//! Uploads and downloads that stall, break off or lie about their content.

use crate::bench::Bench;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::time::Duration;
use vocab::limits::{
    READDIR_ENTRIES_MAX, TRANSFER_IDLE_MS, TRANSFER_MS_MAX, TRANSFER_PIECE_BYTES, UPLOAD_BYTES_MAX,
};
use workspace::primitive::{Answer, Upload, Wanted};

fn promise(content: &[u8]) -> Upload {
    let sha256 = crate::hash::hex(&Sha256::digest(content));
    Upload::of_file(content.len() as u64, sha256, true)
}

fn temporaries(bench: &Bench) -> usize {
    let names = bench.root().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count()
}

#[tokio::test]
async fn uploads_are_checked_before_they_are_published() {
    let bench = Bench::new();
    bench.file("a", "old");
    let send = async |content: &'static [u8], promise| {
        let pieces = stream::iter([Ok(Bytes::from_static(content))]).boxed();
        bench.workspace.upload(bench.at("a"), promise, pieces).await.map_err(|failure| failure.code)
    };
    assert_eq!(send(b"new", promise(b"neu")).await.unwrap_err(), "transfer_mismatch");
    let broken = stream::iter([
        Ok(Bytes::from_static(b"n")),
        Err(vocab::outcome::Failure::not_started("lost", "the connection is gone")),
    ]);
    let failed = bench.workspace.upload(bench.at("a"), promise(b"new"), broken.boxed()).await;
    assert_eq!(failed.unwrap_err().code, "lost");
    for (size, code) in [
        (u64::MAX, "too_large"),
        (UPLOAD_BYTES_MAX + 1, "too_large"),
        (UPLOAD_BYTES_MAX, "transfer_mismatch"),
    ] {
        let giant = Upload { size, ..promise(b"new") };
        assert_eq!(send(b"new", giant).await.unwrap_err(), code, "{size}");
    }
    assert_eq!((bench.content("a"), temporaries(&bench)), (b"old".to_vec(), 0));
    assert_eq!(send(b"new", promise(b"new")).await.map(|written| written.size), Ok(3));
    assert_eq!(bench.content("a"), b"new");
}

#[tokio::test(start_paused = true)]
async fn a_silent_upload_gives_its_file_free() {
    let bench = Bench::new();
    bench.file("a", "old");
    // One piece comes as late as it may, and then nothing.
    let begun = tokio::time::Instant::now();
    let late = Duration::from_millis(TRANSFER_IDLE_MS - 1);
    let last = stream::once(async move {
        tokio::time::sleep(late).await;
        Ok(Bytes::from_static(b"x"))
    });
    let silent = last.chain(stream::pending::<Answer<Bytes>>()).boxed();
    let upload = bench.workspace.upload(bench.at("a"), promise(b"x"), silent);
    let edit = json!({"path": "a", "oldText": "old", "newText": "new"});
    let edit = bench.workspace.call(bench.prepared("edit", edit), bench.context());
    let (upload, edit) = futures_util::future::join(upload, edit).await;
    assert_eq!(upload.unwrap_err().code, "timeout");
    assert!(begun.elapsed() >= late + Duration::from_millis(TRANSFER_IDLE_MS));
    assert_eq!(edit.failure, None);
    assert_eq!((bench.content("a"), temporaries(&bench)), (b"new".to_vec(), 0));
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_comes_in_drops_gives_its_file_free() {
    let bench = Bench::new();
    let begun = tokio::time::Instant::now();
    let drops = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(TRANSFER_IDLE_MS - 1)).await;
        Some((Ok(Bytes::new()), ()))
    });
    let upload = bench.workspace.upload(bench.at("a"), promise(b"x"), drops.boxed()).await;
    assert_eq!(upload.unwrap_err().code, "timeout");
    assert!(begun.elapsed() >= Duration::from_millis(TRANSFER_MS_MAX));
    assert_eq!(temporaries(&bench), 0);
}

#[tokio::test]
async fn a_cancelled_upload_leaves_nothing() {
    let bench = Bench::new();
    let at = bench.at("a");
    let cancel = at.cancel.clone();
    let mut sent = false;
    let pieces = stream::poll_fn(move |_| {
        if sent {
            cancel.cancel();
            return std::task::Poll::Pending;
        }
        sent = true;
        std::task::Poll::Ready(Some(Ok(Bytes::from_static(b"x"))))
    });
    let failed = bench.workspace.upload(at, promise(b"xy"), pieces.boxed()).await;
    assert_eq!(failed.unwrap_err().code, "aborted");
    assert!(!bench.root().join("a").exists());
    assert_eq!(temporaries(&bench), 0);
}

#[tokio::test]
async fn downloads_come_in_pieces_with_size_and_hash() {
    let bench = Bench::new();
    let content: Vec<u8> = (0..TRANSFER_PIECE_BYTES * 2 + 7).map(|n| n.to_le_bytes()[0]).collect();
    bench.file("a", &content);
    let download = bench.workspace.download(bench.at("a"), Wanted::file()).await.unwrap();
    assert_eq!((download.size, download.sha256), (content.len() as u64, promise(&content).sha256));
    let pieces: Vec<Bytes> = download.bytes.map(Result::unwrap).collect().await;
    assert_eq!(pieces.len(), 3);
    assert!(pieces.concat() == content);
    let outcome = bench.call("bash", json!({"command": "seq 1 3000"})).await;
    let uri = crate::bench::details(&outcome)["fullOutputPath"].as_str().unwrap().to_owned();
    let download = bench.workspace.download(bench.at(&uri), Wanted::file()).await.unwrap();
    let pieces: Vec<Bytes> = download.bytes.map(Result::unwrap).collect().await;
    assert!(pieces.concat().ends_with(b"2999\n3000\n"));
}

#[tokio::test]
async fn a_listing_beyond_its_bound_is_refused() {
    let bench = Bench::new();
    let make = format!("seq -f '%.0f' 0 {READDIR_ENTRIES_MAX} | xargs touch");
    bench.text("bash", json!({"command": make})).await;
    let failed = bench.workspace.readdir(bench.at(".")).await;
    assert_eq!(failed.unwrap_err().code, "too_many_entries");
}
