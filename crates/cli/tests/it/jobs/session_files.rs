//! Session files that jobs write.

use super::*;
use crate::home::write;

#[test]
fn a_session_file_that_somebody_writes_is_refused_and_says_who() {
    let home = Home::new();
    let file = home.work().join("session.jsonl");
    let start = ["bg", "--json", "--session-file", "session.jsonl", "--", "sleep", "1000"];
    let told = home.stead(&start).with(0).out;
    let first: Value = serde_json::from_str(&told).unwrap();
    let (id, worker) = (first["id"].as_str().unwrap(), process(&first["pid"]));
    assert_eq!(first["session_file"], file.to_str().unwrap(), "{first}");
    let host = process(&note(&home, id)["hostPid"]);
    let refused = home.stead(&start).with(4).err;
    assert!(refused.contains("locked") && refused.contains(&host.pid.to_string()), "{refused}");
    let rows: Value = serde_json::from_str(&home.stead(&["ls", "--json"]).with(0).out).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    assert!(worker.is_alive());

    // Whoever holds it is gone, and another one may.
    home.stead(&["stop", id]).with(0);
    let again: Value = serde_json::from_str(&home.stead(&start).with(0).out).unwrap();
    home.stead(&["stop", again["id"].as_str().unwrap()]).with(0);

    // A program that is no job of ours may be the writer as well.
    let own = ProcId::current();
    let lock = serde_json::json!({"pid": own.pid, "token": own.token, "at": 0});
    write(&home.work().join("session.jsonl.lock"), &lock.to_string());
    let refused = home.stead(&start).with(4).err;
    assert!(refused.contains(&own.pid.to_string()), "{refused}");
}

#[test]
fn what_is_no_regular_file_is_no_session_file() {
    let home = Home::new();
    for file in ["/dev/null", "."] {
        let start = ["bg", "--session-file", file, "--", "sleep", "1000"];
        let refused = home.command(&start).output().unwrap();
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && told.contains("no regular file"), "{file}: {told}");
    }
    let rows: Value = serde_json::from_str(&home.stead(&["ls", "--json"]).with(0).out).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 0, "{rows}");
}

#[test]
fn names_that_are_none_are_refused_before_anything_starts() {
    let home = Home::new();
    home.stead(&["bg", "--", ""]).with(2);
    for wish in ["=x", "A B=c", ""] {
        home.stead(&["bg", "--env", wish, "--", "true"]).with(2);
    }
}
