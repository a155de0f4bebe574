//! Several clients at once: one that does not read, or breaks a rule, is nobody else's trouble.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, future};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{REMOTE_CONNECTIONS_MAX, REMOTE_QUEUE_BYTES_MAX},
    outcome::Outcome,
};
use workspace::{
    fake::Fake,
    primitive::Request,
    source::{OwnedWorkspace, ToolSource, Workspace},
};

use super::{
    calls,
    rig::{self, Wire},
};
use crate::{
    client::{ConnectError, RemoteWorkspace},
    frame::Frame,
    transport::{
        Said, Transport,
        memory::{self, Cut},
    },
};

fn at(workspace: &dyn Workspace, path: &str) -> Request {
    let cancel = CancellationToken::new();
    Request { path: path.to_owned(), expected: workspace.id(), cancel }
}

async fn say(line: &mut Transport, value: &Value) {
    let frame = Frame::Text(Bytes::from(value.to_string()));
    line.outgoing.send(Said::Frame(frame)).await.unwrap();
}

fn text(frame: &Frame) -> Value {
    match frame {
        Frame::Text(text) => serde_json::from_slice(text).unwrap(),
        Frame::Binary(bytes) => json!({"piece": bytes.len()}),
    }
}

/// A client by hand that has been greeted.
async fn by_hand(server: &crate::server::Server) -> Transport {
    let (mut line, served) = memory::pair();
    let server = server.clone();
    tokio::spawn(async move { server.serve(served).await });
    let hello = json!({
        "type": "hello",
        "protocol": {"major": 1, "minor_min": 0, "minor_max": 0},
        "capabilities": {"required": [], "optional": ["resume", "transfer"]},
        "client": {"name": "test", "version": "1"},
    });
    say(&mut line, &hello).await;
    let welcome = line.incoming.next().await.unwrap().unwrap();
    assert_eq!(text(&welcome)["type"], "welcome");
    line
}

fn call(id: u64, fake: &Fake) -> Value {
    let call = calls::call("look", &fake.catalog());
    json!({
        "type": "call", "id": id, "call_id": "c", "run": call.run, "tool": "look", "arguments": {},
        "arguments_prepared": true, "expected_generation": 1, "schema_hash": call.schema_hash,
        "envelope": {"image_resize": true},
    })
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_and_holds_nobody_up() {
    let fake = Fake::default();
    let size = 10 << 20;
    let n_calls = REMOTE_QUEUE_BYTES_MAX / size + 20;
    fake.script("look", (0..n_calls).map(|_| Outcome::text("x".repeat(size))));
    let server = rig::server(Arc::new(fake.clone()));
    let mut deaf = by_hand(&server).await;
    let connector = rig::connector(&server, &Wire::Memory(Cut::never()));
    let owner = RemoteWorkspace::connect(connector, rig::options(&fake)).await.unwrap();
    let other = owner.borrow();
    for id in 1..=n_calls as u64 {
        let frame = Frame::Text(Bytes::from(call(id, &fake).to_string()));
        if deaf.outgoing.send(Said::Frame(frame)).await.is_err() {
            break;
        }
        assert!(other.stat(at(&*other, ".")).await.is_ok());
    }
    // What it reads now is the little that was on its way, and no last word.
    let heard: Vec<_> = deaf.incoming.collect().await;
    assert!(heard.len() < n_calls, "{}", heard.len());
    assert!(heard.iter().flatten().all(|frame| text(frame)["type"] == "outcome"));
    server.drain().await;
    assert_eq!((server.status().connections, server.status().calls), (0, 0));
}

#[tokio::test]
async fn a_client_that_breaks_a_rule_is_nobody_elses_trouble() {
    let fake = Fake::default();
    let server = rig::server(Arc::new(fake.clone()));
    let connector = rig::connector(&server, &Wire::Memory(Cut::never()));
    let owner = RemoteWorkspace::connect(connector, rig::options(&fake)).await.unwrap();
    let good = owner.borrow();
    for (bad, status) in [
        (json!({"type": "stat", "id": 0}), "protocol_error"),
        (json!({"type": "hello"}), "protocol_error"),
        (json!({"type": "ack", "received": 99}), "protocol_error"),
        (json!({"type": "ack", "received": 0, "x": 1}), "protocol_error"),
    ] {
        let mut line = by_hand(&server).await;
        say(&mut line, &bad).await;
        let heard: Vec<_> = line.incoming.map(|frame| text(&frame.unwrap())).collect().await;
        assert_eq!(heard[0]["type"], "closing", "{bad}");
        assert_eq!((heard.len(), &heard[0]["code"]), (1, &json!(status)), "{bad}");
        assert!(good.stat(at(&*good, ".")).await.is_ok());
    }
}

#[tokio::test]
async fn connections_are_bounded_and_each_is_free_again() {
    let fake = Fake::default();
    let server = rig::server(Arc::new(fake.clone()));
    let connector = rig::connector(&server, &Wire::Memory(Cut::never()));
    let connect = || RemoteWorkspace::connect(Arc::clone(&connector), rig::options(&fake));
    let all = future::join_all((0..REMOTE_CONNECTIONS_MAX).map(|_| connect())).await;
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    let refused = connect().await.unwrap_err();
    assert!(matches!(refused, ConnectError::Refused { code, .. } if code == "busy"));
    // All of them work side by side.
    let answers = future::join_all(all.iter().map(|one| {
        let one = one.borrow();
        async move { one.mkdir(at(&*one, "d"), true).await }
    }));
    assert!(answers.await.iter().all(Result::is_ok));
    for one in all {
        Box::new(one).close().await;
    }
    // The server hears of the last goodbye before it hears of anything later.
    while server.status().connections == REMOTE_CONNECTIONS_MAX {
        tokio::task::yield_now().await;
    }
    assert!(connect().await.is_ok());
}
