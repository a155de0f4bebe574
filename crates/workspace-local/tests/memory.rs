//! What searches cost in memory, measured in a process of its own.

#![expect(clippy::disallowed_methods, reason = "makes files, and reads its own memory")]
#![expect(clippy::unwrap_used, reason = "a test that cannot look at itself has failed")]
#![expect(clippy::tests_outside_test_module, reason = "the one test of a process of its own")]

use std::{fs, sync::Arc};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{CallId, RunId},
    limits::GREP_DFA_BYTES_MAX,
};
use workspace::call::{Call, CallContext, Envelope};
use workspace_local::{LocalWorkspace, Options};

/// Reads a number of bytes that the kernel counts of this process.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let kib: u64 = line.trim_matches([':', ' ', '\t', 'k', 'B']).parse().unwrap();
    kib << 10
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costly_searches_side_by_side_hold_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    for n in 0..20 {
        let text = format!("läßt{n} der Bär Übles in α{n}β stehen und Ärger ").repeat(200);
        fs::write(root.join(format!("f{n}")), text).unwrap();
    }
    let owner = LocalWorkspace::open(Options::new(root, dir.path().join("artifacts"))).unwrap();
    let workspace = owner.borrow();
    let call = |pattern: &str| {
        let catalog = workspace.catalog();
        let spec = catalog.find("grep").unwrap();
        let call = Call {
            id: CallId("c".into()),
            run: RunId::generate(),
            tool: "grep".to_owned(),
            arguments: spec.prepare(json!({ "pattern": pattern })),
            expected_generation: catalog.generation,
            schema_hash: spec.schema_hash(),
            timeout_ms: None,
            idempotency_key: None,
            envelope: Envelope::default(),
        };
        let context = CallContext { cancel: CancellationToken::new(), progress: Arc::new(|_| {}) };
        workspace.call(call, context)
    };
    // One search first, so that what every search needs is there already.
    assert_eq!(call("x").await.failure, None);
    let before = memory("VmRSS");
    // The first is refused; the second is close below what is taken.
    for (pattern, refused) in [(r"(\w{600})", true), (r"(\w{20}\W)?\w{25}x", false)] {
        let calls = (0..8).map(|_| call(pattern));
        for outcome in futures_util::future::join_all(calls).await {
            assert_eq!(outcome.failure.is_some(), refused, "{pattern}: {outcome:?}");
        }
        eprintln!("{pattern}: peak {} KiB", (memory("VmHWM") - before) >> 10);
    }
    let peak = memory("VmHWM") - before;
    // Each of the eight searches remembers the states of three forms of its expression.
    assert!(peak < (8 * 3 + 1) * GREP_DFA_BYTES_MAX as u64, "{peak}");
    owner.close().await;
}
