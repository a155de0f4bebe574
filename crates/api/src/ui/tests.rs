//! Every part and every state of a call, as the SDK keeps them.

use serde_json::json;
use vocab::{
    ids::MessageId,
    message::ModelRef,
    outcome::{Content, Effect, Failure},
};

use super::*;

/// Shows a message of these parts, and compares its parts.
fn check(parts: Vec<Part>, expected: Value) {
    let (id, run) = (MessageId::generate(), RunId::generate());
    let message = Message {
        id: id.clone(),
        role: Role::Assistant,
        run: Some(run.clone()),
        parts,
        created_at: 1_700_000_000_000,
    };
    let told: Value = serde_json::from_slice(&written(&message)).unwrap();
    let metadata = json!({"runId": run, "createdAt": "2023-11-14T22:13:20.000Z"});
    let expected = json!({"id": id, "role": "assistant", "parts": expected, "metadata": metadata});
    assert_eq!(told, expected);
}

fn written(message: &Message) -> Vec<u8> {
    serde_json::to_vec(&super::message(message)).unwrap()
}

fn call(id: &str, block: Option<&BlockId>, state: CallState) -> Part {
    let input = json!({"command": "true"});
    Part::Call { call: CallId(id.into()), tool: "bash".into(), input, block: block.cloned(), state }
}

fn ended(outcome: Outcome, ordinal: u32) -> CallState {
    CallState::Ended { outcome, ordinal }
}

fn failed(code: &str) -> Outcome {
    Outcome::failed(Failure::new(code, Effect::Indeterminate, "it broke").with_hint("look"))
}

#[test]
fn words_files_and_parts_of_ours_are_kept_as_the_sdk_keeps_them() {
    let message = MessageId::generate();
    let model = ModelRef { provider: "local".into(), model: "qwen3".into() };
    check(
        vec![
            Part::Step { model, usage: None, stop: None },
            Part::Reasoning {
                text: "hm".into(),
                signature: Some("secret".into()),
                redacted: false,
                done: true,
            },
            Part::Text { text: "a \"b\"\n\u{0}é".into(), done: false },
            Part::File { media_type: "image/png".into(), data: "AAAA".into() },
            Part::Steer { message: message.clone() },
            Part::Note { kind: "retry".into(), text: "once more".into() },
        ],
        json!([
            {"type": "step-start"},
            {"type": "reasoning", "id": "p1", "text": "hm", "state": "done"},
            {"type": "text", "text": "a \"b\"\n\u{0}é", "state": "streaming"},
            {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
            {"type": "data-stead-steer", "id": message, "data": {"messageId": message}},
            {"type": "data-stead-note", "id": "p5", "data": {"kind": "retry", "text": "once more"}},
        ]),
    );
}

/// Shows a call without a question and with one, and compares what is told of it beside its names.
fn check_call(state: CallState, plain: Value, asked: Value) {
    let block = BlockId::generate();
    let code = match &state {
        CallState::Ended { outcome, .. } => outcome.failure.as_ref().map(|f| f.code.clone()),
        CallState::Requested | CallState::Blocked | CallState::Approved | CallState::Started => {
            None
        }
    };
    for (block, expected) in [(None, plain), (Some(&block), asked)] {
        let mut told =
            json!({"type": "tool-bash", "toolCallId": "c", "input": {"command": "true"}});
        for (name, value) in expected.as_object().unwrap() {
            told[name] = value.clone();
        }
        if let Some(block) = block {
            told["approval"]["id"] = json!(block);
        }
        let outcome = code.as_ref().map(|code| {
            json!({"type": "data-stead-outcome", "id": "c", "data": {
                "callId": "c", "code": code, "effect": "indeterminate", "hint": "look",
                "details": null,
            }})
        });
        let expected: Vec<Value> = [told].into_iter().chain(outcome).collect();
        check(vec![call("c", block, state.clone())], Value::from(expected));
    }
}

#[test]
fn a_call_is_kept_in_the_state_the_sdk_has_for_it() {
    let told = |word: &str| json!({"state": word});
    let answered =
        |word: &str, approved: bool| json!({"state": word, "approval": {"approved": approved}});
    let (fresh, yes) = (told("input-available"), answered("approval-responded", true));
    check_call(CallState::Requested, fresh.clone(), yes.clone());
    check_call(CallState::Started, fresh, yes.clone());
    check_call(CallState::Approved, told("approval-responded"), yes);
    check_call(CallState::Blocked, told("approval-requested"), told("approval-requested"));
    let denied = (told("output-denied"), answered("output-denied", false));
    for code in ["denied", "unanswered"] {
        check_call(ended(failed(code), 0), denied.0.clone(), denied.1.clone());
    }
    let with = |mut told: Value, name: &str, value: &Value| {
        told[name] = value.clone();
        told
    };
    let check_end = |outcome: Outcome, word: &str, name: &str, value: &Value| {
        let plain = with(told(word), name, value);
        check_call(ended(outcome, 0), plain, with(answered(word, true), name, value));
    };
    check_end(failed("boom"), "output-error", "errorText", &json!("it broke\nlook"));
    let text = json!({"type": "text", "text": "seen"});
    let output = json!({"content": [text], "details": null});
    check_end(Outcome::text("seen"), "output-available", "output", &output);
    let mut seen = Outcome::text("seen").with_details(json!({"exit": 0}));
    seen.content.push(Content::Image { media_type: "image/png".into(), data: "AAAA".into() });
    let picture = json!({"type": "image", "mediaType": "image/png", "data": "AAAA"});
    let output = json!({"content": [text, picture], "details": {"exit": 0}});
    check_end(seen, "output-available", "output", &output);
}

#[test]
fn failures_stand_behind_their_segment_in_the_order_they_came() {
    let model = ModelRef { provider: "local".into(), model: "qwen3".into() };
    let step = Part::Step { model, usage: None, stop: None };
    let parts = vec![
        step.clone(),
        call("a", None, ended(failed("late"), 1)),
        call("b", None, ended(Outcome::text("fine"), 2)),
        call("c", None, ended(failed("soon"), 0)),
        step,
        Part::Text { text: "done".into(), done: true },
    ];
    let message =
        Message { id: MessageId::generate(), role: Role::User, run: None, parts, created_at: 0 };
    let told: Value = serde_json::from_slice(&written(&message)).unwrap();
    assert_eq!((&told["role"], &told["metadata"]["runId"]), (&json!("user"), &Value::Null));
    let kinds: Vec<_> = told["parts"].as_array().unwrap().iter().map(|p| &p["type"]).collect();
    let outcome = "data-stead-outcome";
    let tool = "tool-bash";
    assert_eq!(kinds, ["step-start", tool, tool, tool, outcome, outcome, "step-start", "text"]);
    assert_eq!([&told["parts"][4]["id"], &told["parts"][5]["id"]], ["c", "a"]);
}
