//! Which words name which keys.

use super::*;

fn check(text: &str, first: u8, second: Option<u8>) {
    let chord = Chord::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let first = Key::of_byte(first);
    assert_eq!(chord, Some(Chord { first, second: second.map(Key::of_byte) }), "{text}");
}

#[test]
fn keys_are_named_as_people_name_them() {
    check("ctrl-] d", 0x1d, Some(b'd'));
    check("Ctrl-]  D", 0x1d, Some(b'd'));
    check("ctrl-q", 0x11, None);
    check("ctrl-space ctrl-q", 0, Some(0x11));
    check("ctrl-\\", 0x1c, None);
    check("ctrl-^ ,", 0x1e, Some(b','));
    check("ctrl-_ space", 0x1f, Some(b' '));
    check("ctrl-a -", 1, Some(b'-'));
    assert_eq!(Chord::parse("none"), Ok(None));
    assert_eq!(Chord::parse("ctrl-] d"), Ok(Some(Chord::USUAL)));
    assert_eq!(Chord::parse("ctrl-z"), Ok(Some(Chord::SUSPEND)));
}

#[test]
fn what_could_never_be_typed_or_would_always_be_is_refused() {
    let check = |text: &str, why: &str| {
        let told = Chord::parse(text).unwrap_err().to_string();
        assert!(told.contains(why), "{text:?}: {told}");
    };
    for (text, why) in [
        ("", "one key or two"),
        ("ctrl-a b c", "one key or two"),
        ("d", "has to be one with ctrl-"),
        ("] d", "has to be one with ctrl-"),
        ("ctrl-i", "Tab, Enter or Escape"),
        ("ctrl-[ d", "Tab, Enter or Escape"),
        ("ctrl-] ctrl-m", "Tab, Enter or Escape"),
        ("ctrl-", "no key"),
        ("ctrl-1", "no key"),
        ("ctrl-ß", "no key"),
        ("f1", "no key"),
        ("ctrl-] ü", "no key"),
    ] {
        check(text, why);
    }
}
