//! Which body and query gives which refusal.

use super::*;
use api::{
    agent::{LastMessage, RunRequest},
    history::History,
};
use vocab::limits;

fn check<'a, T>(body: &'a str, code: &str, field: Option<&str>)
where
    T: Deserialize<'a> + std::fmt::Debug,
{
    let problem = json::<T>(body.as_bytes()).unwrap_err().problem().clone();
    assert_eq!(
        (problem.code.as_str(), problem.field.as_deref()),
        (code, field),
        "{body}: {problem:?}"
    );
}

#[test]
fn a_wrong_field_is_named_by_its_path() {
    type R<'a> = RunRequest<History<'a>>;
    check::<R<'_>>("{", "malformed_body", None);
    check::<R<'_>>(r#"{"messages": []} x"#, "malformed_body", None);
    check::<R<'_>>("nonsense", "malformed_body", None);
    check::<R<'_>>("[[]]", "invalid_field", Some("body"));
    check::<R<'_>>("1", "invalid_field", Some("body"));
    check::<R<'_>>("{}", "invalid_field", Some("messages"));
    check::<R<'_>>("", "invalid_field", Some("messages"));
    check::<R<'_>>(r#"{"messages": 1}"#, "invalid_field", Some("messages"));
    check::<R<'_>>(r#"{"messages": [], "cwd": 1}"#, "invalid_field", Some("cwd"));
    check::<R<'_>>(r#"{"messages": [], "mode": "no"}"#, "invalid_field", Some("mode"));
    check::<R<'_>>(r#"{"messages": [], "messages": []}"#, "invalid_field", Some("messages"));
    check::<R<'_>>(r#"{"messages": [], "modle": "x"}"#, "unknown_field", Some("modle"));
    check::<R<'_>>(r#"{"messages": [], "keys": {"a": 1}}"#, "invalid_field", Some("keys.a"));
    let keys: Vec<String> =
        (0..=limits::REQUEST_KEYS_MAX).map(|n| format!(r#""k{n}":"x""#)).collect();
    let keys = format!(r#"{{"messages": [], "keys": {{{}}}}}"#, keys.join(","));
    check::<R<'_>>(&keys, "invalid_field", Some("keys"));
}

#[test]
fn what_stands_deeper_is_named_by_its_whole_path() {
    let told = |text: &str| {
        let refused = object::<LastMessage>(text.as_bytes(), "messages[1]").unwrap_err();
        let problem = refused.problem();
        (problem.code.clone(), problem.field.clone().unwrap_or_default())
    };
    let check = |text: &str, code: &str, field: &str| {
        assert_eq!(told(text), (code.to_owned(), field.to_owned()), "{text}");
    };
    check("[1]", "invalid_field", "messages[1]");
    check("1", "invalid_field", "messages[1]");
    check(r#"{"content": "x"}"#, "invalid_field", "messages[1].role");
    check(r#"{"role": "king"}"#, "invalid_field", "messages[1].role");
    check(r#"{"role": "user", "x": 1}"#, "unknown_field", "messages[1].x");
    let part = |inner: &str| format!(r#"{{"role": "user", "parts": [{{{inner}}}]}}"#);
    check(&part(r#""type": "text", "x": 1"#), "unknown_field", "messages[1].parts[0].x");
    check(&part(r#""type": "song""#), "invalid_field", "messages[1].parts[0].type");
    check(&part(r#""text": "a""#), "invalid_field", "messages[1].parts[0].type");
    let many = vec![r#"{"type":"text"}"#; limits::USER_PARTS_MAX + 1].join(",");
    let many = format!(r#"{{"role": "user", "parts": [{many}]}}"#);
    check(&many, "invalid_field", "messages[1].parts");
}

#[test]
fn texts_of_a_body_are_bounded_by_their_kind() {
    let refused = |kind: Text, text: &str| {
        let refused = texts([("a.b", kind, Some(text))]).err()?;
        Some((refused.problem().code.clone(), refused.problem().field.clone().unwrap()))
    };
    let wrong = Some(("invalid_field".to_owned(), "a.b".to_owned()));
    for (kind, bytes_max) in [
        (Text::Name, limits::REQUEST_NAME_BYTES_MAX),
        (Text::Path, limits::REQUEST_PATH_BYTES_MAX),
        (Text::Title, limits::REQUEST_TITLE_BYTES_MAX),
        (Text::Reason, limits::ANSWER_REASON_BYTES_MAX),
        (Text::Key, limits::IDEMPOTENCY_KEY_BYTES_MAX),
    ] {
        assert_eq!(refused(kind, &"x".repeat(bytes_max)), None, "{kind:?}");
        assert_eq!(refused(kind, &"x".repeat(bytes_max + 1)), wrong, "{kind:?}");
        assert_eq!(refused(kind, "a\0b"), wrong, "{kind:?}");
        assert_eq!(refused(kind, "").is_some(), kind == Text::Key, "{kind:?}");
        assert!(texts([("a.b", kind, None)]).is_ok());
    }
}

#[test]
fn nesting_is_bounded() {
    let depth = limits::JSON_DEPTH_MAX;
    let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    assert!(json::<serde_json::Value>(nested(depth).as_bytes()).is_ok());
    check::<serde_json::Value>(&nested(depth + 1), "malformed_body", None);
    check::<serde_json::Value>(&nested(1_000_000), "malformed_body", None);
}

#[test]
fn a_query_is_decoded_and_its_unknown_parts_are_refused_unseen() {
    let mut query = Query::parse("q=a+b%26%C3%A4&limit=20&", &["q", "limit"]).unwrap();
    assert_eq!(query.number("limit").unwrap(), Some(20));
    assert_eq!(query.take("q").as_deref(), Some("a b&ä"));
    assert_eq!(query.take("q"), None);
    for bad in ["token=abc", "q=1&q=2", "q=%ff", "q=%4", "q=%zz", "q=a%00b"] {
        let refused = Query::parse(bad, &["q"]).unwrap_err();
        assert_eq!(refused.problem().code, "invalid_query");
        assert!(!refused.problem().message.contains("abc"));
    }
    let mut query = Query::parse("limit=-1", &["limit"]).unwrap();
    assert_eq!(query.number("limit").unwrap_err().problem().field.as_deref(), Some("limit"));
}
