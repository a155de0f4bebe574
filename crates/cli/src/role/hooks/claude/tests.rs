//! Settings before and after, byte for byte where it matters.

use super::*;

const PROGRAM: &str = "/opt/it's/stead";

/// Installs, looks, removes: what is left is what was there.
#[track_caller]
fn check(before: &str) -> String {
    let installed = change(before, PROGRAM, Wish::Install).unwrap();
    let value: Value = serde_json::from_str(&installed).unwrap();
    for event in EVENTS {
        let groups = value["hooks"][event].as_array().unwrap();
        let ours = groups.iter().filter(|group| {
            group["hooks"][0]["command"].as_str().is_some_and(|it| it == command(PROGRAM))
        });
        assert_eq!(ours.count(), 1, "{event}: {installed}");
    }
    assert_eq!(presence(&installed, PROGRAM), Ok(Presence::Installed));
    assert_eq!(presence(&installed, "/elsewhere"), Ok(Presence::Partial));
    assert_eq!(change(&installed, PROGRAM, Wish::Install).unwrap(), installed, "again");
    assert_eq!(change(&installed, PROGRAM, Wish::Remove).unwrap(), before, "{installed}");
    assert_eq!(change(before, PROGRAM, Wish::Remove).unwrap(), before);
    installed
}

#[test]
fn hooks_come_and_go_and_the_rest_stays() {
    let installed = check("{}\n");
    let start =
        "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\n";
    assert!(installed.starts_with(start), "{installed}");
    for before in [
        "{\"model\":\"opus\"}",
        "{ \"a\": [ 1,2 ] , \"b\":{}}\n",
        "{\n\t\"model\": \"o\\\"pu{s\",\n\t\"env\": {\"A\": \"b\"}\n}\n",
        "{\r\n    \"a\": true\r\n}\r\n",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}\n    ]\n  },\n  \"z\": 1\n}\n",
        "{\n  \"hooks\": {\n    \"Other\": [\n      {\"matcher\": \"x\", \"hooks\": []}\n    ]\n  }\n}\n",
    ] {
        check(before);
    }
    assert!(check("{\r\n    \"a\": true\r\n}\r\n").lines().count() > 20);
    let tabs = check("{\n\t\"a\": true\n}\n");
    assert!(tabs.contains("\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{"), "{tabs}");
    assert!(!check("{\r\n    \"a\": true\r\n}\r\n").replace("\r\n", "").contains('\n'));
}

#[test]
fn what_stands_among_others_goes_alone() {
    let ours = Value::from(command("/old/stead"));
    let mixed = format!(
        "{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"command\": \"a\"}}, {{\"command\": {ours}}}, \
         {{\"command\": \"b\"}}]}}], \"Gone\": [{{\"hooks\": [{{\"command\": {ours}}}]}}]}}}}"
    );
    let removed = change(&mixed, PROGRAM, Wish::Remove).unwrap();
    assert_eq!(
        removed,
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"a\"}, {\"command\": \"b\"}]}]}}"
    );
    let installed = change(&mixed, PROGRAM, Wish::Install).unwrap();
    assert_eq!(installed.matches("/opt/it").count(), EVENTS.len());
    assert!(!installed.contains("Stop\": [{\"hooks\": [{\"command\": \"a\"}, {\"command\": \"[ -z \\\"$STEAD_JOB_SOCK\\\" ] || '/old"));
}

#[test]
fn what_cannot_be_understood_is_refused() {
    for bad in [
        "{",
        "[]",
        "// mine\n{}",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{\"hooks\": {\"Stop\": [1]}}",
        "{\"hooks\": {\"Stop\": [{\"hooks\": 1}]}}",
        "{} {}",
    ] {
        for wish in [Wish::Install, Wish::Remove] {
            let failure = change(bad, PROGRAM, wish).unwrap_err();
            assert_eq!(failure.code, "hooks_malformed", "{bad}");
        }
        assert!(presence(bad, PROGRAM).is_err(), "{bad}");
    }
}
