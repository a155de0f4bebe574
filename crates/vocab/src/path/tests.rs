//! Texts of every flavour, and names that come back.

use proptest::prelude::*;

use super::*;

fn roots() -> Roots {
    let spelling = |registered: &str, real: &str| Spelling {
        registered: registered.into(),
        real: real.into(),
    };
    Roots {
        flavor: Flavor::Posix,
        workspace: spelling("/home/u/ws", "/data/ws"),
        temp: Some(spelling("/data/ws/tmp", "/data/ws/tmp")),
        home: Some("/home/u".into()),
    }
}

fn windows(root: &str) -> Roots {
    let spelling = Spelling { registered: root.into(), real: root.into() };
    Roots { flavor: Flavor::Windows, workspace: spelling, temp: None, home: None }
}

fn shown(result: Result<WorkspacePath, PathError>) -> String {
    match result {
        Ok(path) if path.root() == RootKind::Temp => format!("temp:{path}"),
        Ok(path) => path.to_string(),
        Err(error) => error.code().to_owned(),
    }
}

#[test]
fn posix_texts() {
    let check = |text: &str, expected: &str| {
        assert_eq!(shown(parse(text, &roots())), expected, "{text:?}");
    };
    check("", ".");
    check(".", ".");
    check("a/b", "a/b");
    check("./a//b/.", "a/b");
    check("a/../b", "a/../b");
    check("..", "path_outside_root");
    check("a/../..", "path_outside_root");
    check("a/../../ws/b", "path_outside_root");
    check("/data/ws/a", "a");
    check("/home/u/ws/a", "a");
    check("/data//./ws", ".");
    check("/data/ws-evil/a", "path_outside_root");
    check("/data/ws/../x", "path_outside_root");
    check("/data/x/../ws/a", "path_outside_root");
    check("/data/ws/tmp/a", "temp:a");
    check("/data/ws/tmp", "temp:.");
    check("/etc/passwd", "path_outside_root");
    check("~/ws/a", "a");
    check("~", "path_outside_root");
    check("~other/a", "~other/a");
    check("file:///data/ws/a%20b", "a b");
    check("file://localhost/data/ws/a", "a");
    check("file://elsewhere/data/ws/a", "path_outside_root");
    check("file:///data/ws/a%2fb", "path_invalid");
    check("file:///data/ws/a%0", "path_invalid");
    check("file:///data/ws/a%00", "path_invalid");
    check("file://", "path_invalid");
    check("a\0b", "path_invalid");
    check("a\\b", "a\\\\b");
}

#[test]
fn windows_texts() {
    let check = |root: &str, text: &str, expected: &str| {
        assert_eq!(shown(parse(text, &windows(root))), expected, "{root:?} {text:?}");
    };
    let drive = "C:\\Users\\Ann\\Site";
    check(drive, "src\\Main.rs", "src/Main.rs");
    check(drive, "c:/users/ANN/site/Main.rs", "Main.rs");
    check(drive, "\\\\?\\C:\\Users\\Ann\\Site\\a", "a");
    check(drive, "/c/Users/Ann/Site/a", "a");
    check(drive, "/mnt/c/Users/Ann/Site/a", "a");
    check(drive, "file:///C:/Users/Ann/Site/a", "a");
    check(drive, "D:\\Users\\Ann\\Site\\a", "path_outside_root");
    check(drive, "C:\\Users\\Ann\\Site2\\a", "path_outside_root");
    check(drive, "C:a", "path_invalid");
    check(drive, "\\Users\\Ann\\Site\\a", "path_outside_root");
    check(drive, "..\\a", "path_outside_root");
    check(drive, "a:stream", "path_invalid");
    check(drive, "a\\nul.txt", "path_invalid");
    check(drive, "a\\b. ", "path_invalid");
    let share = "\\\\Server\\Share\\site";
    check(share, "\\\\server\\share\\SITE\\A", "A");
    check(share, "//SERVER/share/site/a", "a");
    check(share, "\\\\?\\UNC\\server\\share\\site\\a", "a");
    check(share, "file://server/share/site/a", "a");
    check(share, "\\\\server\\other\\site\\a", "path_outside_root");
    check(share, "\\\\server", "path_invalid");
    check(share, "C:\\site\\a", "path_outside_root");
}

#[test]
fn readings_are_tried_as_written_first() {
    let check = |text: &str, expected: &[&str]| {
        let found: Vec<String> =
            candidates(text, &roots()).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{text:?}");
    };
    check("a", &["a"]);
    check("@a", &["@a", "a"]);
    check("@@a", &["@@a", "@a"]);
    check("@/data/ws/a", &["@/data/ws/a", "a"]);
    check("@~/ws/a", &["@~/ws/a", "a"]);
    check("a\u{A0}b", &["a\u{A0}b", "a b"]);
    check("at 9.41 pm.png", &["at 9.41 pm.png", "at 9.41\u{202F}pm.png"]);
    check("it's", &["it's", "it\u{2019}s"]);
    check(r"a\nb", &[r"a\\nb", r"a\nb"]);
    check(r"a\qb", &[r"a\\qb"]);
    assert!(candidates("/etc/passwd", &roots()).is_err());
    assert_eq!(shown(parse_new("@x\u{A0}y", &roots())), "x y");
}

#[test]
fn an_escape_cannot_smuggle_a_way_out() {
    for text in [r"\x2e\x2e/secret", r"a/\x2e\x2e/\x2e\x2e/secret", r"\x2fetc/passwd"] {
        for path in candidates(text, &roots()).unwrap() {
            assert!(path.components().iter().all(|one| *one != Component::Parent), "{text}");
        }
    }
}

#[test]
fn limits_of_paths_are_met() {
    let check = |text: String, code: Option<&str>| {
        assert_eq!(parse(&text, &roots()).err().map(|error| error.code()), code);
    };
    check("a".repeat(PATH_COMPONENT_BYTES_MAX), None);
    check("a".repeat(PATH_COMPONENT_BYTES_MAX + 1), Some("path_too_long"));
    check("a/".repeat(PATH_COMPONENTS_MAX), None);
    check("a/".repeat(PATH_COMPONENTS_MAX + 1), Some("path_too_long"));
    check("/".repeat(PATH_TEXT_BYTES_MAX - 7) + "/data/ws", Some("path_too_long"));
    check("/".repeat(PATH_TEXT_BYTES_MAX - 7) + "data/ws", None);
}

#[test]
fn children_are_names() {
    let root = WorkspacePath::root_of(RootKind::Workspace);
    assert_eq!(root.child("a".as_ref()).unwrap().to_string(), "a");
    for name in ["", ".", "..", "a/b", "a\0"] {
        assert_eq!(root.child(name.as_ref()).unwrap_err().code(), "path_invalid", "{name:?}");
    }
}

proptest! {
    #[test]
    fn printed_names_lead_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let name = OsString::from_vec(bytes);
        let text = display_name(&name);
        prop_assert!(!text.chars().any(char::is_control));
        let back = decode(&text).unwrap_or_else(|| OsString::from(&text));
        prop_assert_eq!(back, name);
    }

    #[test]
    fn printed_paths_are_among_their_own_readings(
        names in prop::collection::vec(prop::collection::vec(1_u8..=255, 1..12), 1..5)
    ) {
        let mut path = WorkspacePath::root_of(RootKind::Workspace);
        for name in &names {
            let Ok(next) = path.child(OsStr::from_bytes(name)) else { return Ok(()) };
            path = next;
        }
        let text = path.to_string();
        prop_assume!(!text.starts_with('~') && !text.to_lowercase().starts_with("file:"));
        prop_assert!(candidates(&text, &roots()).unwrap().contains(&path), "{}", text);
    }

    #[test]
    fn no_text_leaves_the_root_lexically(text in "(\\.\\.|\\.|a|/|\\\\|@|~|%2e|C:|file://){0,12}") {
        for roots in [roots(), windows("C:\\a"), windows("\\\\a\\a")] {
            for path in candidates(&text, &roots).unwrap_or_default() {
                let mut depth = 0_i32;
                for component in path.components() {
                    depth += if *component == Component::Parent { -1 } else { 1 };
                    prop_assert!(depth >= 0, "{}", text);
                }
            }
        }
    }
}

#[test]
fn what_a_walk_found_joins_its_start() {
    let start = parse("a/../b", &roots()).unwrap();
    assert_eq!(start.join("c/d".as_ref()).unwrap().to_string(), "a/../b/c/d");
    assert_eq!(start.join("".as_ref()), Ok(start.clone()));
    assert!(start.join("/etc".as_ref()).is_err());
    assert!(start.join("c/..".as_ref()).is_err());
}
