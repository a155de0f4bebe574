//! Conversations as they are stored, and the turns that come of them.

use super::*;

fn model(name: &str) -> ModelRef {
    ModelRef { provider: "p".into(), model: name.into() }
}

fn call(id: &str) -> AssistantPart {
    AssistantPart::Call { id: CallId(id.into()), tool: "t".into(), input: json!({}) }
}

fn prompt(messages: Vec<PromptMessage>) -> Prompt {
    Prompt {
        model: model("m"),
        system: String::new(),
        messages,
        tools: Vec::new().into(),
        output_tokens_max: 1,
        cache_key: String::new(),
    }
}

fn assistant(parts: Vec<AssistantPart>) -> PromptMessage {
    PromptMessage::Assistant { model: model("m"), parts }
}

fn results(ids: &[&str]) -> PromptMessage {
    PromptMessage::Results(
        ids.iter().map(|id| (CallId((*id).into()), "t".into(), Outcome::text(*id))).collect(),
    )
}

fn user(text: &str) -> PromptMessage {
    PromptMessage::User(vec![Content::text(text)])
}

/// Writes turns as one line: `u` texts, `a` pieces, `r` answers.
fn told(messages: Vec<PromptMessage>) -> String {
    let prompt = prompt(messages);
    let mut out = Vec::new();
    for turn in turns(&prompt, 8) {
        out.push(match turn {
            Turn::User(blocks) => format!("u{}", blocks.len()),
            Turn::Assistant(pieces) => {
                let pieces: Vec<String> = pieces
                    .iter()
                    .map(|piece| match piece {
                        Piece::Text(text) => (*text).to_owned(),
                        Piece::Reasoning { signature, .. } => format!("~{signature}"),
                        Piece::Call { id, input, .. } => format!("{id}{input}"),
                    })
                    .collect();
                format!("a[{}]", pieces.join(" "))
            }
            Turn::Results(answers) => {
                let answers: Vec<String> = answers
                    .iter()
                    .map(|answer| {
                        let lost = answer.content == NO_RESULT.as_slice();
                        format!("{}{}", answer.id, if lost { "?" } else { "" })
                    })
                    .collect();
                format!("r[{}]", answers.join(" "))
            }
        });
    }
    out.join(" ")
}

#[test]
fn turns_are_strict_whatever_was_stored() {
    let check = |messages, expected: &str| assert_eq!(told(messages), expected);
    check(vec![user("a"), user(" "), user("b")], "u2");
    check(
        vec![user("a"), assistant(vec![call("x"), call("y")]), results(&["y", "x", "z"])],
        "u1 a[x{} y{}] r[x y]",
    );
    check(
        vec![user("a"), assistant(vec![call("x"), call("y")]), results(&["y"]), user("b")],
        "u1 a[x{} y{}] r[x? y] u1",
    );
    check(vec![user("a"), assistant(vec![call("x")])], "u1 a[x{}] r[x?]");
    check(vec![user("a"), results(&["x"]), user("b")], "u2");
    check(vec![user("a"), assistant(vec![AssistantPart::Text(String::new())]), user("b")], "u2");
}

#[test]
fn ids_are_clean_short_and_unique() {
    let messages = vec![
        user("a"),
        assistant(vec![call("a|b"), call("a/b")]),
        results(&["a/b", "a|b"]),
        assistant(vec![call("a_b"), call("long_long_long"), call("")]),
    ];
    assert_eq!(
        told(messages),
        "u1 a[a_b{} a_b_2{}] r[a_b a_b_2] a[a_b_3{} long_lon{} call{}] r[a_b_3? long_lon? call?]"
    );
}

#[test]
fn only_the_same_model_gets_its_thinking_back() {
    let thought = |signature: Option<&str>| AssistantPart::Reasoning {
        text: "hm".into(),
        signature: signature.map(str::to_owned),
        redacted: false,
    };
    let parts = vec![thought(Some("s")), thought(None), AssistantPart::Text("x".into())];
    let other = PromptMessage::Assistant { model: model("other"), parts: parts.clone() };
    assert_eq!(told(vec![user("a"), assistant(parts), user("b"), other]), "u1 a[~s x] u1 a[x]");
}

#[test]
fn arguments_that_were_no_object_are_wrapped() {
    let broken = AssistantPart::Call {
        id: CallId("x".into()),
        tool: "t".into(),
        input: Value::String("ls".into()),
    };
    assert_eq!(told(vec![user("a"), assistant(vec![broken])]), r#"u1 a[x{"unparsed":"ls"}] r[x?]"#);
}
