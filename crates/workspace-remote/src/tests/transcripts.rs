//! The seven tools, told what models tell them: a remote workspace answers byte for byte like a local one, after
//! what differs from run to run is named by its order.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use vocab::{ids::CallId, outcome::Outcome};
use workspace::{
    call::{Call, CallContext, Progress},
    source::{OwnedWorkspace, Workspace},
};

use super::{
    calls,
    rig::{self, Local, Wire},
};
use crate::transport::memory::{Cut, Fate, Side};

fn script() -> Vec<(&'static str, Value)> {
    vec![
        ("write", json!({"path": "src/a.txt", "content": "one\ntwo\nthree\n"})),
        ("write", json!({"path": "src/b.txt", "content": "zwei \u{fc}ber \u{1f600}\n"})),
        ("write", json!({"path": "src/a.txt", "content": "one\ntwo\nthree\nfour\n"})),
        ("read", json!({"path": "src/a.txt"})),
        ("read", json!({"path": "src/a.txt", "offset": 2, "limit": 1})),
        ("read", json!({"path": "missing"})),
        ("read", json!({"path": "../outside"})),
        ("edit", json!({"path": "src/a.txt", "edits": [{"oldText": "two", "newText": "TWO"}]})),
        ("edit", json!({"path": "src/a.txt", "edits": [{"oldText": "nowhere", "newText": "x"}]})),
        ("ls", json!({"path": "src"})),
        ("find", json!({"pattern": "*.txt"})),
        ("grep", json!({"pattern": "T.O", "path": "src"})),
        ("grep", json!({"pattern": "("})),
        ("bash", json!({"command": "echo out; echo err >&2; exit 3"})),
        ("bash", json!({"command": "seq 1 20000"})),
        ("bash", json!({"command": "cat src/a.txt; printf '\\377'"})),
        ("bash", json!({"command": "sleep 60", "timeout": 0.2})),
        ("bash", json!({"path": 1})),
        ("find", json!({})),
    ]
}

/// Replaces what differs between two runs: names of artifacts, and how long something took.
fn normal(outcome: &Outcome) -> String {
    let text = serde_json::to_string_pretty(outcome).unwrap();
    let mut normal = String::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("stead-artifact://") {
        let (before, uri) = rest.split_at(at);
        let end = uri.find(|c: char| !c.is_alphanumeric() && !":/_-".contains(c));
        let (uri, after) = uri.split_at(end.unwrap_or(uri.len()));
        let name = seen.iter().position(|one| *one == uri).unwrap_or_else(|| {
            seen.push(uri);
            seen.len() - 1
        });
        normal.push_str(before);
        normal.push_str(&format!("<artifact {name}>"));
        rest = after;
    }
    normal.push_str(rest);
    let timeless = |line: &&str| !line.contains("_ms\"");
    normal.lines().filter(timeless).collect::<Vec<_>>().join("\n")
}

async fn transcript(workspace: Arc<dyn Workspace>) -> Vec<String> {
    let catalog = workspace.catalog();
    let mut told = Vec::new();
    for (number, (tool, arguments)) in script().into_iter().enumerate() {
        let spec = catalog.find(tool).unwrap();
        let id = CallId(number.to_string());
        let arguments = spec.prepare(arguments);
        let call = Call { id, arguments, ..calls::call(tool, &catalog) };
        let progress = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&progress);
        let context = CallContext {
            progress: Arc::new(move |Progress::Output(text)| heard.lock().unwrap().push_str(&text)),
            ..CallContext::detached()
        };
        let outcome = workspace.call(call, context).await;
        told.push(format!("{tool}: {}", normal(&outcome)));
        // A line in order loses no progress either.
        if tool == "bash" && !outcome.is_error() {
            let whole = progress.lock().unwrap().clone();
            told.push(format!("progress of {} bytes", whole.len()));
        }
    }
    told
}

async fn local() -> Vec<String> {
    let place = Local::open();
    let told = transcript(place.owner.borrow()).await;
    let root = place.owner.borrow().root();
    told.iter().map(|one| one.replace(&root, "<root>")).collect()
}

async fn remote(wire: &Wire) -> Vec<String> {
    let place = Local::open();
    let remote = rig::join(place.owner.borrow(), wire).await;
    let told = transcript(remote.borrow()).await;
    let root = place.owner.borrow().root();
    told.iter().map(|one| one.replace(&root, "<root>")).collect()
}

#[tokio::test]
async fn the_seven_tools_tell_the_same_from_afar() {
    let expected = local().await;
    assert!(script().len() <= expected.len());
    for wire in [
        Wire::Bytes,
        Wire::Memory(Cut::never()),
        Wire::Memory(Cut::every(Side::First, 3, Fate::Arrives)),
        Wire::Memory(Cut::every(Side::Second, 3, Fate::Arrives)),
    ] {
        assert_eq!(remote(&wire).await, expected, "{wire:?}");
    }
}
