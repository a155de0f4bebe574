//! What may be quoted of a vendor's words, and how much of them is looked at.

use reqwest::header::HeaderValue;

use super::*;

const KEY: &str = "sk-9f3c/77ab\"x";

fn speaker() -> Speaker {
    let mut headers = HeaderMap::new();
    for (name, value) in [("authorization", format!("Bearer {KEY}")), ("x-short", "1".into())] {
        let mut value = HeaderValue::from_str(&value).expect("a value");
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers.insert("x-plain", HeaderValue::from_static("application/json"));
    Speaker::new("acme", None, &headers)
}

#[test]
fn every_form_of_a_secret_is_covered() {
    let check = |said: &str, expected: &str| assert_eq!(speaker().quote(said), expected, "{said}");
    check(&format!("the key {KEY} is wrong"), "the key [hidden] is wrong");
    check(&format!("{KEY}{KEY}"), "[hidden][hidden]");
    check(&format!("authorization: Bearer {KEY}!"), "authorization: [hidden]!");
    check(r#"{"key":"sk-9f3c/77ab\"x"}"#, r#"{"key":"[hidden]"}"#);
    check(r#"{"key":"sk-9f3c\/77ab\"x"}"#, r#"{"key":"[hidden]"}"#);
    check("?key=sk-9f3c%2F77ab%22x&a=1", "?key=[hidden]&a=1");
    check("?key=sk-9f3c%2f77ab%22x&a=1", "?key=[hidden]&a=1");
    // A value too short to be a secret and a header that everybody sends are words like others.
    check("1 application/json", "1 application/json");
    assert!(!format!("{:?}", speaker()).contains("9f3c"));
}

#[test]
fn a_secret_at_the_end_of_what_is_looked_at_is_not_quoted_in_part() {
    for kept in 1..=KEY.len() {
        let tag = format!("<{}>", "b".repeat(PROVIDER_ERROR_BYTES_MAX - kept - 2));
        let page = [&tag, KEY, "and more"].concat();
        let told = speaker().excerpt(&page);
        assert!(["", "[hidden]"].contains(&told.as_str()), "{kept}: {told}");
    }
}

#[test]
fn pages_lose_their_tags() {
    let check =
        |page: &str, expected: &str| assert_eq!(speaker().excerpt(page), expected, "{page}");
    check("<html><STYLE>a{b}</STYLE><p>Bad &amp;\n  <b>sad</b></p>", "Bad & sad");
    check("a<script src=x>if (a</b) {}</ScRiPt >b", "a b");
    check("<style>never ended", "");
    check("<style></style", "");
    check("a<", "a");
    check("<é>b", "b");
    check("a&lt;b&gt;", "a<b>");
    let long = speaker().excerpt(&"x".repeat(900));
    assert_eq!(long.chars().count(), PROVIDER_ERROR_CHARS_MAX);
}

#[test]
fn a_hostile_page_is_looked_at_only_so_far() {
    for pair in ["<style></style>", "<script></script>", "<style>", "<", "</", "&amp;<b>"] {
        let mut page = pair.repeat(PROVIDER_ERROR_BYTES_MAX / pair.len() + 1);
        page.push_str("<b></style></script>words");
        assert!(!speaker().excerpt(&page).contains("words"), "{pair}");
    }
}
