//! Error bodies of real vendors and gateways, and what becomes of them.

use reqwest::header::HeaderMap;

use super::*;
use crate::goldens::acme;

fn check(status: u16, body: &str, code: &str, retry: Retry) {
    let speaker = acme();
    let told = Told { status: Some(status), ..Told::inside(&speaker, body) };
    let failure = classify(&told);
    assert_eq!((failure.failure.code.as_str(), failure.retry), (code, retry), "{status} {body}");
    assert_eq!(failure.failure.effect, Effect::NotStarted);
}

#[test]
fn statuses_and_codes_become_failures() {
    let openai = |kind: &str, code: &str, message: &str| {
        format!(
            r#"{{"error":{{"message":"{message}","type":"{kind}","param":null,"code":"{code}"}}}}"#
        )
    };
    let anthropic = |kind: &str, message: &str| {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
    };
    let never = Retry::Never;
    let backoff = Retry::Backoff;
    check(401, &openai("invalid_request_error", "invalid_api_key", "x"), "auth_failed", never);
    check(403, &anthropic("permission_error", "x"), "auth_failed", never);
    check(404, &openai("invalid_request_error", "model_not_found", "x"), "model_not_found", never);
    check(404, r#"{"error":"model \"x\" not found"}"#, "model_not_found", never);
    check(404, "404 page not found", "bad_answer", never);
    check(402, r#"{"error":{"message":"pay"}}"#, "quota_exceeded", never);
    check(429, &openai("insufficient_quota", "insufficient_quota", "x"), "quota_exceeded", never);
    check(429, &openai("tokens", "rate_limit_exceeded", "x"), "rate_limited", backoff);
    check(
        429,
        &anthropic("rate_limit_error", "prompt is too long per minute"),
        "rate_limited",
        backoff,
    );
    check(529, &anthropic("overloaded_error", "x"), "overloaded", backoff);
    check(503, "<html>busy</html>", "overloaded", backoff);
    check(502, "<html>bad</html>", "server_error", backoff);
    check(500, &anthropic("api_error", "500"), "server_error", backoff);
    check(501, "{}", "server_error", never);
    check(
        400,
        &anthropic("invalid_request_error", "prompt is too long: 9 > 8"),
        "context_overflow",
        never,
    );
    check(413, &anthropic("request_too_large", "x"), "context_overflow", never);
    check(
        400,
        &openai("invalid_request_error", "context_length_exceeded", "x"),
        "context_overflow",
        never,
    );
    check(
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        "context_overflow",
        never,
    );
    check(
        400,
        &openai("x", "y", "This model's maximum context length is 8192 tokens."),
        "context_overflow",
        never,
    );
    check(400, &openai("invalid_request_error", "", "500 is not a role"), "bad_request", never);
    check(302, "", "bad_answer", never);
}

#[test]
fn the_wait_that_is_asked_for_is_told_as_it_is() {
    let speaker = acme();
    let retry = |wait_ms, should_retry| {
        let told =
            Told { status: Some(429), wait_ms, should_retry, ..Told::inside(&speaker, "{}") };
        classify(&told).retry
    };
    assert_eq!(retry(None, None), Retry::Backoff);
    for wait_ms in [0, 5, u64::MAX] {
        assert_eq!(retry(Some(wait_ms), None), Retry::After { wait_ms });
        assert_eq!(retry(Some(wait_ms), Some(false)), Retry::Never);
    }
}

#[test]
fn inside_a_stream_only_a_known_code_is_tried_again() {
    let speaker = acme();
    let told = |body| classify(&Told::inside(&speaker, body));
    let known = told(r#"{"error":{"type":"overloaded_error","message":"x"}}"#);
    assert_eq!((known.failure.code.as_str(), known.retry), ("overloaded", Retry::Backoff));
    for body in [r#"{"error":{"message":"try again later"}}"#, "try again later", ""] {
        let unknown = told(body);
        assert_eq!((unknown.failure.code.as_str(), unknown.retry), ("server_error", Retry::Never));
    }
}

#[test]
fn hints_name_the_key() {
    let speaker = Speaker::new("acme", Some("ACME_API_KEY"), &HeaderMap::new());
    let told = Told { status: Some(401), ..Told::inside(&speaker, "{}") };
    let hint = classify(&told).failure.hint.expect("a hint");
    assert_eq!(hint, "set ACME_API_KEY or run `stead secrets set acme`");
}
