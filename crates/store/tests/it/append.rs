//! Appending: groups, rules, bounds.

use serde_json::json;
use store::{Batch, Change, Durability, NewFact, Options, Store, StoreError};
use vocab::{
    fact::SessionFact,
    ids::{RunId, SessionId},
    limits::{
        STORE_BATCH_BYTES_MAX, STORE_FACT_BYTES_MAX, STORE_PARTS_MAX, STORE_QUEUE_BYTES_MAX,
        STORE_WAL_PAGES_MAX,
    },
    message::{Block, CallState, RunEnd, RunState, Usage},
    outcome::{Effect, Failure},
};

use crate::rig::{
    Rig, call, change, new_session, poll_once, put, session, started, state, text, user,
};

/// Keeps the writer from committing until it is dropped, as another process would.
fn outside_writer(rig: &Rig) -> rusqlite::Connection {
    let conn = rusqlite::Connection::open(rig.path()).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    conn
}

#[tokio::test]
async fn a_batch_is_told_as_it_was_stored() {
    let rig = Rig::new();
    let store = rig.store();
    let id = SessionId::generate();
    let batch = Batch::of_session(store.epoch(), id.clone())
        .change(new_session("first"))
        .change(Change::AddMessage(user("hello")))
        .fact(SessionFact::SessionCreated)
        .fact(NewFact::new("probe", json!({"kind": "unheard_of", "x": [1]})));
    let appended = store.append(batch).await.unwrap();
    assert_eq!(appended.events.len(), 2);
    assert_eq!(appended.events[1].body, json!({"kind": "unheard_of", "x": [1]}));
    assert_eq!(appended.events[0].cursor, format!("{}.1", store.id()));
    assert_eq!(appended.events[0].at, "2023-11-14T22:13:20.000Z");
    assert_eq!(store.facts_after(None, 10).await.unwrap(), appended.events);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_tasks_append_at_once() {
    let rig = Rig::new();
    let store = rig.store();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let store = store.clone();
        tasks.spawn(async move {
            let id = session(&store, "one of fifty").await;
            for idx in 0..10 {
                change(&store, &id, Change::AddMessage(user(&idx.to_string()))).await.unwrap();
            }
            id
        });
    }
    for id in tasks.join_all().await {
        let messages = store.messages(&id, None).await.unwrap().messages;
        let words: Vec<_> = messages.iter().map(|message| message.plain_text()).collect();
        assert_eq!(words, (0..10).map(|idx| idx.to_string()).collect::<Vec<_>>());
    }
    assert_eq!(store.counts().await.unwrap().last_seq, 550);
}

#[tokio::test]
async fn many_writers_share_commits() {
    let rig = Rig::new();
    rig.store().close().await.unwrap();
    let layer = testkit::faulty_vfs::register("group", None);
    let options = Options { vfs: Some("group".into()), ..rig.options() };
    let (store, _) = Store::open(&options).unwrap();
    let id = session(&store, "group").await;
    let blocker = outside_writer(&rig);
    let before = layer.disk().syncs;
    let mut waiting = Vec::new();
    for idx in 0..50 {
        // One of them breaks a rule; the others of its group must not notice.
        let change = match idx {
            25 => Change::SetRunState { run: RunId::generate(), state: RunState::Running },
            _ => Change::AddMessage(user("together")),
        };
        let batch = Batch::of_session(store.epoch(), id.clone()).change(change);
        let mut append = Box::pin(store.append(batch.durable(Durability::Power)));
        assert!(poll_once(&mut append).await.is_none());
        waiting.push(append);
    }
    drop(blocker);
    for (idx, append) in waiting.into_iter().enumerate() {
        match append.await {
            Ok(_) => assert_ne!(idx, 25),
            Err(error) => assert_eq!((idx, error.code()), (25, "not_found")),
        }
    }
    let syncs = layer.disk().syncs - before;
    assert!((1..=6).contains(&syncs), "{syncs} syncs for 50 batches");
    assert_eq!(store.session(&id).await.unwrap().messages, 49);
}

#[tokio::test]
async fn a_full_queue_holds_the_caller_back() {
    const EIGHTH: usize = STORE_QUEUE_BYTES_MAX / 8;
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "queue").await;
    let blocker = outside_writer(&rig);
    let large = |words: &str, eighths: usize| {
        let message = user(&format!("{words}{}", "x".repeat(eighths * EIGHTH)));
        let change = Change::AddMessage(message);
        Box::pin(store.append(Batch::of_session(store.epoch(), id.clone()).change(change)))
    };
    for (words, eighths) in [("first", 5), ("second", 2), ("held back", 2)] {
        // Dropping what is queued does not undo it; what is held back was never queued.
        assert!(poll_once(&mut large(words, eighths)).await.is_none());
    }
    drop(blocker);
    large("last", 9).await.unwrap();
    let messages = store.transcript(&id).await.unwrap().messages;
    let heads: Vec<_> = messages.iter().map(|m| m.plain_text().replace('x', "")).collect();
    assert_eq!(heads, ["first", "second", "last"]);
}

#[tokio::test]
async fn one_run_at_a_time_and_none_after_its_end() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "runs").await;
    let first = started(&store, &id).await;
    let refused = change(&store, &id, Change::StartRun(crate::rig::run())).await.unwrap_err();
    assert_eq!((refused.code(), refused.effect()), ("conflict", Effect::NotStarted));
    change(&store, &id, put(&first, 0, text("one"))).await.unwrap();
    change(&store, &id, put(&first, 0, text("two"))).await.unwrap();
    let hole = change(&store, &id, put(&first, 2, text("hole"))).await.unwrap_err();
    assert_eq!(hole.code(), "conflict");
    let parked = RunState::Parked { blocks: Vec::<Block>::new() };
    change(&store, &id, state(&first, parked)).await.unwrap();
    change(&store, &id, state(&first, RunState::Ended(RunEnd::Finished))).await.unwrap();
    for late in [put(&first, 1, text("late")), state(&first, RunState::Running)] {
        assert_eq!(change(&store, &id, late).await.unwrap_err().code(), "conflict");
    }
    let second = started(&store, &id).await;
    let found = store.transcript(&id).await.unwrap();
    assert_eq!(found.run.unwrap().id, second.id);
    assert_eq!(found.messages[0].parts, [text("two")]);
    assert_eq!(found.messages[0].run, Some(first.id.clone()));
    let stranger = Change::SetRunState { run: RunId::generate(), state: RunState::Running };
    assert_eq!(change(&store, &id, stranger).await.unwrap_err().code(), "not_found");
    assert!(store.run(&first.id).await.unwrap().ended_at.is_some());
}

#[tokio::test]
async fn a_refused_batch_leaves_nothing_behind() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "atomic").await;
    let before = store.transcript(&id).await.unwrap();
    let batch = Batch::of_session(store.epoch(), id.clone())
        .change(Change::SetTitle("changed".into()))
        .change(Change::AddMessage(user("gone")))
        .change(Change::AddUsage(Usage { input: 5, ..Usage::default() }))
        .change(Change::SetRunState { run: RunId::generate(), state: RunState::Running })
        .fact(SessionFact::SessionTitled);
    assert_eq!(store.append(batch).await.unwrap_err().code(), "not_found");
    assert_eq!(store.transcript(&id).await.unwrap(), before);
}

#[tokio::test]
async fn a_stale_epoch_is_refused() {
    let rig = Rig::new();
    let old = rig.store();
    let id = session(&old, "epochs").await;
    let held = old.epoch();
    let (new, opening) = rig.open();
    assert!(opening.unclean);
    assert_eq!(new.epoch().number(), held.number() + 1);
    let batch = |epoch| Batch::of_session(epoch, id.clone()).fact(SessionFact::SessionTitled);
    let current = new.epoch().number();
    let stale = StoreError::StaleEpoch { held: held.number(), current };
    assert_eq!(new.append(batch(held.clone())).await, Err(stale.clone()));
    assert_eq!(old.append(batch(held)).await, Err(stale));
    // The right epoch through the wrong handle is refused too: that writer's time is over.
    assert_eq!(old.append(batch(new.epoch())).await.unwrap_err().code(), "stale_epoch");
    new.append(batch(new.epoch())).await.unwrap();
    old.close().await.unwrap();
    new.append(batch(new.epoch())).await.unwrap();
}

#[tokio::test]
async fn a_long_fact_is_made_thin() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "thin").await;
    let failure = Failure::not_started("boom", "é".repeat(100_000)).with_hint("h".repeat(9_000));
    let run = RunId::generate();
    let fact = vocab::fact::RunFact::RunEnded { run, end: RunEnd::Failed { failure } };
    let batch = Batch::of_session(store.epoch(), id).fact(fact);
    let events = store.append(batch).await.unwrap().events;
    assert!(events[0].body.to_string().len() <= STORE_FACT_BYTES_MAX);
    assert_eq!(events[0].body["failure"]["code"], "boom");
    let endless: Vec<u32> = (0..10_000).collect();
    let fact = NewFact::new("probe", json!({"kind": "endless", "list": endless}));
    let refused = store.append(Batch::of_store(store.epoch()).fact(fact)).await.unwrap_err();
    assert_eq!(refused.code(), "too_large");
    let fact = NewFact::new("probe", json!(["no kind"]));
    let refused = store.append(Batch::of_store(store.epoch()).fact(fact)).await.unwrap_err();
    assert_eq!(refused.code(), "conflict");
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "large").await;
    let run = started(&store, &id).await;
    let far = change(&store, &id, put(&run, STORE_PARTS_MAX, text("far"))).await.unwrap_err();
    assert_eq!(far.code(), "conflict");
    let part = text(&"x".repeat(STORE_BATCH_BYTES_MAX / 2 + 1));
    let mut message = user("");
    message.parts = vec![part.clone(), part];
    let refused = change(&store, &id, Change::AddMessage(message)).await.unwrap_err();
    assert_eq!((refused.code(), refused.effect()), ("too_large", Effect::NotStarted));
}

#[tokio::test]
async fn names_are_taken_once() {
    let rig = Rig::new();
    let store = rig.store();
    let answer = |n: u32| Change::PutIdempotent {
        scope: "POST /x".into(),
        token: "k".into(),
        answer: json!(n),
    };
    store.append(Batch::of_store(store.epoch()).change(answer(1))).await.unwrap();
    for change in [answer(2), new_session("no session")] {
        let refused = store.append(Batch::of_store(store.epoch()).change(change)).await;
        assert_eq!(refused.unwrap_err().code(), "conflict");
    }
    assert_eq!(store.idempotent("POST /x", "k").await.unwrap(), Some(json!(1)));
    assert_eq!(store.idempotent("POST /y", "k").await.unwrap(), None);
}

#[tokio::test]
async fn the_log_is_moved_into_the_database_as_it_grows() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "log").await;
    // It is moved between two commits, of which the last may add to it as much as it takes.
    let bound = STORE_WAL_PAGES_MAX * 4_096;
    for _ in 0..40 {
        change(&store, &id, Change::AddMessage(user(&"x".repeat(bound / 4)))).await.unwrap();
    }
    let log = std::fs::metadata(rig.dir.path().join("stead.db-wal")).unwrap().len();
    assert!(log < 4 * bound as u64, "the log holds {log} bytes");
}

#[tokio::test]
async fn a_slow_reader_holds_nobody_up() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "slow").await;
    let slow = rusqlite::Connection::open(rig.path()).unwrap();
    slow.execute_batch("BEGIN").unwrap();
    let seen = || -> i64 {
        slow.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(seen(), 0);
    change(&store, &id, Change::AddMessage(user("new"))).await.unwrap();
    assert_eq!(seen(), 0);
    assert_eq!(store.messages(&id, None).await.unwrap().messages.len(), 1);
}

#[tokio::test]
async fn after_the_close_everything_says_so() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "closed").await;
    store.close().await.unwrap();
    assert_eq!(change(&store, &id, new_session("x")).await, Err(StoreError::Closed));
    assert_eq!(store.session(&id).await, Err(StoreError::Closed));
    assert_eq!(store.close().await, Err(StoreError::Closed));
    let (_, opening) = rig.open();
    assert!(!opening.unclean && !opening.created);
}

#[tokio::test]
async fn a_call_keeps_every_state_through_the_store() {
    let rig = Rig::new();
    let store = rig.store();
    let id = session(&store, "calls").await;
    let run = started(&store, &id).await;
    let outcome = vocab::outcome::Outcome::text("done").with_details(json!({"exit": 0}));
    for state in [
        CallState::Requested,
        CallState::Blocked,
        CallState::Approved,
        CallState::Started,
        CallState::Ended { outcome, ordinal: 0 },
    ] {
        let part = call("c1", state);
        change(&store, &id, put(&run, 0, part.clone())).await.unwrap();
        assert_eq!(store.transcript(&id).await.unwrap().messages[0].parts, [part]);
    }
}
