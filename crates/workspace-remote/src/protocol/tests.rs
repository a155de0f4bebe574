//! Messages read as they were written, and nothing else is read.

use serde_json::{Value, json};

use super::*;
use crate::{codec, frame::Frame};

fn text(frame: Frame) -> bytes::Bytes {
    let Frame::Text(text) = frame else { panic!("content instead of a message") };
    text
}

/// A message reads as what was written, and its head is found before.
fn round<M: Message + std::fmt::Debug>(message: &M, expected: Value) {
    let text = text(write(message));
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
    let head = codec::scan(&text, &codec::Bounds::usual()).unwrap();
    assert_eq!(head.kind, M::KIND);
    assert_eq!(head.id, expected.get("id").and_then(Value::as_u64));
    let client = ClientMessage::read(head.kind, &text).map(|read| format!("{read:?}"));
    let server = ServerMessage::read(head.kind, &text).map(|read| format!("{read:?}"));
    let shown = format!("{message:?}");
    assert!(client.or(server).unwrap().contains(&shown), "{shown}");
}

#[test]
fn messages_have_a_type_and_read_as_they_were_written() {
    round(&Goodbye {}, json!({"type": "goodbye"}));
    round(&Cancel { id: 4 }, json!({"type": "cancel", "id": 4}));
    round(&More { id: 4, bytes: 9 }, json!({"type": "more", "id": 4, "bytes": 9}));
    let stat = Stat { id: 1, workspace: vocab::ids::WorkspaceId("w".into()), path: "a\"b".into() };
    round(&stat, json!({"type": "stat", "id": 1, "workspace": "w", "path": "a\"b"}));
    let outcome = vocab::outcome::Outcome::text("done");
    round(
        &Outcome { id: 2, outcome },
        json!({"type": "outcome", "id": 2, "outcome": {"content": [{"type": "text", "text": "done"}]}}),
    );
}

#[test]
fn unknown_and_missing_fields_are_refused() {
    let read = |text: &str| {
        let head = codec::scan(text.as_bytes(), &codec::Bounds::usual()).unwrap();
        ClientMessage::read(head.kind, text.as_bytes())
    };
    assert!(matches!(read(r#"{"id":1,"type":"cancel"}"#), Ok(ClientMessage::Cancel(_))));
    for bad in [
        r#"{"type":"cancel"}"#,
        r#"{"type":"cancel","id":1,"more":2}"#,
        r#"{"type":"cancel","id":"1"}"#,
        r#"{"type":"cancel","id":1,"id":1}"#,
        r#"{"type":"cancel","id":-1}"#,
        r#"{"type":"mkdir","id":1,"workspace":"w","path":"p","parents":"yes"}"#,
        r#"{"type":"access","id":1,"workspace":"w","path":"p","access":"write"}"#,
    ] {
        assert!(matches!(read(bad), Err(BadMessage::Fields(_))), "{bad}");
    }
    assert!(matches!(read(r#"{"type":"cancel","id":1,}"#), Err(BadMessage::Syntax)));
    assert!(matches!(read(r#"{"type":"format","id":1}"#), Err(BadMessage::UnknownKind)));
    assert!(matches!(read(r#"{"id":1}"#), Err(BadMessage::UnknownKind)));
    let nested = r#"{"type":"call","id":1,"call_id":"c","run":"run_00000000000000000000000000000000",
        "tool":"look","arguments":{"type":"kept","x":1},"arguments_prepared":true,
        "expected_generation":1,"schema_hash":"h","envelope":{"image_resize":true}}"#;
    let Ok(ClientMessage::Call(call)) = read(nested) else { panic!("a call is read") };
    assert_eq!(call.arguments, json!({"type": "kept", "x": 1}));
}
