//! Which patterns are refused, and how short the refusal is.

use vocab::limits::{GREP_REGEX_BYTES_MAX, PATTERN_DEPTH_MAX};

use super::*;
use crate::{
    glob::Pattern,
    search::{Meaning, Query},
};

fn check(refused: Failure) -> String {
    assert_eq!(refused.code, "invalid_pattern");
    // The beginning of the pattern, the beginning of the reason, and a few words.
    let chars = refused.message.chars().count();
    assert!(chars <= 2 * PATTERN_SHOWN_CHARS_MAX + 50, "{chars}: {}", refused.message);
    refused.message
}

#[test]
fn a_costly_pattern_is_refused_in_few_words() {
    let meaning = Meaning::default();
    let regex = |pattern: &str| check(Query::new(pattern, meaning).unwrap_err());
    let long = "x".repeat(PATTERN_BYTES_MAX);
    regex(&format!("{long}y"));
    regex(&format!("{}(", &long[1..]));
    regex(&format!("{}\n", &long[2..]));
    regex(&format!("\n{}", &long[2..]));
    let said = regex(r"(\w{600})");
    assert!(said.contains(&GREP_REGEX_BYTES_MAX.to_string()), "{said}");
    regex(r"((((\w{9}){9}){9}){9})");
    regex("((x{1000}){1000}){1000}");
    let depth = PATTERN_DEPTH_MAX as usize;
    regex(&format!("{}x{}", "(".repeat(depth + 1), ")".repeat(depth + 1)));
    let literal = Meaning { literal: true, ..meaning };
    check(Query::new(&format!("{long}y"), literal).unwrap_err());
    assert!(Query::new(&long, meaning).is_ok());
    assert!(Query::new(&long, literal).is_ok());
    assert!(Query::new(r"\w{3,20}\s*=\s*[\w.]+\(", meaning).is_ok());

    let glob = |pattern: &str| check(Pattern::new(pattern).unwrap_err());
    glob(&format!("{long}y"));
    glob(&format!("{}[", &long[1..]));
    glob(&format!("!{}{{", &long[2..]));
    assert!(Pattern::new(&long).is_ok());
}

#[test]
fn a_short_pattern_is_shown_where_it_is_wrong() {
    let message = Query::new("a(b", Meaning::default()).unwrap_err().message;
    assert!(message.contains("a(b") && message.contains("unclosed group"), "{message}");
    let message = Pattern::new("a[").unwrap_err().message;
    assert!(message.contains("\"a[\": unclosed character class"), "{message}");
}
