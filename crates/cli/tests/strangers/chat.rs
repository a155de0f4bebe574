//! `useChat` without a page: the AI SDK's chat and default transport drive `POST /chat`.

use serde_json::{Value, json};
use testkit::{model_server::Plan, reduce::canonical};

use crate::{
    node::Node,
    reading::{Gate, Place, stored, within},
};

fn plan(gate: &Gate) -> Plan {
    let wait = gate.waits("", "ran");
    let bash =
        |command: &str| json!({"type": "call", "tool": "bash", "input": {"command": command}});
    let call = |tool: &str, input| json!({"type": "call", "tool": tool, "input": input});
    let text = |text: &str| json!({"type": "text", "text": text});
    let write = json!({"path": "a.txt", "content": "hi\n"});
    serde_json::from_value(json!({"stories": [
        {"when": "first", "turns": [
            {"blocks": [text("I write."), call("write", write)]},
            {"blocks": [call("read", json!({"path": "a.txt"}))]},
            {"blocks": [text("Written and read.")]},
        ]},
        {"when": "second", "turns": [
            {"blocks": [text("I ask."), bash("echo never")]},
            {"blocks": [text("Then not.")]},
        ]},
        {"when": "third", "turns": [
            {"blocks": [text("I ask again."), bash(&wait)]},
            {"blocks": [text("It ran.")]},
        ]},
    ]}))
    .unwrap()
}

/// Returns a chat's message as [`stored`] writes it. The words of a person's answer are known to the
/// chat that gave it alone.
fn kept(message: &Value) -> String {
    let mut parts = message["parts"].clone();
    for part in parts.as_array_mut().unwrap() {
        if let Some(Value::Object(approval)) = part.get_mut("approval") {
            approval.remove("reason");
        }
    }
    canonical(&json!({"id": message["id"], "role": message["role"], "parts": parts}))
}

#[test]
fn stranger_the_sdks_chat_runs_asks_resumes_and_goes_on() {
    let Some(node) = Node::find() else { return };
    let gate = Gate::new();
    let place = Place::new(plan(&gate));
    let (url, credential) = place.door();
    let url = url.trim_end_matches('/');
    let told =
        node.run(include_str!("chat.mjs"), &[url, &credential, gate.path().to_str().unwrap()]);
    let messages = told["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant"]);
    let session = messages[1]["metadata"]["sessionId"].as_str().unwrap().to_owned();
    within(async {
        let last = stored(&place.client(), &session).await;
        assert_eq!(kept(&messages[5]), last);
        let other = told["other"].as_array().unwrap();
        assert_eq!(kept(other.last().unwrap()), last, "the page that came later");
        assert_eq!(other.len(), 6);
    });
    // A denied call is told to the model, and the whole conversation comes with each request.
    let asked = place.vendor.requests();
    let whole = asked.last().unwrap().body.to_string();
    assert!(whole.contains("not today") && whole.contains("first: write a file"), "{whole}");
}
