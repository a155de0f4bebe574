//! What a message may be before anything is read of it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn small() -> Bounds {
    Bounds {
        bytes_max: 200,
        depth_max: 3,
        keys_max: 3,
        items_max: 4,
        string_bytes_max: 10,
        values_max: 12,
    }
}

fn check(text: &[u8], expected: Result<(&str, Option<u64>), CloseStatus>) {
    let found = scan(text, &small());
    let found = found.map(|head| (head.kind, head.id)).map_err(|violation| violation.status);
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(text));
}

#[test]
fn a_message_tells_its_type_and_id_before_it_is_parsed() {
    check(br#"{"type":"read","id":7}"#, Ok(("read", Some(7))));
    check(br#" { "id" : 7 , "type" : "read" } "#, Ok(("read", Some(7))));
    check(br#"{"type":"a","x":{"id":1}}"#, Ok(("a", None)));
    check(br#"{"x":[{"type":"b"}]}"#, Ok(("", None)));
    check(br#"{"x":"type","y":"id","id":3}"#, Ok(("", Some(3))));
    for id in ["0", "-5", "1.0", "1e3", "\"7\"", "null", "9007199254740992", "99999999999999999999"]
    {
        check(format!(r#"{{"id":{id}}}"#).as_bytes(), Ok(("", None)));
    }
    check(br#"{"id":9007199254740991}"#, Ok(("", Some(ID_MAX))));
}

#[test]
fn what_is_no_object_is_no_message() {
    for text in [
        "",
        "   ",
        "7",
        "null",
        "[]",
        "[{}]",
        "{",
        "{]",
        "}",
        "{}{}",
        "{} x",
        r#"{"a":[}]"#,
        r#"{"a"#,
        r#"{"a\"}"#,
        r#"{"type":"a","type":"b"}"#,
    ] {
        check(text.as_bytes(), Err(CloseStatus::ProtocolError));
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    check(b"{\"a\":\"\xff\"}", Err(CloseStatus::InvalidPayload));
    check(b"{\"a\":\"\xed\xa0\x80\"}", Err(CloseStatus::InvalidPayload));
}

#[test]
fn every_measure_of_a_message_is_bounded() {
    let long = format!(r#"{{"a":{}}}"#, " ".repeat(200));
    check(long.as_bytes(), Err(CloseStatus::TooBig));
    check(br#"{"a":[[1]]}"#, Ok(("", None)));
    check(br#"{"a":[[[1]]]}"#, Err(CloseStatus::Policy));
    check(br#"{"a":1,"b":2,"c":3}"#, Ok(("", None)));
    check(br#"{"a":1,"b":2,"c":3,"d":4}"#, Err(CloseStatus::Policy));
    check(br#"{"a":[1,2,3,4]}"#, Ok(("", None)));
    check(br#"{"a":[1,2,3,4,5]}"#, Err(CloseStatus::Policy));
    check(br#"{"a":"0123456789"}"#, Ok(("", None)));
    check(br#"{"a":"0123456789x"}"#, Err(CloseStatus::TooBig));
    check(br#"{"0123456789x":1}"#, Err(CloseStatus::TooBig));
    check(br#"{"a":[1,2,3],"b":[1,2,3],"c":[1,2,3]}"#, Ok(("", None)));
    check(br#"{"a":[1,2,3,4],"b":[1,2,3,4],"c":[1,2]}"#, Err(CloseStatus::Policy));
}

#[test]
fn the_bounds_of_the_table_are_the_usual_ones() {
    let usual = Bounds::usual();
    let nested = |depth| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(scan(nested(REMOTE_DEPTH_MAX - 1).as_bytes(), &usual).is_ok());
    assert!(scan(nested(REMOTE_DEPTH_MAX).as_bytes(), &usual).is_err());
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|key| format!("\"{key}\":0")).collect();
        format!("{{{}}}", keys.join(","))
    };
    assert!(scan(keys(REMOTE_KEYS_MAX).as_bytes(), &usual).is_ok());
    assert!(scan(keys(REMOTE_KEYS_MAX + 1).as_bytes(), &usual).is_err());
    let items = |count: usize| format!(r#"{{"a":[{}0]}}"#, "0,".repeat(count - 1));
    assert!(scan(items(REMOTE_ITEMS_MAX).as_bytes(), &usual).is_ok());
    assert!(scan(items(REMOTE_ITEMS_MAX + 1).as_bytes(), &usual).is_err());
    let string = |len: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(len));
    assert!(scan(string(REMOTE_STRING_BYTES_MAX).as_bytes(), &usual).is_ok());
    assert!(scan(string(REMOTE_STRING_BYTES_MAX + 1).as_bytes(), &usual).is_err());
    let values = |count: usize| format!(r#"{{"a":[{}0]}}"#, "[],".repeat(count));
    let many = Bounds { items_max: usize::MAX, ..usual };
    assert!(scan(values(REMOTE_VALUES_MAX / 2 - 1).as_bytes(), &many).is_ok());
    assert!(scan(values(REMOTE_VALUES_MAX / 2).as_bytes(), &many).is_err());
    let padded = |len: usize| format!("{{{}}}", " ".repeat(len - 2));
    assert!(scan(padded(REMOTE_TEXT_BYTES_MAX).as_bytes(), &usual).is_ok());
    assert!(scan(padded(REMOTE_TEXT_BYTES_MAX + 1).as_bytes(), &usual).is_err());
}

#[test]
fn a_piece_is_bounded_and_has_an_id() {
    let Frame::Binary(message) = piece_frame(3, 1 << 40, b"abc") else { unreachable!() };
    let expected = Piece { id: 3, offset: 1 << 40, bytes: Bytes::from_static(b"abc") };
    assert_eq!(piece(&message), Ok(expected));
    let status = |message: Frame| {
        let Frame::Binary(message) = message else { unreachable!() };
        piece(&message).map_err(|violation| violation.status).err()
    };
    assert_eq!(status(piece_frame(1, 0, &vec![0; REMOTE_PIECE_BYTES_MAX])), None);
    let large = piece_frame(1, 0, &vec![0; REMOTE_PIECE_BYTES_MAX + 1]);
    assert_eq!(status(large), Some(CloseStatus::TooBig));
    assert_eq!(status(piece_frame(0, 0, b"x")), Some(CloseStatus::ProtocolError));
    assert_eq!(status(piece_frame(ID_MAX + 1, 0, b"x")), Some(CloseStatus::ProtocolError));
    assert_eq!(status(piece_frame(1, 0, b"")), Some(CloseStatus::ProtocolError));
    assert_eq!(
        status(Frame::Binary(Bytes::from_static(&[0; 15]))),
        Some(CloseStatus::ProtocolError)
    );
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn any_object_is_measured_and_its_head_is_what_a_parser_finds(
        mut fields in prop::collection::hash_map("[a-z]{1,4}|\\PC{0,4}", value(), 0..6),
        kind in "[a-z_]{0,8}",
        id in prop_oneof![1..=ID_MAX, any::<u64>()],
        pretty in any::<bool>(),
    ) {
        fields.insert("type".into(), json!(kind));
        fields.insert("id".into(), json!(id));
        let object = Value::Object(fields.into_iter().collect());
        let text = if pretty { format!("{object:#}") } else { object.to_string() };
        let head = scan(text.as_bytes(), &Bounds::usual()).unwrap();
        prop_assert_eq!(head.kind, kind);
        prop_assert_eq!(head.id, (1..=ID_MAX).contains(&id).then_some(id));
    }

    #[test]
    fn any_bytes_are_measured_without_harm(
        bytes in prop::collection::vec(prop_oneof![Just(b'{'), Just(b'"'), Just(b'\\'), Just(b':'), any::<u8>()], 0..80)
    ) {
        let parsed = serde_json::from_slice::<Map<String, Value>>(&bytes);
        let scanned = scan(&bytes, &Bounds::usual());
        prop_assert!(parsed.is_err() || scanned.is_ok() || bytes.windows(6).any(|six| six == b"\"type\""));
        let read = piece(&Bytes::from(bytes));
        prop_assert!(read.is_err() || read.is_ok_and(|piece| !piece.bytes.is_empty()));
    }
}
