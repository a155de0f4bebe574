//! Lines that fall silent, servers that drain, clients that wait: what happens over time, on a clock that stands
//! still until everybody waits.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt, future, stream};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{
        REMOTE_CALLS_MAX, REMOTE_END_MS, REMOTE_GRACE_MS, REMOTE_HANDSHAKE_MS, REMOTE_PING_MS,
        REMOTE_RETRY_MS_MAX, REMOTE_SILENCE_MS, REMOTE_WAITING_MAX,
    },
    outcome::Effect,
};
use workspace::{
    fake::Fake,
    primitive::{Request, Upload},
    source::{OwnedWorkspace, Workspace},
};

use super::{
    rig::{self, Wire},
    slow::Slow,
};
use crate::{
    client::{ConnectError, Connected, RemoteWorkspace},
    frame::Frame,
    server::Server,
    transport::{
        Said, Transport,
        memory::{self, Cut, Fate, Side},
    },
};

fn at(workspace: &dyn Workspace, path: &str) -> Request {
    let cancel = CancellationToken::new();
    Request { path: path.to_owned(), expected: workspace.id(), cancel }
}

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(super) async fn say(line: &mut Transport, value: &Value) {
    let frame = Frame::Text(Bytes::from(value.to_string()));
    line.outgoing.send(Said::Frame(frame)).await.unwrap();
}

pub(super) async fn hear(line: &mut Transport) -> Option<Value> {
    match line.incoming.next().await? {
        Ok(Frame::Text(text)) => Some(serde_json::from_slice(&text).unwrap()),
        Ok(Frame::Binary(bytes)) => Some(json!({"piece": bytes.len()})),
        Err(_) => None,
    }
}

fn hello() -> Value {
    json!({
        "type": "hello",
        "protocol": {"major": 1, "minor_min": 0, "minor_max": 0},
        "capabilities": {"required": [], "optional": ["resume", "transfer"]},
        "client": {"name": "test", "version": "1"},
    })
}

/// A client by hand: the line after its greeting, and the welcome.
pub(super) async fn greeted(server: &Server) -> (Transport, Value) {
    let (mut line, served) = memory::pair();
    let server = server.clone();
    tokio::spawn(async move { server.serve(served).await });
    say(&mut line, &hello()).await;
    let welcome = hear(&mut line).await.unwrap();
    assert_eq!(welcome["type"], "welcome");
    (line, welcome)
}

#[tokio::test(start_paused = true)]
async fn a_line_that_says_nothing_is_closed() {
    let server = rig::server(rig::fake());
    let (mut line, served) = memory::pair();
    let start = Instant::now();
    let closing = async { hear(&mut line).await.unwrap() };
    let (closing, ()) = tokio::join!(closing, server.serve(served));
    assert_eq!(closing["code"], "handshake_timeout");
    assert_eq!(start.elapsed(), ms(REMOTE_HANDSHAKE_MS));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_falls_silent_counts_as_gone() {
    let server = rig::server(rig::fake());
    let start = Instant::now();
    let (mut line, _) = greeted(&server).await;
    assert_eq!(hear(&mut line).await, None);
    assert_eq!(start.elapsed(), ms(REMOTE_SILENCE_MS));
    assert_eq!(server.status().connections, 1, "it is held for its grace");
    // One that answers pings is there.
    let remote = rig::join(rig::fake(), &Wire::Memory(Cut::never())).await;
    tokio::time::sleep(ms(10 * REMOTE_SILENCE_MS)).await;
    assert_eq!(remote.workspace().connected(), Connected::Yes);
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_held_for_its_grace_and_no_longer() {
    for (waits, expected) in [(REMOTE_GRACE_MS - 1, "resumed"), (REMOTE_GRACE_MS + 1, "closing")] {
        let server = rig::server(rig::fake());
        let (line, welcome) = greeted(&server).await;
        assert_eq!(welcome["resume"]["grace_ms"], REMOTE_GRACE_MS);
        drop(line);
        tokio::task::yield_now().await;
        tokio::time::sleep(ms(waits)).await;
        let (mut line, served) = memory::pair();
        let serving = server.clone();
        tokio::spawn(async move { serving.serve(served).await });
        let token = &welcome["resume"]["token"];
        let connection = &welcome["connection"];
        let resume = json!({
            "type": "resume", "connection": connection, "token": token, "received": 0,
        });
        say(&mut line, &resume).await;
        assert_eq!(hear(&mut line).await.unwrap()["type"], expected);
    }
}

#[tokio::test]
async fn a_connection_is_taken_up_by_whoever_has_its_token_alone() {
    let server = rig::server(rig::fake());
    let (mut first, welcome) = greeted(&server).await;
    for (key, value) in
        [("token", json!("guessed")), ("connection", json!("another")), ("received", json!(7))]
    {
        let (mut line, served) = memory::pair();
        let serving = server.clone();
        tokio::spawn(async move { serving.serve(served).await });
        let token = &welcome["resume"]["token"];
        let connection = &welcome["connection"];
        let mut resume = json!({
            "type": "resume", "connection": connection, "token": token, "received": 0,
        });
        resume[key] = value;
        // The old line still works until somebody proves to be the same client.
        say(&mut first, &json!({"type": "ping"})).await;
        assert_eq!(hear(&mut first).await.unwrap()["type"], "pong");
        say(&mut line, &resume).await;
        assert_eq!(hear(&mut line).await.unwrap()["type"], "closing", "{key}");
    }
}

/// Hands on what comes, until the first line falls silent.
async fn until_mute<T>(first: bool, mute: Arc<AtomicBool>, frame: T) -> T {
    if first && mute.load(Ordering::SeqCst) {
        future::pending::<()>().await;
    }
    frame
}

#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_is_left_for_a_new_line() {
    let fake = Fake::default();
    let server = rig::server(Arc::new(fake.clone()));
    let through = rig::connector(&server, &Wire::Memory(Cut::never()));
    let (silent, n_lines) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (mute, count) = (Arc::clone(&silent), Arc::clone(&n_lines));
    let connector: crate::client::Connector = Arc::new(move || {
        let (mute, line) = (Arc::clone(&mute), through());
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            let Transport { incoming, outgoing } = line.await?;
            let heard = incoming.then(move |frame| until_mute(first, Arc::clone(&mute), frame));
            Ok(Transport { incoming: heard.boxed(), outgoing })
        })
    });
    let owner = RemoteWorkspace::connect(connector, rig::options(&fake)).await.unwrap();
    let remote = owner.workspace();
    tokio::time::sleep(ms(2 * REMOTE_PING_MS + 1)).await;
    silent.store(true, Ordering::SeqCst);
    let start = Instant::now();
    // The server does it at once; that is heard on the second line, and not done again.
    assert_eq!(remote.mkdir(at(&remote, "d"), false).await, Ok(()));
    assert_eq!(n_lines.load(Ordering::SeqCst), 2);
    let waited = start.elapsed();
    assert!(ms(3 * REMOTE_PING_MS) <= waited && waited <= ms(4 * REMOTE_PING_MS), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_tries_again_with_growing_pauses() {
    let server = rig::server(rig::fake());
    let options = rig::without_resume(rig::options(&*rig::fake()));
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let at_attempt = Arc::clone(&attempts);
    let (line, served) = memory::pair();
    tokio::spawn(async move { drop(tokio::time::timeout(ms(10), server.serve(served)).await) });
    let line = Mutex::new(Some(line));
    let connector: crate::client::Connector = Arc::new(move || {
        at_attempt.lock().unwrap().push(Instant::now());
        let line = line.lock().unwrap().take();
        let gone = || ConnectError::Unreachable("nobody is there".into());
        Box::pin(future::ready(line.ok_or_else(gone)))
    });
    let owner = RemoteWorkspace::connect(connector, options).await.unwrap();
    let remote = owner.workspace();
    tokio::time::sleep(ms(100)).await;
    assert_eq!(attempts.lock().unwrap().len(), 1, "nobody is called without need");
    let failure = remote.mkdir(at(&remote, "d"), false).await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("unreachable", Effect::NotStarted));
    let attempts = attempts.lock().unwrap().split_off(1);
    let pauses: Vec<Duration> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(pauses[..3], [ms(20), ms(40), ms(80)]);
    assert!(pauses.iter().all(|pause| *pause <= ms(REMOTE_RETRY_MS_MAX)));
    assert!(pauses.contains(&ms(REMOTE_RETRY_MS_MAX)));
}

#[tokio::test]
async fn requests_wait_on_the_client_up_to_a_bound() {
    let slow = Slow::default();
    let remote = rig::join(Arc::new(slow.clone()), &Wire::Memory(Cut::never())).await;
    let workspace = remote.borrow();
    let n_calls = usize::try_from(REMOTE_CALLS_MAX).unwrap();
    let asked: Vec<_> = (0..n_calls + REMOTE_WAITING_MAX)
        .map(|_| workspace.mkdir(at(&*workspace, "d"), true))
        .collect();
    let refused = workspace.mkdir(at(&*workspace, "d"), true).await.unwrap_err();
    assert_eq!((refused.code.as_str(), refused.effect), ("busy", Effect::NotStarted));
    assert!(remote.is_busy());
    slow.go();
    for answer in future::join_all(asked).await {
        assert_eq!(answer, Ok(()));
    }
    assert!(!remote.is_busy());
}

#[tokio::test(start_paused = true)]
async fn a_drain_answers_what_runs_and_ends_within_its_time() {
    let slow = Slow::default();
    let server = rig::server(Arc::new(slow.clone()));
    let options = rig::options(&slow);
    let connector = rig::connector(&server, &Wire::Memory(Cut::never()));
    let remote = RemoteWorkspace::connect(connector, options).await.unwrap();
    let workspace = remote.borrow();
    let asked = workspace.mkdir(at(&*workspace, "d"), true);
    slow.waits().await;
    let (answer, ()) = tokio::join!(asked, server.drain());
    let failure = answer.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("aborted", Effect::NotStarted));
    let status = server.status();
    assert_eq!((status.connections, status.calls), (0, 0));
    // What does not end is not waited for.
    let stubborn = Slow::stubborn();
    let server = rig::server(Arc::new(stubborn.clone()));
    let connector = rig::connector(&server, &Wire::Memory(Cut::never()));
    let remote = RemoteWorkspace::connect(connector, rig::options(&stubborn)).await.unwrap();
    let workspace = remote.borrow();
    let asked = tokio::spawn(workspace.mkdir(at(&*workspace, "d"), true));
    stubborn.waits().await;
    let start = Instant::now();
    server.drain().await;
    assert!(start.elapsed() <= ms(2 * REMOTE_END_MS));
    let failure = asked.await.unwrap().unwrap_err();
    assert_eq!(failure.effect, Effect::Indeterminate);
}

#[tokio::test]
async fn cancelling_reaches_what_runs_and_only_that() {
    let slow = Slow::default();
    let server = rig::server(Arc::new(slow.clone()));
    let connector = rig::connector(&server, &Wire::Memory(Cut::never()));
    let one = RemoteWorkspace::connect(Arc::clone(&connector), rig::options(&slow)).await.unwrap();
    let two = RemoteWorkspace::connect(connector, rig::options(&slow)).await.unwrap();
    let (one, two) = (one.workspace(), two.workspace());
    let request = at(&one, "d");
    let cancel = request.cancel.clone();
    let first = tokio::spawn(one.mkdir(request, true));
    let second = tokio::spawn(two.mkdir(at(&two, "d"), true));
    slow.waits().await;
    slow.waits().await;
    cancel.cancel();
    let failure = first.await.unwrap().unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("aborted", Effect::NotStarted));
    slow.go();
    assert_eq!(second.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn an_upload_that_nobody_waits_for_leaves_nothing() {
    let fake = Fake::default();
    let server = rig::server(Arc::new(fake.clone()));
    let connector = rig::connector(&server, &Wire::Memory(Cut::never()));
    let remote = RemoteWorkspace::connect(connector, rig::options(&fake)).await.unwrap();
    let workspace = remote.borrow();
    let promise = Upload::of_file(6, "0".repeat(64), false);
    let bytes = stream::iter([Ok(Bytes::from_static(b"abc"))]).chain(stream::pending()).boxed();
    let mut sent = workspace.upload(at(&*workspace, "u"), promise, bytes);
    assert!((&mut sent).now_or_never().is_none());
    assert!(workspace.stat(at(&*workspace, ".")).await.is_ok());
    assert_eq!(server.status().uploads, 1);
    drop(sent);
    assert!(workspace.stat(at(&*workspace, ".")).await.is_ok());
    Box::new(remote).close().await;
    server.drain().await;
    assert_eq!(server.status().uploads, 0);
    assert!(fake.stat(at(&fake, "u")).await.is_err());
}

#[tokio::test]
async fn a_new_generation_is_fetched_and_a_stale_call_goes_on_once() {
    let fake = Fake::default();
    let server = rig::server(Arc::new(fake.clone()));
    let connector = rig::connector(&server, &Wire::Memory(Cut::never()));
    let owner = RemoteWorkspace::connect(connector, rig::options(&fake)).await.unwrap();
    let remote = owner.workspace();
    let before = workspace::source::ToolSource::catalog(&remote);
    fake.publish(before.tools()[..1].to_vec());
    server.publish(Arc::new(fake.clone())).unwrap();
    let tool = before.tools()[0].name;
    let call = super::calls::call(tool, &before);
    let outcome = super::calls::run(&remote, call.clone()).await;
    assert!(!outcome.is_error(), "{outcome:?}");
    assert_eq!(fake.calls().len(), 1);
    let after = workspace::source::ToolSource::catalog(&remote);
    assert_eq!((after.generation, after.tools().len()), (2, 1));
    // A tool that went is not asked for under another generation.
    let gone = super::calls::call(before.tools()[1].name, &before);
    let outcome = super::calls::run(&remote, gone).await;
    assert_eq!(outcome.failure.map(|failure| failure.code), Some("stale_generation".into()));
    let other = Fake::new("another");
    assert!(server.publish(Arc::new(other)).is_err());
}

#[tokio::test]
async fn what_runs_goes_on_while_there_is_no_line() {
    let slow = Slow::default();
    let server = rig::server(Arc::new(slow.clone()));
    // The greeting, the slow request, and one more at which the line breaks.
    let cut = Cut::at(Side::First, 2, Fate::Arrives);
    let through = rig::connector(&server, &Wire::Memory(cut.clone()));
    let (may_come_back, n_lines) = (Arc::new(Notify::new()), AtomicUsize::new(0));
    let gate = Arc::clone(&may_come_back);
    let connector: crate::client::Connector = Arc::new(move || {
        let (gate, line) = (Arc::clone(&gate), through());
        let first = n_lines.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            if !first {
                gate.notified().await;
            }
            line.await
        })
    });
    let owner = RemoteWorkspace::connect(connector, rig::options(&slow)).await.unwrap();
    let remote = owner.workspace();
    let made = tokio::spawn(remote.mkdir(at(&remote, "d"), false));
    slow.waits().await;
    let looked = tokio::spawn(remote.stat(at(&remote, ".")));
    while remote.connected() != Connected::Resuming {
        tokio::task::yield_now().await;
    }
    assert!(cut.happened());
    slow.go();
    while server.status().calls != 0 {
        tokio::task::yield_now().await;
    }
    assert!(!made.is_finished(), "it is done, and nobody has heard of it yet");
    may_come_back.notify_one();
    assert_eq!(made.await.unwrap(), Ok(()));
    assert!(looked.await.unwrap().is_ok());
    assert_eq!(remote.connected(), Connected::Yes);
}
