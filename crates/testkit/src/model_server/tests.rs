//! The server is asked over a real socket by a client of its own.

use serde_json::json;

use super::*;

/// Sends a request and returns status and body, over a bare connection.
fn ask(server: &ModelServer, path: &str, body: &Value) -> (u16, String) {
    use std::io::{Read as _, Write as _};
    let mut tcp = std::net::TcpStream::connect(server.address).expect("connects");
    let body = body.to_string();
    write!(
        tcp,
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nanthropic-version: 2023-06-01\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sends");
    let mut text = String::new();
    tcp.read_to_string(&mut text).expect("reads");
    let status = text[9..12].parse().expect("a status");
    (status, text.split_once("\r\n\r\n").expect("a body").1.to_owned())
}

#[test]
fn both_vendors_answer_the_same_plan() {
    let server = ModelServer::start(Plan::of(vec![plan::Turn::text("hello")])).expect("starts");
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let (status, body) =
        ask(&server, "/v1/chat/completions", &json!({ "model": "m", "messages": messages }));
    let body: Value = serde_json::from_str(&body).expect("json");
    assert_eq!((status, &body["choices"][0]["message"]["content"]), (200, &json!("hello")));
    let request = json!({ "model": "m", "max_tokens": 9, "messages": messages });
    let (status, body) = ask(&server, "/v1/messages", &request);
    let body: Value = serde_json::from_str(&body).expect("json");
    assert_eq!((status, &body["content"][0]["text"]), (200, &json!("hello")));
    assert_eq!(server.requests()[1].body, request);
}

#[test]
fn what_the_vendors_would_refuse_is_refused() {
    let server = ModelServer::start(Plan::of(vec![plan::Turn::text("x")])).expect("starts");
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [{
        "id": "c", "type": "function", "function": { "name": "t", "arguments": "{}" } }] });
    let user = json!({ "role": "user", "content": "hi" });
    let used = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "c", "name": "t", "input": {} }] });
    let thought = json!({ "role": "assistant", "content": [
        { "type": "thinking", "thinking": "x", "signature": "forged" }] });
    let openai = "/v1/chat/completions";
    let anthropic = "/v1/messages";
    for (path, body, part) in [
        (openai, json!({ "messages": [user] }), "model"),
        (openai, json!({ "model": "m", "messages": [user], "x": 1 }), "Unrecognized"),
        (openai, json!({ "model": "m", "messages": [user, call] }), "did not have response"),
        (
            openai,
            json!({ "model": "m", "messages": [{ "role": "tool", "tool_call_id": "c",
            "content": "x" }] }),
            "must be a response",
        ),
        (openai, json!({ "model": "m", "messages": [user], "tools": [] }), "too short"),
        (anthropic, json!({ "model": "m", "messages": [user] }), "max_tokens"),
        (anthropic, json!({ "model": "m", "max_tokens": 9, "messages": [used] }), "first message"),
        (
            anthropic,
            json!({ "model": "m", "max_tokens": 9, "messages": [user, used] }),
            "without `tool_result`",
        ),
        (
            anthropic,
            json!({ "model": "m", "max_tokens": 9, "messages": [user, thought] }),
            "Invalid `signature`",
        ),
        (
            anthropic,
            json!({ "model": "m", "max_tokens": 9, "messages": [
            { "role": "user", "content": " " }] }),
            "non-empty",
        ),
    ] {
        let (status, text) = ask(&server, path, &body);
        assert_eq!(status, 400, "{body}");
        assert!(text.contains(part), "{text}");
    }
}
