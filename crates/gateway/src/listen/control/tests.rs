//! Lines over a real socket: what reaches the handlers, and what becomes of clients that are slow, rude,
//! many or gone.

use std::{sync::Arc, time::Duration};

use api::routes::TABLE;
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt as _, sync::Notify};
use vocab::limits::{
    CONTROL_FIELDS_MAX, CONTROL_ID_BYTES_MAX, HEAD_READ_MS_MAX, PATH_PARAMETER_BYTES_MAX,
    REQUEST_BODY_BYTES_MAX,
};

use super::*;
use crate::{
    body::Pieces,
    mount::{Handler, word},
    sse::Cut,
    testing::{House, Lines, Plan, echo, exchange, request},
};

mod bounds;

/// Both encodings of each row reach the same handler with the same words, and say the same of its answer.
#[tokio::test]
async fn every_row_is_heard_on_the_socket_as_it_is_over_http() {
    let house = House::open(Plan::default()).await;
    for Route { endpoint, method, path, op, answers, .. } in TABLE {
        let name = name_of(path);
        for parameter in name.into_iter().flat_map(|name| ["id", name]).chain(
            // Whoever has none is asked once.
            name.is_none().then_some(""),
        ) {
            let mut args = match method {
                Method::Post => json!({"key": "v ä"}),
                Method::Get | Method::Delete => {
                    json!({"q": "a b&ä", "n": 1, "all": true, "no": null})
                }
            };
            if !parameter.is_empty() {
                args[parameter] = json!("a/b ä");
            }
            let (query, body) = match method {
                Method::Post => ("", json!({"key": "v ä"}).to_string()),
                Method::Get | Method::Delete => ("?all=true&n=1&q=a%20b%26%C3%A4", String::new()),
            };
            let line = format!("{} {}{query}", word(*method), endpoint.path_with("a/b ä"));
            let mut http = house.unix().await;
            let mut lines = Lines::of(house.socket()).await;
            let told = lines.ask(op, args).await;
            assert_eq!(told["id"], *op);
            if *answers == Answers::Events && *endpoint == Endpoint::Events {
                let said = json!({"id": "subscribe", "event": "message", "data": {"hello": 1}});
                assert_eq!(told, said);
                continue;
            }
            let answer = exchange(&mut http, request(&line, "", &body).as_bytes()).await.unwrap();
            if answer.status == 200 {
                assert_eq!((&told["ok"], &told["result"]), (&json!(true), &answer.json()), "{op}");
            } else {
                assert_eq!((&told["ok"], &told["error"]), (&json!(false), &answer.json()), "{op}");
            }
        }
    }
}

fn name_of(path: &str) -> Option<&str> {
    path.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(name, _)| name)
}

#[tokio::test]
async fn an_id_comes_back_as_it_was_given_and_is_bounded() {
    let house = House::open(Plan::default()).await;
    let mut lines = Lines::of(house.socket()).await;
    for id in [
        json!(1),
        json!("x"),
        json!(null),
        json!({"a": [1, 2]}),
        json!("x".repeat(CONTROL_ID_BYTES_MAX - 2)),
    ] {
        lines.say(id.clone(), "status", json!({})).await;
        let told = lines.hear().await.unwrap();
        assert_eq!((&told["id"], &told["ok"]), (&id, &json!(true)));
    }
    // As it was written, not as we would write it; and none is none.
    lines
        .send(b"{\"id\": 1.50e1 , \"op\":\"status\"}\r\n\n  \n{\"op\":\"status\",\"args\":null}\n")
        .await;
    let mut text = lines.into_stream();
    let mut beginning = [0; 16];
    text.read_exact(&mut beginning).await.unwrap();
    assert_eq!(&beginning, b"{\"id\":1.50e1,\"ok");
    let mut lines = Lines::of(house.socket()).await;
    lines.say("x".repeat(CONTROL_ID_BYTES_MAX - 1), "status", json!({})).await;
    let told = lines.hear().await.unwrap();
    assert_eq!((&told["id"], &told["error"]["field"]), (&json!(null), &json!("id")));
}

#[tokio::test]
async fn lines_that_cannot_be_answered_say_why_and_the_connection_goes_on() {
    let house = House::open(Plan::default()).await;
    let mut lines = Lines::of(house.socket()).await;
    let fields = |n: usize| -> String {
        let all: Vec<String> = (0..n).map(|idx| format!("\"f{idx}\":1")).collect();
        format!("{{{}}}", all.join(","))
    };
    let with_args = |op: &str, args: &str| format!(r#"{{"id":7,"op":"{op}","args":{args}}}"#);
    let long = "x".repeat(PATH_PARAMETER_BYTES_MAX + 1);
    // The first one decides which protocol is spoken, so it begins as a request does.
    let mut check = async |line: &[u8], id: Value, code: &str, field: Value| {
        lines.send(&[line, b"\n"].concat()).await;
        let told = lines.hear().await.unwrap();
        let said = String::from_utf8_lossy(line);
        assert_eq!((&told["ok"], &told["id"]), (&json!(false), &id), "{said}: {told}");
        let error = &told["error"];
        assert_eq!((&error["code"], &error["field"]), (&json!(code), &field), "{said}: {told}");
        assert_eq!(error["effect"], "not_started", "{said}");
    };
    let none = || json!(null);
    check(b"{", none(), "malformed_request", none()).await;
    check(b"{}", none(), "invalid_field", json!("op")).await;
    check(b"[1, \"status\"]", none(), "malformed_request", none()).await;
    check(b"GET / HTTP/1.1\r", none(), "malformed_request", none()).await;
    check(b"{\"id\":1,\"id\":2,\"op\":\"status\"}", none(), "malformed_request", none()).await;
    check(b"{\"id\":\"\xff\",\"op\":\"status\"}", none(), "malformed_request", none()).await;
    check(b"{\"id\":7,\"op\":\"status\"} x", none(), "malformed_request", none()).await;
    check(fields(CONTROL_FIELDS_MAX + 1).as_bytes(), none(), "malformed_request", none()).await;
    check(fields(CONTROL_FIELDS_MAX).as_bytes(), none(), "invalid_field", json!("op")).await;
    check(b"{\"id\":7,\"op\":5}", json!(7), "invalid_field", json!("op")).await;
    check(b"{\"id\":7,\"op\":\"nothing\"}", json!(7), "unknown_op", json!("op")).await;
    check(b"{\"id\":7,\"op\":\"status\",\"x\":1}", json!(7), "unknown_field", json!("x")).await;
    let wrong = [
        ("status", "[]", "args"),
        ("list", "\"x\"", "args"),
        ("list", "{\"all\":[]}", "all"),
        ("stop", "{}", "id"),
        ("stop", "{\"id\":1}", "id"),
        ("stop", "{\"id\":\"\"}", "id"),
        ("stop", "{\"id\":\"a\\u0000\"}", "id"),
        ("stop", &format!("{{\"id\":\"{long}\"}}"), "id"),
        ("stop", "{\"id\":\"a\",\"job\":\"a\"}", "job"),
        ("stop", "{\"id\":\"a\",\"id\":\"a\"}", "args"),
        ("stop", &fields(CONTROL_FIELDS_MAX + 1), "args"),
        ("subscribe", "{\"after\":1}", "after"),
        ("subscribe", "{\"after\":\"\\n\"}", "after"),
    ];
    for (op, args, field) in wrong {
        let line = with_args(op, args);
        check(line.as_bytes(), json!(7), "invalid_field", json!(field)).await;
    }
    // A panic is one as well, and the house stands.
    lines.say(1, "secret_has", json!({})).await;
    assert_eq!(lines.hear().await.unwrap()["error"]["code"], "internal");
    assert_eq!(lines.ask("status", json!({})).await["ok"], true);
}

/// Answers when it is let go, and tells who waits by their words.
fn waiting(entered: Arc<Notify>, leave: Arc<Notify>) -> Handler {
    let rest = echo();
    Arc::new(move |endpoint, ask| {
        if endpoint != Endpoint::SessionShow {
            return rest(endpoint, ask);
        }
        let (entered, leave) = (Arc::clone(&entered), Arc::clone(&leave));
        Box::pin(async move {
            entered.notify_one();
            leave.notified().await;
            Reply::json(&ask.parameter)
        })
    })
}

#[tokio::test]
async fn answers_come_as_they_are_ready() {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = waiting(Arc::clone(&entered), Arc::clone(&leave));
    let house = House::open(Plan { handler, ..Plan::default() }).await;
    let mut lines = Lines::of(house.socket()).await;
    lines.say("slow", "session_show", json!({"session": "one"})).await;
    entered.notified().await;
    lines.say("stream", "subscribe", json!({})).await;
    assert_eq!(lines.hear().await.unwrap()["event"], "message");
    assert_eq!(lines.ask("status", json!({})).await["id"], "status");
    leave.notify_one();
    assert_eq!(lines.hear().await.unwrap(), json!({"id": "slow", "ok": true, "result": "one"}));
}

#[tokio::test]
async fn who_sends_no_more_gets_what_is_due() {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = waiting(Arc::clone(&entered), Arc::clone(&leave));
    let house = House::open(Plan { handler, ..Plan::default() }).await;
    let mut lines = Lines::of(house.socket()).await;
    lines.say("stream", "subscribe", json!({})).await;
    assert_eq!(lines.hear().await.unwrap()["id"], "stream");
    // The last line needs no end.
    lines.send(br#"{"id":1,"op":"session_show","args":{"id":"one"}}"#).await;
    lines.hush().await;
    entered.notified().await;
    leave.notify_one();
    assert_eq!(lines.hear().await.unwrap(), json!({"id": 1, "ok": true, "result": "one"}));
    assert_eq!(lines.hear().await, None);
}

/// Answers with one long document, with one that breaks off, with nothing, and with a stream that breaks off.
fn odd() -> Handler {
    let rest = echo();
    Arc::new(move |endpoint, ask| {
        let pieces =
            |all: Vec<Result<Bytes, Cut>>| Ok(Reply::Pieces(Pieces::new(stream::iter(all))));
        let piece = |text: &'static str| Ok(Bytes::from_static(text.as_bytes()));
        let is_whole = ask.parameter == "whole";
        let reply = if endpoint == Endpoint::SessionMessages {
            pieces(vec![piece("[1,"), if is_whole { piece("2]") } else { Err(Cut) }])
        } else if endpoint == Endpoint::ChatStream {
            Ok(Reply::Nothing)
        } else if [Endpoint::AgentStream, Endpoint::AgentRun].contains(&endpoint) {
            let all = [piece("id: r.1\ndata: {}\n\ndata: [DONE]\n\n"), Err(Cut)];
            let n_frames = if is_whole { 1 } else { 2 };
            let events = Events::new(stream::iter(all.into_iter().take(n_frames)));
            Ok(Reply::Events(Box::new(events), Vec::new()))
        } else {
            return rest(endpoint, ask);
        };
        Box::pin(async move { reply })
    })
}

#[tokio::test]
async fn long_answers_are_one_line_and_streams_are_many() {
    let house = House::open(Plan { handler: odd(), ..Plan::default() }).await;
    let mut lines = Lines::of(house.socket()).await;
    let told = lines.ask("session_messages", json!({"id": "whole"})).await;
    assert_eq!(told["result"], json!([1, 2]));
    let told = lines.ask("chat_stream", json!({"chat": "c"})).await;
    assert_eq!(told, json!({"id": "chat_stream", "ok": true, "result": null}));
    let line = json!({"id": "stream", "event": "message", "data": {}, "cursor": "r.1"});
    assert_eq!(lines.ask("stream", json!({"session": "whole"})).await, line);
    let end = json!({"id": "stream", "ok": true, "result": null});
    assert_eq!(lines.hear().await.unwrap(), end);
    for (op, args, effect) in
        [("stream", json!({"id": "cut"}), "not_started"), ("run", json!({}), "completed")]
    {
        assert_eq!(lines.ask(op, args).await["event"], "message");
        let error = &lines.hear().await.unwrap()["error"];
        assert_eq!((&error["code"], &error["effect"]), (&json!("stream_cut"), &json!(effect)));
    }
    // Half a document is none: the connection breaks, and says no more.
    lines.say(1, "session_messages", json!({"id": "cut"})).await;
    let mut rest = String::new();
    lines.into_stream().read_to_string(&mut rest).await.ok();
    assert_eq!(rest, r#"{"id":1,"ok":true,"result":[1,"#);
}
