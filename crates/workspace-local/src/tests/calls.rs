//! What holds for a call of any tool: arguments, keys, cancelling.

#![expect(clippy::disallowed_methods, reason = "tests arrange and look at real files")]

use crate::bench::{Bench, details};
use serde_json::json;
use vocab::{limits::RECENT_CALLS_MAX, outcome::Effect};
use workspace::call::Call;

#[tokio::test]
async fn arguments_out_of_bounds_are_named() {
    let bench = Bench::new();
    let check = async |tool: &str, arguments, wanted: &[&str]| {
        let outcome = bench.call(tool, arguments).await;
        let failure = outcome.failure.unwrap();
        assert_eq!(
            (failure.code.as_str(), failure.effect),
            ("invalid_arguments", Effect::NotStarted)
        );
        for part in wanted {
            assert!(failure.message.contains(part), "{} lacks {part}", failure.message);
        }
    };
    check("read", json!({}), &["path: is required"]).await;
    check("ls", json!({"limit": 0}), &["limit: must be"]).await;
    check("grep", json!({"pattern": "x", "limit": 1e9, "context": 5000}), &["limit:", "context:"])
        .await;
    check("edit", json!({"path": "a", "edits": []}), &["edits: must hold 1 to"]).await;
    check("edit", json!({"path": "a", "edits": [{"oldText": 1}]}), &["edits[0].newText"]).await;
    let many: Vec<_> = (0..1_001).map(|_| json!({"oldText": "a", "newText": "b"})).collect();
    check("edit", json!({"path": "a", "edits": many}), &["edits: must hold"]).await;
    check("bash", json!({"command": "true", "timeout": 0}), &["timeout: must be"]).await;
}

#[tokio::test]
async fn arguments_are_never_repaired_by_the_workspace() {
    let bench = Bench::new();
    bench.file("a", "x");
    let raw = Call { arguments: json!({"file_path": "a"}), ..bench.prepared("read", json!({})) };
    let outcome = bench.workspace.call(raw, bench.context()).await;
    assert_eq!(outcome.failure.unwrap().code, "invalid_arguments");
    assert_eq!(bench.text("read", json!({"file_path": "a"})).await, "x");
}

#[tokio::test]
async fn two_calls_with_one_key_are_one_call() {
    let bench = Bench::new();
    let call = Call {
        idempotency_key: Some("k".into()),
        ..bench.prepared("bash", json!({"command": "echo x >> log; cat log"}))
    };
    let both = futures_util::future::join(
        bench.workspace.call(call.clone(), bench.context()),
        bench.workspace.call(call, bench.context()),
    );
    let (one, two) = both.await;
    assert_eq!(one, two);
    assert_eq!(bench.content("log"), b"x\n");
}

#[tokio::test]
async fn as_many_calls_are_remembered_as_the_limit_says() {
    let bench = Bench::new();
    let write = async |n: usize| {
        let arguments = json!({"path": format!("f{n}"), "content": ""});
        let key = Some(format!("k{n}"));
        let call = Call { idempotency_key: key, ..bench.prepared("write", arguments) };
        let outcome = bench.workspace.call(call, bench.context()).await;
        assert_eq!(outcome.failure, None);
    };
    for n in 0..=RECENT_CALLS_MAX {
        write(n).await;
    }
    let files = ["f0", "f1"].map(|name| bench.root().join(name));
    for file in &files {
        std::fs::remove_file(file).unwrap();
    }
    // The second is known still and not done again; the first one is forgotten.
    write(1).await;
    write(0).await;
    assert_eq!(files.map(|file| file.exists()), [true, false]);
}

#[tokio::test]
async fn a_cancelled_call_does_nothing() {
    let bench = Bench::new();
    let context = bench.context();
    context.cancel.cancel();
    for (tool, arguments) in [
        ("write", json!({"path": "a", "content": "x"})),
        ("read", json!({"path": "a"})),
        ("grep", json!({"pattern": "a"})),
        ("bash", json!({"command": "touch a"})),
    ] {
        let outcome = bench.workspace.call(bench.prepared(tool, arguments), context.clone()).await;
        let failure = outcome.failure.unwrap();
        assert_eq!(
            (failure.code.as_str(), failure.effect),
            ("aborted", Effect::NotStarted),
            "{tool}"
        );
    }
    assert!(!bench.root().join("a").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_of_one_file_happen_in_the_order_of_the_calls() {
    let bench = Bench::new();
    bench.file("a", "0");
    let calls: Vec<_> = (0..40)
        .map(|n| {
            let edit =
                json!({"path": "a", "oldText": n.to_string(), "newText": (n + 1).to_string()});
            bench.workspace.call(bench.prepared("edit", edit), bench.context())
        })
        .collect();
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(outcome.failure, None);
    }
    assert_eq!(bench.content("a"), b"40");
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_under_two_names_of_one_directory_share_a_lane() {
    let bench = Bench::new();
    bench.file("d/a", "0");
    std::os::unix::fs::symlink("d", bench.root().join("l")).unwrap();
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let path = if n % 2 == 0 { "d/a" } else { "l/a" };
            let edit =
                json!({"path": path, "oldText": n.to_string(), "newText": (n + 1).to_string()});
            bench.workspace.call(bench.prepared("edit", edit), bench.context())
        })
        .collect();
    futures_util::future::join_all(calls).await;
    assert_eq!(bench.content("d/a"), b"20");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_commands_do_not_hold_up_file_tools() {
    let bench = Bench::new();
    bench.file("a", "x");
    let go = std::fs::File::create(bench.root().join("go")).unwrap();
    go.lock().unwrap();
    let commands: Vec<_> = (0..vocab::limits::POOL_PROGRAM_THREADS_MAX)
        .map(|_| {
            let wait = json!({"command": "flock -s go true"});
            bench.workspace.call(bench.prepared("bash", wait), bench.context())
        })
        .collect();
    assert_eq!(bench.text("read", json!({"path": "a"})).await, "x");
    bench.text("write", json!({"path": "b", "content": ""})).await;
    go.unlock().unwrap();
    for outcome in futures_util::future::join_all(commands).await {
        assert_eq!(details(&outcome)["exit_code"], 0);
    }
}

#[tokio::test]
async fn a_closed_workspace_refuses_and_its_outputs_are_there_when_it_opens_again() {
    let mut bench = Bench::new();
    let many = json!({"command": "seq 1 3000"});
    let outcome = bench.call("bash", many).await;
    let uri = details(&outcome)["fullOutputPath"].as_str().unwrap().to_owned();
    bench.owner.take().unwrap().close().await;
    bench.refused_before("read", json!({"path": "a"}), "workspace_closed").await;
    let again = Bench::over(bench.dir, |_| {});
    let first = again.text("read", json!({"path": uri, "limit": 1})).await;
    assert!(first.starts_with("1\n"), "{first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_what_runs() {
    let mut bench = Bench::new();
    // Each writes into its pipe once it runs, and the reader waits for that.
    let pipes = ["begun", "also"].map(|name| bench.pipe(name));
    let command = json!({"command": "echo >begun; exec sleep 600"});
    let call = bench.workspace.call(bench.prepared("bash", command), bench.context());
    let call = tokio::spawn(call);
    let what = workspace::primitive::ExecRequest {
        command: "echo >also; exec sleep 600".into(),
        timeout_ms: 600_000,
    };
    let exec = tokio::spawn(bench.workspace.exec().unwrap().exec(bench.at("."), what));
    for pipe in pipes {
        let heard = tokio::task::spawn_blocking(move || std::fs::read(pipe)).await.unwrap();
        assert_eq!(heard.unwrap(), b"\n");
    }
    bench.owner.take().unwrap().close().await;
    // Which of the two ends it, the wish to stop or the end of its processes, is a matter of moments.
    let ends = ["killed_by_signal", "aborted"];
    let code = call.await.unwrap().failure.unwrap().code;
    assert!(ends.contains(&code.as_str()), "{code}");
    match exec.await.unwrap() {
        Ok(report) => assert!(report.signal.is_some(), "{report:?}"),
        Err(failure) => assert_eq!(failure.code, "aborted"),
    }
}

#[test]
fn an_id_is_derived_from_machine_and_root() {
    let bench = Bench::new();
    let id = bench.workspace.id();
    assert_eq!(id.0.len(), 16);
    assert_eq!(id, crate::derived_id(&std::fs::canonicalize(bench.root()).unwrap()));
    // However it is spelled, it is one place with one directory of outputs.
    let link = bench.dir.path().join("link");
    std::os::unix::fs::symlink("root", &link).unwrap();
    for spelled in [link, bench.root().join("."), bench.root().join("../root")] {
        assert_eq!(id, crate::derived_id(&spelled), "{}", spelled.display());
    }
    assert_ne!(id, Bench::new().workspace.id());
}

#[tokio::test]
async fn a_root_that_is_deleted_fails_every_tool_and_hangs_none() {
    let bench = Bench::new();
    bench.file("a", "x");
    std::fs::remove_dir_all(bench.root()).unwrap();
    bench.refused_before("read", json!({"path": "a"}), "not_found").await;
    bench.refused_before("bash", json!({"command": "true"}), "cwd_missing").await;
    let (code, _) = bench.refused("write", json!({"path": "b", "content": "x"})).await;
    assert_eq!(code, "not_found");
    let outcome = bench.call("grep", json!({"pattern": "x"})).await;
    assert!(!outcome.plain_text().contains("a:1"), "{}", outcome.plain_text());
}
