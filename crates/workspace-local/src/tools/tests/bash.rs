//! The `bash` tool over real shells.

#![expect(clippy::disallowed_methods, reason = "tests arrange and look at real files")]

use crate::bench::{Bench, details};
use serde_json::json;
use stdx::proc_id::ProcId;
use vocab::outcome::Effect;
use workspace::call::{Call, Envelope, Progress};

#[tokio::test]
async fn output_and_code_are_told() {
    let bench = Bench::new();
    bench.file("a", "x");
    let check = async |command: &str, text: &str, code: Option<&str>| {
        let outcome = bench.call("bash", json!({"command": command})).await;
        assert_eq!(outcome.plain_text(), text, "{command}");
        assert_eq!(
            outcome.failure.as_ref().map(|failure| failure.code.as_str()),
            code,
            "{command}"
        );
        (details(&outcome), outcome.effect())
    };
    check("ls; echo err >&2", "a\nerr", None).await;
    check("true", "(no output)", None).await;
    check("cat", "(no output)", None).await;
    let (told, effect) =
        check("echo x; exit 3", "x\n\nCommand exited with code 3", Some("exit_nonzero")).await;
    assert_eq!((&told["exit_code"], effect), (&json!(3), Effect::Completed));
    let signal = "Command was killed by SIGSEGV (signal 11)";
    let (told, effect) =
        check("echo x; kill -SEGV $$", &format!("x\n\n{signal}"), Some("killed_by_signal")).await;
    assert_eq!((&told["signal"], &told["exit_code"]), (&json!("SIGSEGV"), &json!(null)));
    assert_eq!(effect, Effect::Indeterminate);
    assert!(told["duration_ms"].is_u64());
}

#[tokio::test]
async fn the_prefix_comes_first_and_the_environment_is_closed() {
    let bench = Bench::new();
    let prepared = bench.prepared("bash", json!({"command": "echo $GREETING $HOME"}));
    let prefix = Some("GREETING=hi".to_owned());
    let call =
        Call { envelope: Envelope { image_resize: true, command_prefix: prefix }, ..prepared };
    let outcome = bench.workspace.call(call, bench.context()).await;
    assert_eq!(outcome.plain_text(), "hi");
}

#[tokio::test]
async fn a_timeout_keeps_the_output_and_says_so() {
    let bench = Bench::new();
    let wait = json!({"command": "echo begun; sleep 600", "timeout": 0.3});
    let outcome = bench.call("bash", wait).await;
    assert_eq!(outcome.plain_text(), "begun\n\nCommand was ended after 300 ms, its timeout");
    let failure = outcome.failure.unwrap();
    assert_eq!((failure.code.as_str(), failure.effect), ("timeout", Effect::Indeterminate));
    let late = Call {
        timeout_ms: Some(200),
        ..bench.prepared("bash", json!({"command": "sleep 600", "timeout": 100}))
    };
    let outcome = bench.workspace.call(late, bench.context()).await;
    assert_eq!(outcome.failure.unwrap().code, "timeout");
    let default = Bench::with(|options| options.programs.timeout_ms_default = 200);
    let outcome = default.call("bash", json!({"command": "sleep 600"})).await;
    assert_eq!(outcome.failure.unwrap().code, "timeout");
}

#[tokio::test]
async fn cancelling_ends_the_command_and_keeps_what_it_said() {
    let bench = Bench::new();
    let context = bench.context();
    let cancel = context.cancel.clone();
    let heard = std::sync::Arc::new(tokio::sync::Notify::new());
    let told = std::sync::Arc::clone(&heard);
    let listening = workspace::call::CallContext {
        progress: std::sync::Arc::new(move |_| told.notify_one()),
        ..context
    };
    let call = bench.prepared("bash", json!({"command": "echo begun; sleep 600"}));
    let call = bench.workspace.call(call, listening);
    let ender = async {
        heard.notified().await;
        cancel.cancel();
    };
    let (outcome, ()) = futures_util::future::join(call, ender).await;
    assert_eq!(outcome.plain_text(), "begun\n\nCommand was cancelled and ended");
    let failure = outcome.failure.unwrap();
    assert_eq!((failure.code.as_str(), failure.effect), ("aborted", Effect::Indeterminate));
}

#[tokio::test]
async fn output_is_told_while_the_command_runs() {
    let bench = Bench::new();
    let pipe = bench.pipe("go");
    let (tell, mut told) = tokio::sync::mpsc::channel(8);
    let context = workspace::call::CallContext {
        progress: std::sync::Arc::new(move |Progress::Output(text)| tell.try_send(text).unwrap()),
        ..bench.context()
    };
    let command = json!({"command": "echo one; read _ <go; echo two"});
    let call = bench.workspace.call(bench.prepared("bash", command), context);
    let go = async {
        let first = told.recv().await.unwrap();
        tokio::task::spawn_blocking(move || std::fs::write(pipe, "\n")).await.unwrap().unwrap();
        first
    };
    let (outcome, first) = futures_util::future::join(call, go).await;
    assert_eq!(outcome.plain_text(), "one\ntwo");
    assert_eq!((first.as_str(), told.recv().await.as_deref()), ("one\n", Some("two\n")));
}

#[tokio::test]
async fn much_output_is_kept_whole_beside_its_end() {
    let bench = Bench::new();
    let outcome = bench.call("bash", json!({"command": "seq 1 30000"})).await;
    let told = details(&outcome);
    let uri = told["fullOutputPath"].as_str().unwrap();
    let text = outcome.plain_text();
    assert!(
        text.ends_with(&format!("\n30000\n\n[Lines 28001-30000 of 30000. Full output: {uri}]"))
    );
    assert_eq!(told["truncation"]["totalLines"], 30_000);
    let first = bench.text("read", json!({"path": uri, "limit": 2})).await;
    assert_eq!(first, "1\n2\n\n[29998 more lines. Read on with offset=3.]");
    let failed = bench.call("bash", json!({"command": "seq 1 3000; exit 1"})).await;
    assert!(details(&failed)["fullOutputPath"].is_string());
    assert!(failed.plain_text().ends_with("Command exited with code 1"));
    let wide = bench.call("bash", json!({"command": "printf 'a\\n%0100000d' 7"})).await;
    assert!(wide.plain_text().contains("[The last 50.0KB of line 2, which is 97.7KB."));
}

#[tokio::test]
async fn output_that_could_not_be_kept_is_told_as_such() {
    let bench = Bench::new();
    let place = bench.dir.path().join("artifacts");
    std::fs::remove_dir(&place).unwrap();
    std::fs::write(&place, "no directory").unwrap();
    let outcome = bench.call("bash", json!({"command": "seq 1 3000"})).await;
    let wanted = "[Lines 1001-3000 of 3000. The full output could not be kept]";
    assert!(outcome.plain_text().ends_with(wanted));
    let told = details(&outcome);
    assert_eq!(
        (&told["fullOutputPath"], &told["fullOutputDropped"]),
        (&json!(null), &json!(13_893))
    );
}

#[tokio::test]
async fn what_a_command_leaves_running_is_named_and_ends_with_the_run() {
    let bench = Bench::new();
    let outcome = bench.call("bash", json!({"command": "sleep 600 & echo $!"})).await;
    let told = details(&outcome);
    let pid = told["survivors"][0]["pid"].as_u64().unwrap();
    let text = outcome.plain_text();
    assert!(text.starts_with(&format!("{pid}\n\n[Still running: {pid} sleep 600.")), "{text}");
    assert!(text.contains("stead bg"));
    assert!(bench.owner.as_ref().unwrap().is_busy());
    let sleeper = ProcId::of(u32::try_from(pid).unwrap()).unwrap();
    let ended = bench.workspace.end_run(&bench.run).await;
    assert_eq!(ended, [format!("ended {pid} sleep 600")]);
    assert!(!sleeper.is_alive());
    assert!(!bench.owner.as_ref().unwrap().is_busy());
    assert_eq!(bench.workspace.end_run(&bench.run).await, Vec::<String>::new());
}
