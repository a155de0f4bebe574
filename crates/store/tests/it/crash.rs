//! For every operation that changes the disk during a typical run: let it fail, die there, or lose
//! power there, come back, and check every promise that was made before.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::json;
use store::{Appended, Batch, Change, Durability, NewFact, Options, Store, StoreError};
use testkit::faulty_vfs::{Fault, Layer, register};
use vocab::{ids::SessionId, outcome::Effect};

use crate::rig::{Rig, move_log, session, user};

/// How a trial ends, if the fault did not end it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Close,
    /// Everything that was not synced is lost.
    PowerLoss,
}

/// What the writer was told about a batch.
#[derive(Debug, Clone, PartialEq)]
enum Told {
    Stored(Vec<u64>),
    NotStored,
    Nothing,
}

struct Trial {
    told: Vec<(Durability, Told)>,
    session: SessionId,
}

const BATCHES: usize = 12;

fn durability(idx: usize) -> Durability {
    if idx % 3 == 2 { Durability::Power } else { Durability::Process }
}

fn batch(store: &Store, session: &SessionId, idx: usize, size: usize) -> Batch {
    let fact =
        |half: u8| NewFact::new("probe", json!({"kind": "probed", "batch": idx, "half": half}));
    let words = format!("batch {idx} {}", "x".repeat(size));
    Batch::of_session(store.epoch(), session.clone())
        .change(Change::AddMessage(user(&words)))
        .fact(fact(0))
        .fact(fact(1))
        .durable(durability(idx))
}

/// Appends a sequence as a run would, two at a time now and then, with a checkpoint in the middle.
async fn work(
    (store, options): (&Store, &Options),
    layer: Layer,
    session: &SessionId,
    size: usize,
) -> Vec<Told> {
    let mut told = Vec::new();
    let note = |answer: Result<Appended, StoreError>| match answer {
        Ok(appended) => Told::Stored(appended.events.iter().map(|event| event.seq).collect()),
        Err(_) if layer.disk().dead => Told::Nothing,
        Err(error) if error.effect() == Effect::NotStarted => Told::NotStored,
        Err(_) => Told::Nothing,
    };
    let mut idx = 0;
    while idx < BATCHES {
        if idx == BATCHES / 2 {
            move_log(options).ok();
        }
        if idx % 4 == 3 {
            let (one, two) = (batch(store, session, idx, size), batch(store, session, idx + 1, 0));
            let (one, two) = tokio::join!(store.append(one), store.append(two));
            told.extend([note(one), note(two)]);
            idx += 2;
        } else {
            let size = if idx == 4 { size } else { 0 };
            told.push(note(store.append(batch(store, session, idx, size)).await));
            idx += 1;
        }
    }
    told
}

async fn trial(rig: &Rig, layer: Layer, session: &SessionId, end: End, size: usize) -> Trial {
    let options = Options { vfs: Some(layer.name.into()), ..rig.options() };
    let mut told = vec![Told::Nothing; 0];
    if let Ok((store, _)) = Store::open(&options) {
        told = work((&store, &options), layer, session, size).await;
        if end == End::PowerLoss {
            layer.disk().dead = true;
        }
        store.close().await.ok();
    }
    let told = told.into_iter().enumerate().map(|(idx, told)| (durability(idx), told)).collect();
    Trial { told, session: session.clone() }
}

async fn check(rig: &Rig, plain: &str, trial: &Trial, power_lost: bool, what: &str) {
    let options = Options { vfs: Some(plain.into()), ..rig.options() };
    let (store, opening) = Store::open(&options).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(opening.set_aside, None, "{what}");
    let events = store.facts_after(None, 1_000).await.unwrap();
    assert!(events.iter().map(|event| event.seq).is_sorted_by(|a, b| a < b), "{what}");
    let mut facts: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.subject == "probe") {
        facts.entry(event.body["batch"].as_u64().unwrap()).or_default().push(event.seq);
    }
    let messages = store.messages(&trial.session, None, 1_000).await.unwrap();
    let stored = |idx: usize| {
        let head = format!("batch {idx} ");
        messages.iter().filter(|message| message.plain_text().starts_with(&head)).count()
    };
    // The log is one sequence: what was acknowledged before a synced commit is as safe as that one.
    let synced = trial.told.iter().rposition(|(durability, told)| {
        *durability == Durability::Power && matches!(told, Told::Stored(_))
    });
    let mut top = 0;
    for (idx, (_, told)) in trial.told.iter().enumerate() {
        let found = facts.remove(&(idx as u64)).unwrap_or_default();
        let content = stored(idx);
        assert!(found.len() == 2 * content && content <= 1, "{what}: half of batch {idx}");
        match told {
            Told::Stored(seqs) => {
                top = top.max(*seqs.iter().max().unwrap());
                let may_be_lost = power_lost && synced.is_none_or(|synced| idx > synced);
                assert!(found == *seqs || (may_be_lost && found.is_empty()), "{what}: lost {idx}");
            }
            Told::NotStored => assert!(found.is_empty(), "{what}: batch {idx} came back"),
            Told::Nothing => {}
        }
    }
    assert!(facts.is_empty(), "{what}: strangers");
    let after = store.append(batch(&store, &trial.session, 99, 0)).await.unwrap();
    assert!(after.events[0].seq > top, "{what}: a number was given twice");
    store.close().await.unwrap();
}

/// Makes the database that every trial starts from.
async fn template(clean: bool) -> (Rig, SessionId) {
    let rig = Rig::new();
    let store = rig.store();
    let session = session(&store, "crash").await;
    store.close().await.unwrap();
    if !clean {
        let conn = rusqlite::Connection::open(rig.path()).unwrap();
        conn.execute("UPDATE meta SET value = '0' WHERE key = 'clean'", []).unwrap();
    }
    (rig, session)
}

fn copy(from: &Path) -> Rig {
    let rig = Rig::new();
    fs::copy(from, rig.path()).unwrap();
    rig
}

/// A small generator, so that the same trial loses the same writes.
fn coin(seed: u64) -> impl FnMut() -> bool {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        seed != 0 && state & 0x100 != 0
    }
}

async fn every_operation(fault: Fault, end: End, size: usize, stride: usize) {
    let (from, session) = template(fault != Fault::Short).await;
    let tag = format!("{fault:?}-{end:?}-{size}");
    let plain = register(&format!("plain-{tag}"), None);
    let counter = register(&format!("count-{tag}"), None);
    let whole = copy(&from.path());
    trial(&whole, counter, &session, End::Close, size).await;
    let ops = counter.disk().ops;
    assert!(ops > 40, "only {ops} operations");
    for at in (1..=ops).step_by(stride) {
        let what = format!("{tag} at {at} of {ops}");
        let rig = copy(&from.path());
        let layer = register(&format!("{tag}-{at}"), Some((at, fault)));
        let trial = trial(&rig, layer, &session, end, size).await;
        let power_lost = fault == Fault::PowerLoss || end == End::PowerLoss;
        if power_lost {
            let mut keep = coin(if end == End::PowerLoss { 0 } else { at % 3 });
            layer.disk().lose_power(&mut keep);
        }
        check(&rig, plain.name, &trial, power_lost, &what).await;
    }
}

#[tokio::test]
async fn a_failing_disk_loses_nothing_that_was_acknowledged() {
    every_operation(Fault::IoOnce, End::Close, 0, 1).await;
    every_operation(Fault::IoFromThere, End::Close, 0, 1).await;
    every_operation(Fault::Short, End::Close, 0, 1).await;
}

#[tokio::test]
async fn a_sync_that_failed_once_is_made_good_before_power_goes() {
    every_operation(Fault::IoOnce, End::PowerLoss, 0, 1).await;
}

#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    every_operation(Fault::FullOnce, End::Close, 0, 1).await;
    every_operation(Fault::FullFromThere, End::Close, 0, 1).await;
    every_operation(Fault::FullOnce, End::PowerLoss, 0, 1).await;
}

#[tokio::test]
async fn a_killed_process_loses_nothing_that_was_acknowledged() {
    every_operation(Fault::Kill, End::Close, 0, 1).await;
}

#[tokio::test]
async fn lost_power_takes_nothing_that_was_synced() {
    every_operation(Fault::PowerLoss, End::Close, 0, 1).await;
}

#[tokio::test]
async fn a_batch_larger_than_the_cache_is_whole_or_absent() {
    for fault in [Fault::IoOnce, Fault::FullOnce, Fault::Kill, Fault::PowerLoss] {
        every_operation(fault, End::Close, 1_200_000, 397).await;
    }
}
