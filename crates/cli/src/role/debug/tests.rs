//! What a bundle must never hold.

use super::{redact, *};

#[test]
fn no_secret_of_the_configuration_survives() {
    let text = r#"
        default_model = "a/b"
        [providers.a]
        api = "openai-chat"
        base_url = "https://me:hunter2@host.example:8443/v1?api_key=hunter3"
        key_env = "A_KEY"
        api_key = "hunter4"
        headers = { "x-anything" = "hunter5", Cookie = "hunter6" }
        models = [{ id = "m", token = "hunter7" }]
        [other.deep]
        Password = ["hunter8", { x = "hunter9" }]
        note = "sk-hunter0123456789"
    "#;
    let shown = redact::config(text);
    assert!(!shown.contains("hunter"), "{shown}");
    for kept in ["a/b", "https://host.example:8443/v1?…", "A_KEY", "\"m\"", "x-anything"] {
        assert!(shown.contains(kept), "{kept} is missing: {shown}");
    }
    let broken = redact::config("api_key = hunter2");
    assert!(!broken.contains("hunter2") && broken.contains("left out"), "{broken}");
}

#[test]
fn no_key_of_a_line_survives() {
    for (line, expected) in [
        ("run=run_1 code=ok", "run=run_1 code=ok"),
        ("key sk-ant-REDACTED end", "key (removed) end"),
        ("url?key=AIzaSyA1234567890", "url?(removed)"),
        ("authorization: Bearer abcdef123456", "authorization: Bearer (removed)"),
        ("{\"authorization\":\"Basic YWJjOmRlZg==\"}", "{\"authorization\":\"Basic (removed)\"}"),
        ("a basic idea", "a basic idea"),
    ] {
        assert_eq!(redact::line(line), expected);
    }
}

#[test]
fn an_address_keeps_only_where_it_leads() {
    for (given, shown) in [
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("https://u:p@h/v1#x", "https://h/v1?…"),
        ("https://u:p@h", "https://h"),
        ("https://u:p@[::1]:8080/v1?k", "https://[::1]:8080/v1?…"),
        ("no address", "no address"),
        ("see https://h/v1?key=1", "see https://h/v1?…"),
        ("m@latest", "(removed)"),
    ] {
        assert_eq!(without_credentials(given), shown);
    }
}

/// Wherever a password is cut by a sign that ends a host, and whatever stands around it.
#[test]
fn no_part_of_a_password_survives_in_a_malformed_address() {
    for sign in ["/", "?", "#", "\\", "@", ":", " ", "://", "%40", "\"", "é"] {
        for text in [
            format!("https://me:hunter{sign}2secret@h/v1"),
            format!("https://hunter{sign}2secret@h:8443"),
            format!("me:hunter{sign}2secret@h/v1"),
            format!("https://a@h/ https://me:hunter{sign}2secret@h/v1"),
            format!("https://me:hunter{sign}2secret%40h/v1?x"),
            format!("//me:hunter{sign}2secret@h"),
        ] {
            let shown = without_credentials(&text);
            assert!(!shown.contains("hunter") && !shown.contains("2secret"), "{text}: {shown}");
        }
    }
}

#[test]
fn paths_are_told_with_owner_and_mode() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("daemon.json");
    state_file::publish(&file, b"{}").unwrap();
    assert!(path_line(&file).starts_with("0600 "), "{}", path_line(&file));
    assert!(path_line(&dir.path().join("missing")).contains("not found"));
    assert!(machine::facts(dir.path()).contains("open files"));
}

#[test]
fn an_existing_file_is_never_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.md");
    write(&path, "one").unwrap();
    assert!(write(&path, "two").is_err());
}

#[test]
fn the_end_of_a_log_begins_with_a_whole_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let text: String = (0..60_000).map(|n| format!("line {n:06}\n")).collect();
    state_file::publish(&path, text.as_bytes()).unwrap();
    let end = log(&path);
    assert_eq!(end.lines().count(), LOG_LINES);
    assert!(end.starts_with("line 0598"), "{end}");
    assert_eq!(log(&dir.path().join("none")), "there is none");
}
