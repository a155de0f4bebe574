//! Scripts are played against prompts that grow as a loop would let them.

use serde_json::json;
use vocab::{message::ModelRef, outcome::Outcome};

use super::*;
use crate::prompt::{AssistantPart, PromptMessage};

fn prompt(messages: Vec<PromptMessage>) -> Prompt {
    Prompt {
        model: model(),
        system: "be brief".into(),
        messages,
        tools: Vec::new().into(),
        output_tokens_max: 100,
        cache_key: "ses".into(),
    }
}

fn model() -> ModelRef {
    ModelRef { provider: "scripted".into(), model: "demo".into() }
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::User(vec![vocab::outcome::Content::text(text)])
}

fn step(result: &str) -> [PromptMessage; 2] {
    let id = CallId("call_0_0".into());
    let call =
        AssistantPart::Call { id: id.clone(), tool: "bash".into(), input: json!({"command": "x"}) };
    [
        PromptMessage::Assistant { model: model(), parts: vec![call] },
        PromptMessage::Results(vec![(id, "bash".into(), Outcome::text(result))]),
    ]
}

/// Folds deltas into one line: texts, calls with inputs, the end.
fn told(deltas: &[Delta]) -> String {
    let mut out = String::new();
    for delta in deltas {
        match delta {
            Delta::Text(text) => out.push_str(text),
            Delta::Reasoning(text) => out.push_str(&format!("({text})")),
            Delta::CallStart { id, tool } => out.push_str(&format!(" <{id} {tool} ")),
            Delta::CallEnd { input } => out.push_str(&format!("{input}>")),
            Delta::Done(stop) => out.push_str(&format!(" {stop:?}")),
            Delta::Failed(failure) => out.push_str(&format!(" !{}", failure.failure.code)),
            Delta::TextStart
            | Delta::TextEnd
            | Delta::ReasoningStart
            | Delta::ReasoningEnd { .. }
            | Delta::CallInput(_)
            | Delta::Usage(_) => {}
        }
    }
    out
}

fn script() -> Scripted {
    Scripted::new(
        Script::from_value(json!({
            "turns": [
                { "blocks": [
                    { "type": "text", "text": "I look." },
                    { "type": "call", "tool": "bash", "input": { "command": "ls" } } ] },
                { "expect": [{ "contains": "README" }], "refuse": "Nothing to read.",
                  "blocks": [
                    { "type": "call", "tool": "read", "input": { "path": "{{last:(\\w+\\.md{1})}}", "n": 1 } } ] },
                { "blocks": [{ "type": "text", "text": "{{user}} {{no}} {{all:a.{1,3}}} {{" }] },
            ],
            "stories": [{ "when": "^title", "turns": [{ "blocks": [{ "type": "text", "text": "T" }] }] }],
        }))
        .expect("a script"),
    )
}

fn check(messages: Vec<PromptMessage>, expected: &str) {
    assert_eq!(told(&script().answer(&prompt(messages))), expected);
}

#[test]
fn the_turn_follows_from_the_prompt_alone() {
    check(vec![user("hi")], r#"I look. <call_0_1 bash {"command":"ls"}> ToolUse"#);
    let mut messages = vec![user("hi")];
    messages.extend(step("a README.md b"));
    check(messages.clone(), r#" <call_1_0 read {"n":1,"path":"README.md"}> ToolUse"#);
    messages.extend(step("text"));
    check(messages.clone(), "hi {{no}} a RE {{ Stop");
    messages.extend(step("more"));
    check(messages.clone(), " !script_exhausted");
    messages.push(user("again"));
    check(messages, r#"I look. <call_3_1 bash {"command":"ls"}> ToolUse"#);
    check(vec![user("title, please")], "T Stop");
}

#[test]
fn what_tools_returned_decides_whether_the_story_goes_on() {
    let mut messages = vec![user("hi")];
    messages.extend(step("nothing"));
    check(messages, "Nothing to read. !script_expectation_failed");
    let mut messages = vec![user("hi")];
    messages.extend(step("README without an ending"));
    check(messages.clone(), " !script_expectation_failed");
    let told = script().answer(&prompt(messages));
    let Some(Delta::Failed(failed)) = told.last() else { panic!("{told:?}") };
    let message = &failed.failure.message;
    assert!(message.contains("in the last result and was shown"), "{message}");
}

#[test]
fn unknown_fields_of_a_script_are_refused() {
    assert!(Script::parse(r#"{"turns":[{"block":[]}]}"#).is_err());
    assert!(Script::parse(r#"{"turns":[{"blocks":[{"type":"text","text":"a","x":1}]}]}"#).is_err());
    let script = script();
    let text = serde_json::to_string(&*script.script).expect("json");
    assert_eq!(Script::parse(&text).expect("parses"), *script.script);
}

#[tokio::test]
async fn a_stopped_script_says_so_and_ends() {
    let script = Script::from_value(json!({
        "pace": { "piece_chars": 1, "pause_ms": 3_600_000 },
        "turns": [{ "blocks": [{ "type": "text", "text": "slow" }] }],
    }))
    .expect("a script");
    let cancel = CancellationToken::new();
    let stream = Scripted::new(script).stream(prompt(vec![user("hi")]), cancel.clone());
    cancel.cancel();
    let deltas: Vec<Delta> = stream.collect().await;
    assert_eq!(told(&deltas), " !aborted");
}
