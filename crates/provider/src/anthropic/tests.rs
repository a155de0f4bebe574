//! Golden pairs: prompts and the bodies they become, streams and the deltas they become.

use proptest::prelude::*;
use serde_json::{Value, json};
use vocab::{
    ids::CallId,
    outcome::{Content, Failure, Outcome},
};

use super::*;
use crate::{
    delta::Delta,
    exchange::Decode as _,
    goldens::{self, assistant, call, prompt, user},
    prompt::{AssistantPart, PromptMessage},
};

const SETUP: Setup = Setup { images: true, thinking_budget: None };

fn sent(prompt: &Prompt, setup: &Setup) -> Value {
    serde_json::from_slice(&encode(prompt, setup).bytes()).unwrap()
}

fn check(events: &[Value], expected: &str) {
    goldens::check(|| Box::new(Decoder::new(goldens::acme())), events, false, expected);
}

fn start(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, kind: &str, field: &str, text: &str) -> Value {
    let mut delta = json!({ "type": kind });
    delta[field] = json!(text);
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn ending(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason },
            "usage": { "output_tokens": 7, "input_tokens": null } }),
        json!({ "type": "message_stop" }),
    ]
}

#[test]
fn a_request_marks_what_the_cache_should_keep() {
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(
        sent(&prompt(vec![user("hi")]), &SETUP),
        json!({
            "model": "m", "max_tokens": 100, "stream": true,
            "system": [{ "type": "text", "text": "be brief", "cache_control": mark }],
            "tools": [{ "name": "bash", "description": "runs",
                "input_schema": { "type": "object" }, "cache_control": mark }],
            "messages": [{ "role": "user", "content": [
                { "type": "text", "text": "hi", "cache_control": mark }] }],
        })
    );
    let thinking = Setup { images: true, thinking_budget: Some(10) };
    let body = sent(&prompt(vec![user("hi")]), &thinking);
    assert_eq!(body["thinking"], json!({ "type": "enabled", "budget_tokens": 1_024 }));
    assert_eq!(body["max_tokens"], 1_124);
}

#[test]
fn a_conversation_becomes_messages() {
    let thought = |text: &str, redacted| AssistantPart::Reasoning {
        text: text.into(),
        signature: Some("sig".into()),
        redacted,
    };
    let picture = Content::Image { media_type: "image/png".into(), data: "AA==".into() };
    let seen = Outcome { content: vec![picture], details: None, failure: None };
    let failed = Outcome::failed(Failure::not_started("x", "no such file"));
    let conversation = prompt(vec![
        user("look"),
        assistant(vec![thought("hm", false), thought("", true), call("a|1"), call("b"), call("c")]),
        PromptMessage::Results(vec![
            (CallId("a|1".into()), "bash".into(), seen),
            (CallId("b".into()), "bash".into(), failed),
            (CallId("c".into()), "bash".into(), Outcome::text("")),
        ]),
        user("and now?"),
    ]);
    let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "bash", "input": { "command": "ls" } });
    let image = json!({ "type": "image",
        "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } });
    assert_eq!(
        sent(&conversation, &SETUP)["messages"],
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "look" }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "sig" },
                { "type": "redacted_thinking", "data": "sig" },
                used("a_1"), used("b"), used("c") ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a_1", "content": [image] },
                { "type": "tool_result", "tool_use_id": "b", "is_error": true,
                  "content": [{ "type": "text", "text": "no such file" }] },
                { "type": "tool_result", "tool_use_id": "c",
                  "content": [{ "type": "text", "text": "(no output)" }] },
                { "type": "text", "text": "and now?", "cache_control": { "type": "ephemeral" } } ] },
        ])
    );
}

#[test]
fn a_whole_turn_is_told_block_by_block() {
    let [reason, end] = ending("tool_use");
    check(
        &[
            json!({ "type": "message_start", "message": { "usage": {
                "input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 3,
                "cache_creation_input_tokens": 2 } } }),
            json!({ "type": "ping" }),
            start(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
            delta(0, "thinking_delta", "thinking", "let me"),
            delta(0, "thinking_delta", "thinking", " see"),
            delta(0, "signature_delta", "signature", "si"),
            delta(0, "signature_delta", "signature", "g"),
            stop(0),
            start(1, json!({ "type": "redacted_thinking", "data": "hidden" })),
            stop(1),
            start(2, json!({ "type": "text", "text": "" })),
            delta(2, "text_delta", "text", "I look."),
            stop(2),
            start(3, json!({ "type": "tool_use", "id": "t1", "name": "bash", "input": {} })),
            delta(3, "input_json_delta", "partial_json", ""),
            delta(3, "input_json_delta", "partial_json", "{\"x\""),
            delta(3, "input_json_delta", "partial_json", ":1}"),
            stop(3),
            start(4, json!({ "type": "tool_use", "id": "t2", "name": "ls", "input": {} })),
            stop(4),
            reason,
            end,
        ],
        "usage 5/1/0/3/2 (let me see)^sig ()^^hidden \"I look.\" <t1 bash {\"x\":1}> <t2 ls {}> \
         usage 5/7/0/3/2 ToolUse",
    );
}

#[test]
fn ends_are_mapped_and_a_missing_end_is_none() {
    for (reason, expected) in [
        ("end_turn", "usage 0/7/0/0/0 Stop"),
        ("stop_sequence", "usage 0/7/0/0/0 Stop"),
        ("pause_turn", "usage 0/7/0/0/0 Stop"),
        ("max_tokens", "usage 0/7/0/0/0 Length"),
        ("model_context_window_exceeded", "usage 0/7/0/0/0 Length"),
        ("refusal", "usage 0/7/0/0/0 !refused"),
        ("something_new", "usage 0/7/0/0/0 Stop"),
    ] {
        check(&ending(reason), expected);
    }
    let mut out = Vec::new();
    let mut decoder = Decoder::new(goldens::acme());
    decoder.event(&ending("end_turn")[0], &mut out);
    out.clear();
    decoder.end(&mut out);
    assert!(out.is_empty());
}

#[test]
fn odd_events_do_not_fail_a_turn() {
    let [reason, end] = ending("end_turn");
    check(
        &[
            json!({ "type": "brand_new", "x": 1 }),
            start(0, json!({ "type": "server_tool_use", "id": "x" })),
            delta(0, "input_json_delta", "partial_json", "{}"),
            stop(0),
            start(1, json!({ "type": "text", "text": "all at once" })),
            delta(1, "citations_delta", "citation", "x"),
            start(2, json!({ "type": "text", "text": "" })),
            delta(2, "text_delta", "text", "b"),
            delta(1, "text_delta", "text", "!"),
            reason,
            end,
        ],
        "usage 0/7/0/0/0 \"all at once!\" \"b\" Stop",
    );
    let error = json!({ "type": "error",
        "error": { "type": "overloaded_error", "message": "Overloaded" } });
    check(&[start(0, json!({ "type": "text", "text": "a" })), error], "…a !overloaded");
}

#[test]
fn whole_answers_are_read_like_streams() {
    let mut out = Vec::new();
    let answer = json!({
        "type": "message", "stop_reason": "tool_use",
        "content": [
            { "type": "thinking", "thinking": "hm", "signature": "sig" },
            { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": "a", "name": "bash", "input": { "x": 1 } },
            { "type": "tool_use", "id": "b", "name": "ls", "input": {} } ],
        "usage": { "input_tokens": 3, "output_tokens": 2 },
    });
    Decoder::new(goldens::acme()).whole(&answer, &mut out);
    assert_eq!(
        goldens::told(&out),
        r#"usage 3/2/0/0/0 (hm)^sig "I look." <a bash {"x":1}> <b ls {}> ToolUse"#
    );
    let mut out = Vec::new();
    Decoder::new(goldens::acme()).whole(&json!({ "hello": 1 }), &mut out);
    assert_eq!(goldens::told(&out), "!bad_answer");
}

#[test]
fn an_answer_without_anything_is_a_failure() {
    check(&[json!({ "type": "message_stop" })], "!empty_answer");
    let empty = json!({ "type": "text", "text": "" });
    check(&[start(0, empty), json!({ "type": "message_stop" })], "!empty_answer");
    let stopped = json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } });
    check(&[stopped, json!({ "type": "message_stop" })], "!empty_answer");
    // To have nothing to say is an answer.
    let stopped = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
    check(&[stopped, json!({ "type": "message_stop" })], "Stop");
}

fn any_event() -> impl Strategy<Value = Value> {
    let block = prop_oneof![
        Just(json!({ "type": "text", "text": "" })),
        Just(json!({ "type": "thinking", "thinking": "hm" })),
        Just(json!({ "type": "redacted_thinking", "data": "x" })),
        Just(json!({ "type": "tool_use", "id": "a", "name": "t", "input": {} })),
        Just(json!({ "type": "tool_use" })),
        Just(json!(null)),
    ];
    let piece = prop_oneof![
        Just(("text_delta", "text")),
        Just(("thinking_delta", "thinking")),
        Just(("signature_delta", "signature")),
        Just(("input_json_delta", "partial_json")),
    ];
    prop_oneof![
        (0u64..3, block).prop_map(|(index, block)| start(index, block)),
        (0u64..3, piece).prop_map(|(index, (kind, field))| delta(index, kind, field, "{}")),
        (0u64..3).prop_map(stop),
        Just(ending("end_turn")[0].clone()),
        Just(json!([])),
    ]
}

proptest! {
    #[test]
    fn any_events_give_blocks_in_a_row_and_one_end(
        events in proptest::collection::vec(any_event(), 0..30),
    ) {
        let events: Vec<Value> = events.into_iter().chain(ending("end_turn")).collect();
        let deltas = goldens::decode(&mut Decoder::new(goldens::acme()), &events, false);
        goldens::told(&deltas);
        prop_assert!(matches!(deltas.last(), Some(Delta::Done(_))));
    }
}
