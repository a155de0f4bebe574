//! How a runtime ends, what it leaves, and what it takes up anew.

use std::{
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use rustix::process::Signal;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use vocab::{
    ids::{CallId, RunId},
    outcome::Effect,
};
use workspace::{
    call::{CallContext, Envelope},
    primitive::{Request, Upload},
    source::{OwnedWorkspace as _, Workspace},
};

use super::{Served, TOKEN, names};
use crate::home::Home;

fn at(workspace: &dyn Workspace, path: &str) -> Request {
    let cancel = CancellationToken::new();
    Request { path: path.to_owned(), expected: workspace.id(), cancel }
}

fn bash(workspace: &dyn Workspace, command: &str) -> workspace::call::Call {
    let catalog = workspace.catalog();
    let spec = catalog.find("bash").unwrap();
    workspace::call::Call {
        run: RunId::generate(),
        id: CallId("call".into()),
        tool: "bash".into(),
        arguments: (spec.prepare)(json!({"command": command})),
        schema_hash: spec.schema_hash(),
        expected_generation: catalog.generation,
        timeout_ms: None,
        idempotency_key: None,
        envelope: Envelope::default(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_polite_signal_ends_all_that_runs_and_leaves_nothing() {
    let home = Home::new();
    let outputs = home.path("outputs");
    fs::create_dir(&outputs).unwrap();
    let outputs_dir = outputs.to_str().unwrap().to_owned();
    let mut served =
        Served::start(&home, &["--allow-exec", "--artifact-dir", &outputs_dir, "--env", "KEEP"]);
    assert!(!served.ready.contains(TOKEN) && served.ready.contains("programs: yes"));
    assert_eq!(names(&outputs).len(), 1);
    let remote = served.connect().await;
    let workspace = remote.borrow();
    // What a program sees of the runtime: nothing that lets anybody in.
    let seen = workspace.call(
        bash(&*workspace, "env; tr '\\0' '\\n' <\"/proc/$PPID/cmdline\""),
        CallContext::detached(),
    );
    let seen = format!("{:?}", seen.await);
    assert!(seen.contains("PATH=") && seen.contains("serve"), "{seen}");
    assert!(!seen.contains(TOKEN) && !seen.contains("STEAD_WORKSPACE"), "{seen}");
    let call = bash(&*workspace, "trap '' TERM; echo $$ >pid; while :; do sleep 1; done");
    let running = tokio::spawn(workspace.call(call, CallContext::detached()));
    let pieces = stream::iter([Ok(Bytes::from_static(b"half"))]).chain(stream::pending());
    let promise = Upload::of_file(8, "0".repeat(64), false);
    let uploading =
        tokio::spawn(workspace.upload(at(&*workspace, "half"), promise, pieces.boxed()));
    let pid = loop {
        let text = fs::read_to_string(home.path("work/pid")).unwrap_or_default();
        if text.ends_with('\n') && names(&home.work()).len() > 1 {
            break text.trim().to_owned();
        }
        tokio::task::yield_now().await;
    };
    served.signal(Signal::TERM);
    let ended = running.await.unwrap();
    let failure = ended.failure.unwrap();
    assert_eq!(failure.effect, Effect::Indeterminate, "{failure:?}");
    assert_eq!(uploading.await.unwrap().unwrap_err().effect, Effect::NotStarted);
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap(), "the program outlived its runtime");
    assert_eq!(names(&home.work()), [home.path("work/pid")]);
    assert!(names(&outputs).is_empty());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut served.errors, &mut rest).unwrap();
    assert!(!rest.contains(TOKEN), "{rest}");
    drop(tokio::time::timeout(Duration::from_secs(20), Box::new(remote).close()).await);
}

/// As in a container: nobody else reaps what comes to it, and nobody else's signals mean anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_only_process_of_a_container_reaps_and_is_ended_by_a_signal() {
    let home = Home::new();
    let allowed =
        Command::new("unshare").args(["--fork", "--pid", "--mount-proc", "true"]).output();
    if !allowed.is_ok_and(|end| end.status.success()) {
        println!("left out: no namespace of processes can be made here");
        return;
    }
    let inner = super::command(&home, &["--allow-exec"]);
    let mut command = Command::new("unshare");
    command.args(["--fork", "--pid", "--mount-proc", "--"]).arg(inner.get_program());
    command.args(inner.get_args()).current_dir(home.work()).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("STEAD_WORKSPACE_TOKEN", TOKEN).env("STEAD_WORKSPACE_LISTEN", "127.0.0.1:0");
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut served = Served::ready(command);
    let remote = served.connect().await;
    let workspace = remote.borrow();
    // Orphans of orphans, which come to the first process and end there.
    let call = bash(
        &*workspace,
        "cat /proc/1/comm; for n in 1 2 3; do (setsid sh -c 'true & true &' &); done",
    );
    let told = format!("{:?}", workspace.call(call, CallContext::detached()).await);
    assert!(told.contains("stead"), "{told}");
    loop {
        let call = bash(&*workspace, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' || true");
        let told = format!("{:?}", workspace.call(call, CallContext::detached()).await);
        if told.contains("\"0") || told.contains("0\\n") {
            break;
        }
    }
    let outer = served.child.id();
    let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).unwrap();
    let first = children.split_whitespace().next().unwrap().parse().unwrap();
    let first = rustix::process::Pid::from_raw(first).unwrap();
    rustix::process::kill_process(first, Signal::TERM).unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    drop(tokio::time::timeout(Duration::from_secs(20), Box::new(remote).close()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_second_signal_does_not_wait() {
    let home = Home::new();
    let mut served = Served::start(&home, &["--allow-exec"]);
    let remote = served.connect().await;
    let workspace = remote.borrow();
    let call = bash(&*workspace, "trap '' TERM; echo $$ >pid; while :; do sleep 1; done");
    let running = tokio::spawn(workspace.call(call, CallContext::detached()));
    while !home.path("work/pid").exists() {
        tokio::task::yield_now().await;
    }
    served.signal(Signal::TERM);
    served.signal(Signal::INT);
    let code = served.child.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 130)), "{code:?}");
    running.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reload_publishes_what_is_good_and_keeps_what_was_otherwise() {
    let home = Home::new();
    let layer = home.path("lsp.toml");
    let server = "[servers.x]\ncommand = [\"true\"]\nlanguages = [\"python\"]\n";
    fs::write(&layer, "").unwrap();
    let flags = ["--allow-exec", "--lsp-config", layer.to_str().unwrap()];
    let mut served = Served::start(&home, &flags);
    let remote = served.connect().await;
    let workspace = remote.borrow();
    let before = workspace.catalog();
    assert!(before.find("bash").is_some() && before.find("lsp_hover").is_none());
    fs::write(&layer, "nonsense").unwrap();
    served.signal(Signal::HUP);
    assert!(served.says().starts_with("stead: not reloaded: "));
    workspace.stat(at(&*workspace, ".")).await.unwrap();
    assert_eq!(workspace.catalog().generation, before.generation);
    fs::write(&layer, server).unwrap();
    served.signal(Signal::HUP);
    assert_eq!(served.says(), "stead: reloaded, generation 2\n");
    while workspace.catalog().generation == before.generation {
        workspace.stat(at(&*workspace, ".")).await.unwrap();
    }
    let call = bash(&*workspace, "echo again");
    assert!(workspace.call(call, CallContext::detached()).await.failure.is_none());
    Box::new(remote).close().await;
}
