//! A second terminal, written by others in another language, shows the same after a snapshot as after the
//! whole stream.

#![expect(
    clippy::disallowed_methods,
    reason = "the test starts an interpreter named by the caller"
)]

use std::{path::PathBuf, process::Command};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    same::{SMALL, mirror},
    scenarios::{SCENARIOS, streams},
};
use crate::snapshot::Depth;

/// What xterm.js reads differently, so that going on it ends elsewhere than the mirror believes.
const UNLIKE: &[&str] = &[
    // It counts cells by an older Unicode, and gives a mark without a letter a cell of its own.
    "wide, combining and joined",
    // A saved cursor forgets there that it was about to wrap, and origin mode is no part of it.
    "saved about to wrap",
    "saved about to wrap, then wrapped",
    "margins and origin at a saved cursor",
    // It calls a line wrapped that was only written over.
    "a line that wraps at the last line below the region",
];

/// Returns node and the folder of its packages; without them the test passes, unless it is required.
fn node() -> Option<(PathBuf, PathBuf)> {
    let var = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let found = var("STEAD_TEST_NODE").zip(var("STEAD_TEST_NODE_MODULES"));
    if found.is_none() {
        assert!(
            std::env::var_os("STEAD_TEST_REQUIRE").is_none(),
            "STEAD_TEST_NODE must name a node binary and STEAD_TEST_NODE_MODULES a folder with @xterm/headless"
        );
        println!("skipped: STEAD_TEST_NODE and STEAD_TEST_NODE_MODULES are not set");
    }
    found
}

/// Returns a scenario cut at one place: what xterm.js is to read at once, and what in place of that.
fn pair(name: &str, before: &[u8], after: &[u8]) -> Value {
    let mut program = mirror(SMALL);
    program.feed(before);
    let whole = [before, after].concat();
    let rebuilt = [&program.snapshot(Depth::Replace), after].concat();
    let streams = [whole, rebuilt].map(|stream| STANDARD.encode(stream));
    let name = format!("{name}, after {}", before.escape_ascii());
    json!({ "name": name, "columns": SMALL.0, "lines": SMALL.1, "streams": streams })
}

fn pairs() -> Vec<Value> {
    let mut pairs = Vec::new();
    for (name, before, after, _) in SCENARIOS.iter().filter(|row| !UNLIKE.contains(&row.0)) {
        let (before, after) = streams(name, before, after);
        pairs.push(pair(name, &before, b""));
        pairs.push(pair(name, &before, &after));
        // A large one is not cut at every byte.
        let stream = [before, after].concat();
        for cut in (0..stream.len()).filter(|_| stream.len() < 300) {
            pairs.push(pair(name, &stream[..cut], &stream[cut..]));
        }
    }
    pairs
}

#[test]
fn stranger_xterm_shows_the_same_after_a_snapshot() {
    let Some((node, modules)) = node() else { return };
    let dir = tempfile::tempdir().unwrap();
    // Packages are looked up beside the script.
    std::os::unix::fs::symlink(modules, dir.path().join("node_modules")).unwrap();
    std::fs::write(dir.path().join("xterm.mjs"), include_str!("xterm.mjs")).unwrap();
    std::fs::write(dir.path().join("pairs.json"), Value::from(pairs()).to_string()).unwrap();
    let end = Command::new(node)
        .args(["xterm.mjs", "pairs.json"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    let results: Vec<Value> = serde_json::from_slice(&end.stdout).unwrap();
    let mut wrong = Vec::new();
    for result in &results {
        let (whole, rebuilt) = (&result["told"][0], &result["told"][1]);
        if whole != rebuilt {
            wrong.push(format!(
                "{}\n- {}\n+ {}",
                result["name"],
                only(whole, rebuilt),
                only(rebuilt, whole)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), results.len(), wrong.join("\n"));
}

/// Returns what stands in one list and not in the other.
fn only(left: &Value, right: &Value) -> String {
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return String::new();
    };
    left.iter()
        .filter(|row| !right.contains(row))
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join("\n  ")
}
