//! Opening: what is refused, what is set aside, and the plans of the large queries.

#![expect(clippy::disallowed_methods, reason = "prepares and looks at the database's files")]

use std::{
    fs,
    io::{Seek, SeekFrom, Write},
    os::unix::fs::{PermissionsExt, symlink},
    sync::atomic::{AtomicUsize, Ordering},
};

use store::{Opening, Options, Store};

use crate::rig::{Rig, move_log, session};

#[tokio::test]
async fn a_new_store_is_private() {
    let rig = Rig::new();
    let (store, opening) = rig.open();
    assert_eq!(opening, Opening { created: true, ..Opening::default() });
    session(&store, "x").await;
    for name in ["stead.db", "stead.db-wal", "stead.db-shm"] {
        let mode = fs::metadata(rig.dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn loose_files_are_refused_with_the_command_that_mends_them() {
    let rig = Rig::new();
    rig.store().close().await.unwrap();
    let refused = |part: &str| {
        let error = Store::open(&rig.options()).unwrap_err();
        assert_eq!(error.code(), "store_not_private");
        assert!(error.to_string().contains(part), "{error}");
    };
    fs::set_permissions(rig.path(), PermissionsExt::from_mode(0o644)).unwrap();
    refused("chmod 600");
    fs::set_permissions(rig.path(), PermissionsExt::from_mode(0o600)).unwrap();
    fs::set_permissions(rig.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    refused("chmod 700");
    fs::set_permissions(rig.dir.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let log = rig.dir.path().join("stead.db-wal");
    fs::write(&log, b"").unwrap();
    fs::set_permissions(&log, PermissionsExt::from_mode(0o666)).unwrap();
    refused("chmod 600");
    fs::remove_file(&log).unwrap();
    rig.store();
}

#[tokio::test]
async fn a_link_in_place_of_the_database_is_refused() {
    let rig = Rig::new();
    rig.store().close().await.unwrap();
    let link = rig.dir.path().join("link.db");
    symlink(rig.path(), &link).unwrap();
    assert!(Store::open(&Options { path: link, ..rig.options() }).is_err());
}

static LONG_WORK: AtomicUsize = AtomicUsize::new(0);

fn note_long_work() {
    LONG_WORK.fetch_add(1, Ordering::SeqCst);
}

#[tokio::test]
async fn only_what_takes_long_is_told_before_it_begins() {
    let rig = Rig::new();
    let open = |told: usize| {
        LONG_WORK.store(0, Ordering::SeqCst);
        let options = Options { on_long_work: note_long_work, ..rig.options() };
        let (store, opening) = Store::open(&options).unwrap();
        assert_eq!(LONG_WORK.load(Ordering::SeqCst), told, "{opening:?}");
        store
    };
    open(0).close().await.unwrap();
    drop(open(0));
    open(1).close().await.unwrap();
    open(0);
}

async fn damaged(damage: impl FnOnce(&Rig)) {
    let rig = Rig::new();
    let store = rig.store();
    for number in 0..200 {
        session(&store, &format!("session {number}")).await;
    }
    move_log(&rig.options()).unwrap();
    drop(store);
    damage(&rig);
    let bytes = fs::read(rig.path()).unwrap();
    let (store, opening) = rig.open();
    let aside = opening.set_aside.unwrap();
    assert!(aside.path.to_string_lossy().contains("stead.db.corrupt-1700000000000"));
    assert!(!aside.problem.is_empty());
    assert_eq!(fs::read(&aside.path).unwrap(), bytes, "what was set aside is untouched");
    assert_eq!(store.counts().await.unwrap().sessions, 0);
    session(&store, "a new life").await;
}

#[tokio::test]
async fn a_damaged_database_is_set_aside() {
    damaged(|rig| fs::write(rig.path(), b"this is no database at all, only some text").unwrap())
        .await;
    damaged(|rig| {
        fs::remove_file(rig.dir.path().join("stead.db-wal")).ok();
        let mut file = fs::OpenOptions::new().write(true).open(rig.path()).unwrap();
        let len = file.metadata().unwrap().len();
        for page in 2..len / 4_096 {
            file.seek(SeekFrom::Start(page * 4_096)).unwrap();
            file.write_all(&[0xA5; 64]).unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn damage_met_while_running_is_looked_for_at_the_next_start() {
    let rig = Rig::new();
    let store = rig.store();
    for number in 0..400 {
        session(&store, &format!("session {number}")).await;
    }
    store.close().await.unwrap();
    // The first pages stay whole, so that a start after a clean end sees nothing.
    let mut file = fs::OpenOptions::new().write(true).open(rig.path()).unwrap();
    let pages = file.metadata().unwrap().len() / 4_096;
    for page in pages / 2..pages {
        file.seek(SeekFrom::Start(page * 4_096)).unwrap();
        file.write_all(&[0xA5; 4_096]).unwrap();
    }
    drop(file);
    let (store, opening) = rig.open();
    assert_eq!((opening.unclean, opening.set_aside), (false, None));
    let filter = store::rows::Filter { limit: 200, ..Default::default() };
    let facts = store.facts_after(None, 1_000).await.map(drop);
    let list = store.sessions(filter).await.map(drop);
    let error = facts.and(list).unwrap_err();
    assert_eq!(error.code(), "store_corrupt");
    let failure = vocab::outcome::Failure::from(error);
    assert!(failure.hint.unwrap().contains("the next start checks"));
    store.close().await.unwrap();
    let (store, opening) = rig.open();
    assert!(opening.set_aside.is_some(), "{opening:?}");
    session(&store, "a new life").await;
    store.close().await.unwrap();
    assert_eq!(rig.open().1.set_aside, None);
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let rig = Rig::new();
    rig.store().close().await.unwrap();
    let conn = rusqlite::Connection::open(rig.path()).unwrap();
    conn.pragma_update(None, "user_version", 9_000).unwrap();
    drop(conn);
    let before = fs::read(rig.path()).unwrap();
    let error = Store::open(&rig.options()).unwrap_err();
    assert_eq!(error.code(), "store_newer");
    assert!(error.to_string().contains("9000"), "{error}");
    assert_eq!(fs::read(rig.path()).unwrap(), before);
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let rig = Rig::new();
    rig.store().close().await.unwrap();
    let conn = rusqlite::Connection::open(rig.path()).unwrap();
    conn.pragma_update(None, "application_id", 7).unwrap();
    drop(conn);
    let before = fs::read(rig.path()).unwrap();
    assert_eq!(Store::open(&rig.options()).unwrap_err().code(), "conflict");
    assert_eq!(fs::read(rig.path()).unwrap(), before);
}

#[tokio::test]
async fn large_queries_go_by_an_index() {
    let rig = Rig::new();
    rig.store().close().await.unwrap();
    let conn = rusqlite::Connection::open(rig.path()).unwrap();
    for (sql, index, sorted) in [
        ("SELECT body FROM parts WHERE key BETWEEN 1 AND 9 ORDER BY key", "PRIMARY KEY", true),
        ("SELECT * FROM runs WHERE ended_at IS NULL", "runs_live", false),
        ("SELECT seq FROM facts WHERE session = 'x' LIMIT 10", "facts_of_session", true),
    ] {
        let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nulls = vec![rusqlite::types::Null; explain.parameter_count()];
        let plan: Vec<String> = explain
            .query_map(rusqlite::params_from_iter(nulls), |row| row.get(3))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let plan = plan.join("; ");
        assert!(plan.contains(index), "{sql}: {plan}");
        assert!(!sorted || !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
}
