//! What a server should not say, one by one, and what becomes of the client.

use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use workspace::call::{Progress, ProgressSink};

use super::*;
use crate::{
    client::{
        heard::{Then, tell},
        pending::{Ended, Reply},
    },
    frame::{CloseStatus, Frame},
};

fn message(value: &Value) -> Frame {
    Frame::Text(Bytes::from(value.to_string()))
}

/// A client with one place for calls: request 1 was said, request 2 waits for its turn.
fn asked() -> (Core, [oneshot::Receiver<Ended>; 2]) {
    let mut core = Core::new(Vec::new());
    core.session = Some(Session { connection: "c".into(), resume: None, places: [1; 3] });
    let replies = [(); 2].map(|()| {
        let (reply, waits) = oneshot::channel();
        let id = core.next_id();
        let opening = message(&json!({"type": "stat", "id": id}));
        core.ask(id, Pending::new(opening, Lane::Calls, Reply::Once(reply)));
        waits
    });
    while core.line.take().is_some() {}
    (core, replies)
}

fn breaks(frame: &Frame, status: CloseStatus) {
    let (mut core, _replies) = asked();
    let found = core.hear(frame).err().map(|violation| violation.status);
    assert_eq!(found, Some(status), "{frame:?}");
}

#[test]
fn a_server_that_says_what_it_must_not_is_left() {
    let raw = |text: &'static [u8]| Frame::Text(Bytes::from_static(text));
    for value in [
        json!({"type": "hello"}),
        json!({"type": "stat", "id": 1, "workspace": "w", "path": "a"}),
        json!({"type": "welcome"}),
        json!({"type": "nothing known", "id": 1}),
        json!({"type": "result", "id": 1, "value": null, "more": 1}),
        json!({"type": "result", "id": -1, "value": null}),
        json!({"type": "ack", "received": 1, "x": 1}),
    ] {
        breaks(&message(&value), CloseStatus::ProtocolError);
    }
    breaks(&raw(b"{"), CloseStatus::ProtocolError);
    breaks(&raw(b"[]"), CloseStatus::ProtocolError);
    breaks(&raw(br#"{"type":"result","id":1,"id":1,"value":0}"#), CloseStatus::ProtocolError);
    breaks(
        &raw(br#"{"type":"result","\u0074ype":"error","id":1,"value":0}"#),
        CloseStatus::ProtocolError,
    );
    breaks(&raw(b"{\"type\":\"\xff\"}"), CloseStatus::InvalidPayload);
    breaks(&Frame::Binary(Bytes::from_static(b"short")), CloseStatus::ProtocolError);
    breaks(&piece_frame(9, 0, b"of no request"), CloseStatus::ProtocolError);
    breaks(&piece_frame(2, 0, b"of one that was not said"), CloseStatus::ProtocolError);
    breaks(&piece_frame(1, 1, b"ahead"), CloseStatus::Policy);
    breaks(&piece_frame(1, 0, b"more than was asked for"), CloseStatus::Policy);
}

#[test]
fn answers_that_nobody_asked_for_change_nothing() {
    let (mut core, [mut first, mut second]) = asked();
    for id in [2, 9] {
        for value in [
            json!({"type": "result", "id": id, "value": 1}),
            json!({"type": "error", "id": id, "code": "c", "message": "m", "effect": "completed"}),
            json!({"type": "progress", "id": id, "offset": 0, "output": "x"}),
            json!({"type": "gap", "id": id, "bytes": 1}),
            json!({"type": "more", "id": id, "bytes": u64::MAX}),
            json!({"type": "begin", "id": id, "size": 1, "sha256": ""}),
        ] {
            let then = core.hear(&message(&value));
            assert!(matches!(then, Ok(Then::Nothing)), "{value}");
        }
    }
    assert!(first.try_recv().is_err() && second.try_recv().is_err());
    assert!(core.line.take().is_none(), "the second one still waits for its turn");
    let answer = |id: u64| message(&json!({"type": "result", "id": id, "value": id}));
    for _ in 0..2 {
        assert!(core.hear(&answer(1)).is_ok(), "twice is once");
    }
    let Ok(Ended::Value(value, _)) = first.try_recv() else { panic!("no answer") };
    assert_eq!(value.get(), "1");
    assert!(second.try_recv().is_err());
    assert!(core.line.take().is_some(), "and now its turn has come");
    assert!(core.hear(&answer(2)).is_ok() && second.try_recv().is_ok() && !core.is_busy());
}

#[test]
fn what_comes_after_the_end_of_a_call_is_told_to_nobody() {
    let (mut core, _replies) = asked();
    core.hear(&message(&json!({"type": "result", "id": 1, "value": 0}))).map(drop).unwrap();
    core.hear(&message(&json!({"type": "result", "id": 2, "value": 0}))).map(drop).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (reply, mut waits) = oneshot::channel();
    let id = core.next_id();
    let opening = message(&json!({"type": "call", "id": id}));
    let mut pending = Pending::new(opening, Lane::Calls, Reply::Once(reply));
    let into = Arc::clone(&heard);
    let sink: ProgressSink = Arc::new(move |progress| {
        let Progress::Output(text) = progress;
        into.lock().unwrap().push(text);
    });
    pending.progress = Some(sink);
    core.ask(id, pending);
    let progress =
        |text: &str| message(&json!({"type": "progress", "id": id, "offset": 0, "output": text}));
    let mut hear = |frame: &Frame| {
        if let Ok(Then::Tell(sink, text)) = core.hear(frame) {
            tell(&sink, text);
        }
    };
    hear(&progress("before"));
    hear(&message(&json!({"type": "result", "id": id, "value": 0})));
    hear(&progress("after"));
    hear(&message(&json!({"type": "gap", "id": id, "bytes": 1})));
    assert_eq!(*heard.lock().unwrap(), ["before"]);
    assert!(waits.try_recv().is_ok());
}
