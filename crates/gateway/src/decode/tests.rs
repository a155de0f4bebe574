//! Which body and query gives which refusal.

use super::*;
use api::agent::RunRequest;
use vocab::limits;

fn check<T: DeserializeOwned + std::fmt::Debug>(body: &str, code: &str, field: Option<&str>) {
    let problem = json::<T>(body.as_bytes()).unwrap_err().problem().clone();
    assert_eq!(
        (problem.code.as_str(), problem.field.as_deref()),
        (code, field),
        "{body}: {problem:?}"
    );
}

#[test]
fn a_wrong_field_is_named_by_its_path() {
    type R = RunRequest;
    check::<R>("{", "malformed_body", None);
    check::<R>(r#"{"messages": []} x"#, "malformed_body", None);
    check::<R>("nonsense", "malformed_body", None);
    check::<R>("[[]]", "invalid_field", Some("body"));
    check::<R>("1", "invalid_field", Some("body"));
    check::<R>("{}", "invalid_field", Some("messages"));
    check::<R>("", "invalid_field", Some("messages"));
    check::<R>(r#"{"messages": 1}"#, "invalid_field", Some("messages"));
    check::<R>(r#"{"messages": [], "cwd": 1}"#, "invalid_field", Some("cwd"));
    check::<R>(r#"{"messages": [], "mode": "no"}"#, "invalid_field", Some("mode"));
    check::<R>(r#"{"messages": [], "messages": []}"#, "invalid_field", Some("messages"));
    check::<R>(r#"{"messages": [], "modle": "x"}"#, "unknown_field", Some("modle"));
    let message = |inner: &str| format!(r#"{{"messages": [{{"role": "user"}}, {{{inner}}}]}}"#);
    check::<R>(&message(r#""role": "king""#), "invalid_field", Some("messages[1].role"));
    check::<R>(&message(r#""content": "x""#), "invalid_field", Some("messages[1].role"));
    check::<R>(&message(r#""role": "user", "x": 1"#), "unknown_field", Some("messages[1].x"));
    let part = |inner: &str| message(&format!(r#""role": "user", "parts": [{{{inner}}}]"#));
    check::<R>(&part(r#""type": "text", "x": 1"#), "unknown_field", Some("messages[1].parts[0].x"));
    check::<R>(&part(r#""type": "text""#), "invalid_field", Some("messages[1].parts[0].text"));
    check::<R>(&part(r#""type": "song""#), "invalid_field", Some("messages[1].parts[0].type"));
    check::<R>(r#"{"messages": [], "keys": {"a": 1}}"#, "invalid_field", Some("keys.a"));
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
    for bad in ["token=abc", "q=1&q=2", "q=%ff", "q=%4", "q=%zz"] {
        let refused = Query::parse(bad, &["q"]).unwrap_err();
        assert_eq!(refused.problem().code, "invalid_query");
        assert!(!refused.problem().message.contains("abc"));
    }
    let mut query = Query::parse("limit=-1", &["limit"]).unwrap();
    assert_eq!(query.number("limit").unwrap_err().problem().field.as_deref(), Some("limit"));
}
