//! Golden pairs: prompts and the bodies they become, streams and the deltas they become.

use proptest::prelude::*;
use serde_json::{Value, json};
use vocab::{
    ids::CallId,
    outcome::{Content, Failure, Outcome},
};

use super::*;
use crate::{
    exchange::Decode,
    goldens::{self, assistant, call, prompt, user},
    prompt::{AssistantPart, PromptMessage},
};

const LOCAL: Setup<'static> = Setup { official: false, images: true, reasoning_effort: None };

fn sent(prompt: &Prompt, setup: &Setup<'_>) -> Value {
    serde_json::from_slice(&encode(prompt, setup).bytes()).unwrap()
}

fn messages(prompt: &Prompt, setup: &Setup<'_>, expected: Value) {
    assert_eq!(sent(prompt, setup)["messages"], expected);
}

/// Decodes a stream of chunks and, when it has one, the same answer come whole.
fn check(chunks: &[Value], expected: &str) {
    goldens::check(|| Box::new(Decoder::new(goldens::acme())), chunks, true, expected);
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn piece(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    let mut call = json!({ "index": index, "function": { "arguments": arguments } });
    if !id.is_empty() {
        call["id"] = json!(id);
        call["function"]["name"] = json!(name);
    }
    delta(json!({ "tool_calls": [call] }))
}

#[test]
fn a_request_is_the_least_that_every_server_takes() {
    let mut prompt = prompt(vec![user("hi")]);
    let body = sent(&prompt, &LOCAL);
    assert_eq!(
        body,
        json!({
            "model": "m", "stream": true, "stream_options": { "include_usage": true },
            "max_tokens": 100,
            "messages": [
                { "role": "system", "content": "be brief" }, { "role": "user", "content": "hi" } ],
            "tools": [{ "type": "function", "function": { "name": "bash",
                "description": "runs", "parameters": { "type": "object" } } }],
        })
    );
    prompt.tools = Vec::new().into();
    prompt.system.clear();
    let setup = Setup { official: true, images: true, reasoning_effort: Some("low") };
    assert_eq!(
        sent(&prompt, &setup),
        json!({
            "model": "m", "stream": true, "stream_options": { "include_usage": true },
            "max_completion_tokens": 100, "reasoning_effort": "low", "prompt_cache_key": "ses",
            "messages": [{ "role": "user", "content": "hi" }],
        })
    );
}

#[test]
fn a_conversation_becomes_messages() {
    let thought = AssistantPart::Reasoning {
        text: "hm".into(),
        signature: Some("reasoning".into()),
        redacted: false,
    };
    let picture = Content::Image { media_type: "image/png".into(), data: "AA==".into() };
    let seen = Outcome { content: vec![picture.clone()], details: None, failure: None };
    let failed = Outcome::failed(Failure::not_started("x", "no such file"));
    let mut prompt = prompt(vec![
        PromptMessage::User(vec![Content::text("look"), picture]),
        assistant(vec![thought, call("a|1"), call("b")]),
        PromptMessage::Results(vec![
            (CallId("a|1".into()), "bash".into(), seen),
            (CallId("b".into()), "bash".into(), failed),
        ]),
    ]);
    prompt.system.clear();
    let function = json!({ "name": "bash", "arguments": "{\"command\":\"ls\"}" });
    messages(
        &prompt,
        &LOCAL,
        json!([
            { "role": "user", "content": [
                { "type": "text", "text": "look" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } } ] },
            { "role": "assistant", "content": null, "reasoning": "hm", "tool_calls": [
                { "id": "a_1", "type": "function", "function": function },
                { "id": "b", "type": "function", "function": function } ] },
            { "role": "tool", "tool_call_id": "a_1", "content": "(a picture, shown below)" },
            { "role": "tool", "tool_call_id": "b", "content": "no such file" },
            { "role": "user", "content": [
                { "type": "text", "text": "The pictures of the results above, in order:" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } } ] },
        ]),
    );
    let blind = Setup { images: false, ..LOCAL };
    let body = sent(&prompt, &blind)["messages"].to_string();
    assert!(!body.contains("AA=="), "{body}");
    assert!(body.contains("not shown"), "{body}");
}

#[test]
fn words_and_thinking_come_in_a_row() {
    check(
        &[
            delta(json!({ "role": "assistant", "content": "" })),
            delta(json!({ "reasoning_content": "let me" })),
            delta(json!({ "reasoning_content": " see" })),
            delta(json!({ "content": "Hel" })),
            delta(json!({ "content": "lo" })),
            finish("stop"),
            json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5,
                "prompt_tokens_details": { "cached_tokens": 4 },
                "completion_tokens_details": { "reasoning_tokens": 2 } } }),
        ],
        "(let me see)^reasoning_content \"Hello\" usage 6/5/2/4/0 Stop",
    );
    for field in ["reasoning", "reasoning_text"] {
        let mut thought = json!({});
        thought[field] = json!("hm");
        check(&[delta(thought), finish("stop")], &format!("(hm)^{field} Stop"));
    }
}

#[test]
fn calls_come_in_a_row_however_the_wire_mixes_them() {
    let expected = r#"<a bash {"x":1}> <b read {"y":2}> ToolUse"#;
    let (a1, a2) = (piece(0, "a", "bash", "{\"x\""), piece(0, "", "", ":1}"));
    let (b1, b2) = (piece(1, "b", "read", "{\"y\""), piece(1, "", "", ":2}"));
    let end = finish("tool_calls");
    check(&[a1.clone(), a2.clone(), b1.clone(), b2.clone(), end.clone()], expected);
    check(&[a1.clone(), b1.clone(), a2.clone(), b2.clone(), end.clone()], expected);
    check(&[a1, b1, b2, a2, end], expected);
}

#[test]
fn calls_of_lax_servers_are_understood() {
    // Every call has index zero and comes at once.
    let once = |id: &str, arguments: Value| {
        delta(json!({ "tool_calls": [{ "index": 0, "id": id, "type": "function",
            "function": { "name": "bash", "arguments": arguments } }] }))
    };
    check(
        &[once("a", json!("{\"x\":1}")), once("b", json!({ "x": 2 })), finish("stop")],
        r#"<a bash {"x":1}> <b bash {"x":2}> ToolUse"#,
    );
    // Neither index nor id.
    let bare = delta(json!({ "tool_calls": [
        { "function": { "name": "a", "arguments": "{}" } },
        { "function": { "name": "b", "arguments": "" } } ] }));
    check(&[bare, finish("stop")], "<? a {}> <? b {}> ToolUse");
    // The form before there were several calls.
    let old = delta(json!({ "function_call": { "name": "a", "arguments": "{\"x\":1}" } }));
    check(&[old, finish("function_call")], r#"<? a {"x":1}> ToolUse"#);
    // Arguments that are no JSON stay a text.
    check(
        &[piece(0, "a", "bash", "{\"x\": \"cut"), finish("length")],
        r#"<a bash "{\"x\": \"cut"> Length"#,
    );
}

#[test]
fn odd_chunks_do_not_fail_a_turn() {
    check(
        &[
            json!({ "choices": null }),
            json!({ "usage": {} }),
            json!({ "choices": [{ "delta": null, "finish_reason": "" }] }),
            json!({ "object": "surprise", "n": 1 }),
            delta(json!({ "content": [{ "type": "text", "text": "a" }, { "type": "x" }] })),
            delta(json!({ "content": null, "tool_calls": null })),
            finish("eos"),
        ],
        "\"a\" Stop",
    );
    check(&[delta(json!({ "content": "a" }))], "\"a\" Stop");
    check(&[delta(json!({ "content": "a" })), finish("content_filter")], "\"a\" !refused");
    check(&[json!({ "error": { "message": "x", "type": "server_error" } })], "!server_error");
    check(&[json!({ "object": "error", "message": "x", "code": 400 })], "!server_error");
}

#[test]
fn an_answer_without_anything_is_a_failure() {
    check(&[], "!empty_answer");
    check(&[delta(json!({ "role": "assistant", "content": "" }))], "!empty_answer");
    check(&[finish("tool_calls")], "!empty_answer");
    check(&[delta(json!({ "content": "a" })), finish("tool_calls")], "\"a\" !empty_answer");
    // To have nothing to say is an answer.
    check(&[finish("stop")], "Stop");
}

#[test]
fn nothing_is_taken_after_the_finish() {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 2 } });
    check(
        &[
            delta(json!({ "content": "a" })),
            finish("stop"),
            delta(json!({ "content": "b" })),
            piece(0, "c", "bash", "{}"),
            json!({ "error": { "message": "x" } }),
            finish("length"),
            usage,
        ],
        "\"a\" usage 3/2/0/0/0 Stop",
    );
}

#[test]
fn a_stream_without_its_end_is_none() {
    let mut decoder: Box<dyn Decode> = Box::new(Decoder::new(goldens::acme()));
    let mut out = Vec::new();
    decoder.event(&delta(json!({ "content": "a" })), &mut out);
    let before = out.len();
    decoder.end(&mut out);
    assert_eq!(out.len(), before);
}

#[test]
fn whole_answers_are_read_like_streams() {
    let mut out = Vec::new();
    let answer = json!({
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "I look.", "reasoning_content": "hm",
            "tool_calls": [{ "id": "a", "type": "function",
                "function": { "name": "bash", "arguments": "{\"x\":1}" } }] } }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
    });
    Decode::whole(&mut Decoder::new(goldens::acme()), &answer, &mut out);
    assert_eq!(
        goldens::told(&out),
        r#"(hm)^reasoning_content "I look." <a bash {"x":1}> usage 3/2/0/0/0 ToolUse"#
    );
    let mut out = Vec::new();
    Decode::whole(&mut Decoder::new(goldens::acme()), &json!({ "hello": 1 }), &mut out);
    assert_eq!(goldens::told(&out), "!bad_answer");
}

fn any_chunk() -> impl Strategy<Value = Value> {
    let id = prop_oneof![Just(""), Just("a"), Just("b")];
    let text = prop_oneof![Just("{"), Just("}"), Just("\"x\""), Just(":1"), Just("")];
    prop_oneof![
        text.clone().prop_map(|text| delta(json!({ "content": text }))),
        text.clone().prop_map(|text| delta(json!({ "reasoning": text }))),
        (0u64..3, id, text).prop_map(|(index, id, text)| piece(index, id, "t", text)),
        Just(json!({ "usage": { "prompt_tokens": 1 } })),
        Just(json!({ "choices": [{ "delta": { "tool_calls": [null, 1, {}] } }] })),
        Just(json!([])),
        Just(finish("stop")),
    ]
}

proptest! {
    #[test]
    fn any_chunks_give_blocks_in_a_row_and_one_end(
        chunks in proptest::collection::vec(any_chunk(), 0..30),
    ) {
        let deltas = goldens::decode(&mut Decoder::new(goldens::acme()), &chunks, true);
        goldens::told(&deltas);
        prop_assert!(!deltas.is_empty());
    }
}
