//! Requests that come twice under one key.

use daemon::caller::{Caller, CallerKind, Carrier};
use sessions::{
    live::Next,
    models::Wanted,
    sessions::Create,
    start::{Start, Started},
};
use vocab::{
    ids::SessionId,
    live::Position,
    message::{Mode, ModelRef},
};

use crate::rig::{Awake, Rig, person, prompt};

async fn read(awake: &Awake, started: &Started) {
    let from = Some((started.run.clone(), Position::default()));
    let mut reader = awake.sessions.stream(&person(), &started.session, from).await.unwrap();
    while matches!(reader.next().await, Next::Frame(_)) {}
}

fn key() -> Option<String> {
    Some("k".into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_starts_one_run_also_when_asked_at_once() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let start = || Start { idempotency_key: key(), ..prompt("again", &rig.work()) };
    let who = person();
    let (one, two) =
        tokio::join!(awake.sessions.start(&who, start()), awake.sessions.start(&who, start()));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one, two);
    assert_eq!(awake.store.counts().await.unwrap().sessions, 1);
    read(&awake, &one).await;
    // Another kind of caller has keys of its own.
    let agent = Caller::passed(CallerKind::Agent(None), Carrier::Socket);
    let other = awake.sessions.start(&agent, start()).await.unwrap();
    assert_ne!(one, other);
    read(&awake, &other).await;
    awake.sessions.delete(&who, &one.session).await.unwrap();
    let again = awake.sessions.start(&who, start()).await;
    assert_eq!(again.unwrap_err().code, "session_not_found");
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_was_used_for_another_request_is_refused() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let start = || Start { idempotency_key: key(), ..prompt("again", &rig.work()) };
    let first = awake.sessions.start(&person(), start()).await.unwrap();
    read(&awake, &first).await;
    let name = || Some("x".to_owned());
    let others = [
        prompt("again, but", &rig.work()),
        Start { session: Some(first.session.clone()), ..start() },
        Start { session: Some(SessionId::generate()), ..start() },
        Start { alias: name(), ..start() },
        Start { wanted: Wanted { model: name(), ..Wanted::default() }, ..start() },
        Start { wanted: Wanted { provider: name(), ..Wanted::default() }, ..start() },
        Start { workspace: name(), ..start() },
        Start { cwd: None, ..start() },
        Start { mode: Some(Mode::Ask), ..start() },
        Start { interactive: true, ..start() },
    ];
    for (idx, other) in others.into_iter().enumerate() {
        let other = Start { idempotency_key: key(), ..other };
        let refused = awake.sessions.start(&person(), other).await.unwrap_err();
        assert_eq!(refused.code, "idempotency_mismatch", "other {idx}");
    }
    assert_eq!(awake.sessions.start(&person(), start()).await.unwrap(), first);
    awake.sleep().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_creates_one_session() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let (who, cwd) = (person(), Some(rig.work().display().to_string()));
    let create = || Create { cwd: cwd.clone(), idempotency_key: key(), ..Create::default() };
    let (one, two) =
        tokio::join!(awake.sessions.create(&who, create()), awake.sessions.create(&who, create()));
    assert_eq!(one.unwrap().id, two.unwrap().id);
    assert_eq!(awake.store.counts().await.unwrap().sessions, 1);
    let others = [
        Create { title: Some("x".into()), ..create() },
        Create { cwd: None, ..create() },
        Create { workspace: Some("x".into()), ..create() },
        Create { model: ModelRef::parse("a/b"), ..create() },
        Create { mode: Mode::Ask, ..create() },
    ];
    for (idx, other) in others.into_iter().enumerate() {
        let refused = awake.sessions.create(&who, other).await.unwrap_err();
        assert_eq!(refused.code, "idempotency_mismatch", "other {idx}");
    }
    // The key of a run is not the key of a session.
    let start = Start { idempotency_key: key(), ..prompt("again", &rig.work()) };
    read(&awake, &awake.sessions.start(&who, start).await.unwrap()).await;
    awake.sleep().await;
}
