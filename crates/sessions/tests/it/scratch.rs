//! What becomes of the directory of a session that has no place of its own.

#![expect(clippy::disallowed_methods, reason = "test files outside every workspace")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use sessions::{live::Next, start::Started};
use vocab::{ids::SessionId, live::Position};

use crate::rig::{Awake, Rig, person, prompt};

/// Runs a prompt in a directory of the session's own, and returns that directory.
async fn worked(awake: &Awake, rig: &Rig) -> (Started, PathBuf) {
    let mut start = prompt("go", Path::new("/"));
    start.cwd = None;
    let started = awake.sessions.start(&person(), start).await.unwrap();
    let from = Some((started.run.clone(), Position::default()));
    let mut reader = awake.sessions.stream(&person(), &started.session, from).await.unwrap();
    while matches!(reader.next().await, Next::Frame(_)) {}
    let dir = rig.scratch().join(started.session.as_str());
    assert_eq!(fs::read_to_string(dir.join("scratch/a.txt")).unwrap(), "two\n");
    (started, dir)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_session_leaves_no_directory_and_no_link_leads_out_of_it() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let outside = rig.work().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept.txt"), "kept").unwrap();

    let (kept, kept_dir) = worked(&awake, &rig).await;
    let (gone, dir) = worked(&awake, &rig).await;
    symlink(&outside, dir.join("scratch/link")).unwrap();
    awake.sessions.delete(&person(), &gone.session).await.unwrap();
    assert!(!dir.exists());

    // The directory itself may have been swapped for a link.
    let (gone, dir) = worked(&awake, &rig).await;
    fs::rename(&dir, rig.work().join("moved")).unwrap();
    symlink(&outside, &dir).unwrap();
    awake.sessions.delete(&person(), &gone.session).await.unwrap();
    assert!(dir.symlink_metadata().is_err());

    assert_eq!(fs::read_to_string(outside.join("kept.txt")).unwrap(), "kept");
    assert!(kept_dir.join("scratch/a.txt").exists(), "{} lives", kept.session);
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_sweeps_what_deleted_sessions_left_and_keeps_what_nobody_deleted() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let (_, alive) = worked(&awake, &rig).await;
    let (gone, deleted) = worked(&awake, &rig).await;
    awake.sessions.delete(&person(), &gone.session).await.unwrap();
    awake.sleep().await;
    // As a kill leaves it between the tombstone and the removal, and before a session is stored. What
    // the store does not know and holds something may belong to a database that was set aside.
    let unknown = || rig.scratch().join(SessionId::generate().as_str());
    let (unstored, foreign, other) = (unknown(), unknown(), rig.scratch().join("notes"));
    for dir in [&deleted, &unstored, &foreign, &other] {
        fs::create_dir_all(dir.join("scratch")).unwrap();
    }
    fs::write(deleted.join("scratch/left.txt"), "left").unwrap();
    fs::write(foreign.join("scratch/mine.txt"), "mine").unwrap();

    let awake = rig.wake(None).await.unwrap();
    let check = |dir: &Path, stays: bool| assert_eq!(dir.exists(), stays, "{}", dir.display());
    check(&deleted, false);
    check(&unstored, false);
    check(&foreign.join("scratch/mine.txt"), true);
    check(&other.join("scratch"), true);
    check(&alive.join("scratch/a.txt"), true);
    awake.sleep().await;
}
