//! What models write as arguments, and what becomes of it.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn arguments_are_parsed_repaired_once_or_kept_as_text() {
    for (raw, expected) in [
        (r#"{"a":1}"#, json!({"a": 1})),
        ("", json!({})),
        ("  null ", json!({})),
        ("{\"a\":\"two\nlines\ttab\"}", json!({"a": "two\nlines\ttab"})),
        (r#"{"re":"\d+\.rs","ok":"\u00e4\n"}"#, json!({"re": "\\d+\\.rs", "ok": "ä\n"})),
        (r#"{"a":[1,2,],"b":"x,}",}"#, json!({"a": [1, 2], "b": "x,}"})),
        (r#""{\"a\":1}""#, json!({"a": 1})),
        ("```json\n{\"a\":1}\n```", json!({"a": 1})),
        (r#"{}{"a":1}"#, json!({"a": 1})),
        (r#"{"a":"cut o"#, json!("{\"a\":\"cut o")),
        (r#"{"a":1} and more"#, json!("{\"a\":1} and more")),
        ("[1]", json!("[1]")),
        ("ls -l", json!("ls -l")),
        (r#"{"a":"\"#, json!("{\"a\":\"\\")),
    ] {
        assert_eq!(parse(raw), expected, "{raw}");
    }
}

#[test]
fn arguments_that_grow_are_known_as_whole_and_read_once() {
    let check = |raw: &str, expected: &[usize]| {
        let mut growing = Growing::default();
        let ends = (0..=raw.len()).filter(|at| raw.is_char_boundary(*at));
        let whole: Vec<usize> = ends.filter(|at| growing.is_object(&raw[..*at])).collect();
        assert_eq!(whole, expected, "{raw}");
        assert!(growing.read <= raw.len());
    };
    check(r#"{"a":1}"#, &[7]);
    check(r#" {"a":{"}\"":"ä{"}} "#, &[20, 21]);
    check(r#"{}{"a":1}"#, &[2]);
    check(r#"{"a":1}  x}"#, &[7, 8, 9]);
    check(r#"{"a":1,}{"a":1}"#, &[]);
    check(r#""{\"a\":1}""#, &[]);
    check(r#"[{}]"#, &[]);
    check("ls }", &[]);
    check("", &[]);
}

proptest! {
    #[test]
    fn whole_objects_come_back_as_they_were(text in ".{0,40}", number in any::<i64>()) {
        let value = json!({ "text": text, "number": number, "inner": { "list": [text] } });
        prop_assert_eq!(parse(&value.to_string()), value);
    }

    #[test]
    fn no_text_makes_the_parse_fail(text in ".{0,60}") {
        let value = parse(&text);
        prop_assert!(value.is_object() || value.is_string());
    }
}
