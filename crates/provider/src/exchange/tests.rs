//! The parts of an exchange that need no peer; the rest is tested over sockets in `tests/`.

use reqwest::header::HeaderValue;
use stdx::{clock::Timestamp, secret::Secret};

use super::*;

#[test]
fn waits_are_read_in_every_form() {
    let at = Timestamp::parse("1994-11-06T08:49:30Z").expect("a time");
    let check = |name: &'static str, text: &'static str, expected| {
        let mut map = HeaderMap::new();
        map.insert(name, HeaderValue::from_static(text));
        assert_eq!(headers::retry_after(&map, &Clock::manual(at)), expected, "{text}");
    };
    check("retry-after", "7", Some(7_000));
    check("retry-after", "0.5", Some(500));
    check("retry-after-ms", "1200", Some(1_200));
    check("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(7_000));
    check("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT", Some(0));
    check("retry-after", "-1", None);
    check("retry-after", "soon", None);
}

#[test]
fn bodies_are_known_by_their_first_bytes() {
    for (head, expected) in [
        (&b""[..], Shape::Unknown),
        (b"\n\n", Shape::Unknown),
        (b"d", Shape::Unknown),
        (b"\xEF\xBB", Shape::Unknown),
        (b"\xEF\xBB\xBFdata: x", Shape::Events),
        (b": ping", Shape::Events),
        (b"event: x", Shape::Events),
        (b"  {\"a\"", Shape::Whole),
        (b"<html>", Shape::Page),
        (b"upstream error", Shape::Page),
    ] {
        assert_eq!(shape(head), expected, "{}", String::from_utf8_lossy(head));
    }
}

#[test]
fn key_headers_are_hidden() {
    let value = sensitive("Bearer ", &Secret::new("k".into())).expect("a value");
    assert!(!format!("{value:?}").contains('k'), "{value:?}");
    assert!(sensitive("", &Secret::new("a\nb".into())).is_none());
}
