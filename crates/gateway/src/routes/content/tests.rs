//! What bodies become, and what reading them costs.

#![expect(clippy::disallowed_methods, reason = "reads its own memory")]

use api::agent::RunRequest;
use vocab::limits;

use super::*;

fn run(body: &[u8]) -> Result<Vec<Part>, Refused> {
    let request: RunRequest<History<'_>> = decode::json(body)?;
    of_run(&request.messages)
}

fn check<T: std::fmt::Debug>(result: Result<T, Refused>, code: &str, field: &str) {
    let problem = result.unwrap_err().problem().clone();
    assert_eq!((problem.code.as_str(), problem.field.as_deref()), (code, Some(field)));
}

#[test]
fn only_the_last_message_is_read() {
    let body = r#"{"messages": [{"role": "user", "content": 1, "extra": []},
        {"role": "assistant", "parts": [{"type": "tool-x"}]}, {"role": "user", "content": "go"}]}"#;
    assert_eq!(run(body.as_bytes()).unwrap(), [Part::Text { text: "go".into(), done: true }]);
    let body =
        r#"{"messages": [{"role": "user"}, {"role": "king"}, {"role": "user", "content": "go"}]}"#;
    check(run(body.as_bytes()), "invalid_field", "messages[1].role");
    let part = |inner: &str| {
        let body = format!(r#"{{"messages": [{{"role": "user", "parts": [{{{inner}}}]}}]}}"#);
        run(body.as_bytes())
    };
    check(part(r#""type": "text""#), "invalid_field", "messages[0].parts[0].text");
    check(part(r#""type": "file", "url": "x""#), "invalid_field", "messages[0].parts[0].mediaType");
    check(
        part(r#""type": "file", "mediaType": "a/b""#),
        "invalid_field",
        "messages[0].parts[0].url",
    );
    check(
        part(r#""type": "text", "text": "a", "url": "x""#),
        "unknown_field",
        "messages[0].parts[0].url",
    );
}

#[test]
fn a_last_message_is_bounded() {
    let long = "x".repeat(limits::LAST_MESSAGE_BYTES_MAX);
    let message = format!(
        r#"{{"role":"user","content":"{long}","parts":[{{"type":"text","text":"{long}"}}]}}"#
    );
    let body = format!(r#"{{"id":"c","messages":[{message}]}}"#);
    check(of_chat(body.as_bytes()), "invalid_field", "messages[0]");
    let body = format!(r#"{{"messages":[{message}]}}"#);
    check(run(body.as_bytes()), "invalid_field", "messages[0]");
    let parts = vec!["{}"; limits::CHAT_PARTS_MAX + 1].join(",");
    let body = format!(r#"{{"id":"c","messages":[{{"role":"user","parts":[{parts}]}}]}}"#);
    check(of_chat(body.as_bytes()), "invalid_field", "messages[0].parts");
}

/// Reads the most memory this process ever had.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib << 10
}

#[test]
fn a_body_of_many_tiny_things_costs_no_memory() {
    const LARGE: usize = 30 << 20;
    // As trees these would take ninety times as much, also those of a few megabytes.
    let body = |bytes: usize, start: &str, end: &str| {
        let tiny = vec![r#"{"a":0}"#; bytes / 8].join(",");
        format!("{start}{tiny}{end}").into_bytes()
    };
    let large = body(LARGE, r#"{"id":"c","messages":["#, "]}");
    let few = 3 << 20;
    let chats = [
        body(few, r#"{"id":"c","messages":[{"role":"user","parts":["#, "]}]}"),
        body(
            few,
            r#"{"id":"c","messages":[{"role":"user","parts":[{"type":"data","x":["#,
            r#"]}]}],"id":1}"#,
        ),
        body(few, r#"{"id":"c","messages":[{"role":"user","x":["#, r#"],"parts":5}]}"#),
        body(few, r#"{"id":"c","more":["#, "]}"),
    ];
    let runs = [
        body(few, r#"{"messages":[{"role":"user","parts":["#, "]}]}"),
        body(few, r#"{"messages":[{"role":"user","parts":[{"type":"text","x":["#, "]}]}]}"),
        body(few, r#"{"messages":[{"role":"user"}],"keys":["#, "]}"),
    ];
    let before = peak();
    check(of_chat(&large), "invalid_field", "messages[3932159].role");
    for body in chats {
        of_chat(&body).unwrap_err();
    }
    for body in runs {
        run(&body).unwrap_err();
    }
    let grown = peak() - before;
    assert!(grown < 3 * LARGE as u64, "{grown}");
}
