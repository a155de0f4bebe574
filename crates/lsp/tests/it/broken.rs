//! Servers that break, and what is told of it.

use std::time::Duration;

use lsp::{Bounds, State};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{
        LSP_ERROR_BYTES_MAX, LSP_INITIALIZE_MS, LSP_LAST_WORDS_BYTES_MAX, LSP_LAST_WORDS_LINES_MAX,
        LSP_MEMORY_BYTES_MAX, LSP_MEMORY_LOOK_MS, LSP_OUTGOING_MAX, LSP_PENDING_MAX, LSP_REST_MS,
        LSP_RESTART_WINDOW_MS, LSP_RESTARTS_MAX, LSP_SEND_MS,
    },
    outcome::{Effect, Failure},
};
use workspace::{call::CallContext, source::ToolSource};

use crate::{
    lives::{at, hover, hovered, is_alive, it, pid, rig},
    rig::{able, call, prepared, until},
};

#[tokio::test]
async fn a_server_is_started_again_so_many_times() {
    let usual = Bounds::default();
    assert_eq!(usual.restarts_max, LSP_RESTARTS_MAX);
    assert_eq!(usual.restart_window, Duration::from_millis(LSP_RESTART_WINDOW_MS));
    let rig = rig();
    let on = hover(json!([[{"complain": "the\u{1b}[1m sky falls"}, {"exit": 3}]]));
    let lsp = rig.open(rig.server("one", able(), on));
    for n in 0..=LSP_RESTARTS_MAX {
        let failure = hovered(&lsp, "a.py").await.unwrap_err();
        let facts = (failure.code.as_str(), failure.effect);
        assert_eq!(facts, ("lsp_server_ended", Effect::Indeterminate), "{n}: {failure}");
        assert_eq!(rig.starts("one"), n + 1);
        until("its end was told", || lsp.status()[0].state == State::Failed).await;
        let error = lsp.status()[0].last_error.clone().unwrap();
        assert!(
            error.contains("exited with code 3") && error.contains("the[1m sky falls"),
            "{error}"
        );
    }
    let failure = hovered(&lsp, "a.py").await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("lsp_server_failed", Effect::NotStarted));
    assert!(failure.message.contains("sky falls"), "{failure}");
    assert_eq!(rig.starts("one"), LSP_RESTARTS_MAX + 1);
    lsp.close().await;
    // Once the failures are old they no longer count.
    let operator = rig.server("two", able(), hover(json!([[{"exit": 1}]])));
    let lsp = rig.open_with(operator, |bounds| bounds.restart_window = Duration::ZERO);
    for _ in 0..LSP_RESTARTS_MAX + 3 {
        assert_eq!(hovered(&lsp, "a.py").await.unwrap_err().code, "lsp_server_ended");
    }
    lsp.close().await;
}

#[tokio::test]
async fn a_server_that_breaks_the_rules_is_ended_told_and_started_again() {
    let rig = rig();
    let lists = json!([
        [{"raw": "garbage\r\n\r\n"}, {"hang": true}],
        [{"raw": "Content-Length: 99999999999\r\n\r\n"}, {"hang": true}],
        [{"raw": "Content-Length: 1\r\n\r\n{"}, {"hang": true}],
    ]);
    let mut layers = String::new();
    for (n, list) in lists.as_array().unwrap().iter().enumerate() {
        layers = rig.server(&format!("s{n}"), able(), hover(json!([list])));
        let lsp = rig.open(layers.clone());
        let failure = hovered(&lsp, "a.py").await.unwrap_err();
        assert_eq!(failure.code, "lsp_server_ended");
        assert!(failure.message.contains("it sent"), "{failure}");
        let process = pid(&rig, &format!("s{n}"));
        until("it is gone", || !is_alive(&process)).await;
        lsp.close().await;
    }
    assert!(!layers.is_empty());
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    assert_eq!(Bounds::default().initialize, Duration::from_millis(LSP_INITIALIZE_MS));
    let rig = rig();
    for (layer, wanted) in [
        (
            "[servers.m]\ncommand = [\"no-such-server\"]\nlanguages = [\"python\"]\n".to_owned(),
            "no-such-server",
        ),
        (
            "[servers.m]\ncommand = [\"false\"]\nlanguages = [\"python\"]\n".to_owned(),
            "exited with code 1",
        ),
        (
            rig.server(
                "m",
                able(),
                json!({"initialize": [[{"error": [-32603, "no valid installation"]}]]}),
            ),
            "no valid installation",
        ),
        (rig.server("n", json!({"positionEncoding": "utf-7"}), json!({})), "units nobody offered"),
    ] {
        let lsp = rig.open(layer);
        let failure = hovered(&lsp, "a.py").await.unwrap_err();
        assert!(failure.message.contains(wanted), "{failure}");
        let status = lsp.status().remove(0);
        assert_eq!(status.state, State::Failed);
        assert!(status.last_error.unwrap().contains(wanted));
        lsp.close().await;
    }
}

#[tokio::test]
async fn a_server_that_is_never_ready_is_ended_and_told() {
    assert_eq!(LSP_INITIALIZE_MS, 30_000);
    let rig = rig();
    let operator = rig.server("one", able(), json!({"initialize": [[{"hang": true}]]}));
    let lsp = rig.open_with(operator, |bounds| bounds.initialize = Duration::from_millis(300));
    let failure = hovered(&lsp, "a.py").await.unwrap_err();
    assert!(failure.message.contains("was not ready in time"), "{failure}");
    assert_eq!(lsp.status()[0].state, State::Failed);
    lsp.close().await;
}

#[tokio::test]
async fn no_more_questions_wait_than_allowed() {
    let rig = rig();
    let lsp = rig.open(rig.server("one", able(), hover(json!([[]]))));
    let context = CallContext { cancel: CancellationToken::new(), ..CallContext::detached() };
    let ask = || lsp.call(prepared(&lsp, "lsp_hover", at("a.py")), context.clone());
    let waiting: Vec<_> = (0..LSP_PENDING_MAX).map(|_| ask()).collect();
    until("all were asked", || rig.sent("one", "textDocument/hover").len() == LSP_PENDING_MAX)
        .await;
    let failure = hovered(&lsp, "a.py").await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("busy", Effect::NotStarted));
    context.cancel.cancel();
    for outcome in futures_util::future::join_all(waiting).await {
        assert_eq!(outcome.failure.unwrap().code, "aborted");
    }
    lsp.close().await;
}

#[tokio::test]
async fn a_server_that_does_not_read_is_ended() {
    assert_eq!(Bounds::default().send, Duration::from_millis(LSP_SEND_MS));
    let rig = rig();
    let operator = rig.server("one", able(), hover(json!([[{"hang": true}]])));
    let lsp = rig.open_with(operator, |bounds| {
        (bounds.send, bounds.call) = (Duration::from_millis(100), Duration::from_secs(5));
    });
    // More than the queue and the pipe hold.
    let n = LSP_OUTGOING_MAX + 8;
    for n in 0..n {
        rig.file(&format!("f{n}.py"), format!("x = '{}'\n", "y".repeat(64 << 10)));
    }
    let asked = (0..n).map(|n| call(&lsp, "lsp_hover", at(&format!("f{n}.py"))).map_failure());
    let failures = futures_util::future::join_all(asked).await;
    // A call that came late has met the next server, which answers as little.
    let known = ["lsp_server_ended", "timeout"];
    assert!(failures.iter().all(|failure| known.contains(&failure.code.as_str())), "{failures:?}");
    assert!(failures[0].message.contains("does not read"), "{}", failures[0]);
    lsp.close().await;
}

/// Returns the failure of an outcome that must have one.
trait MapFailure {
    fn map_failure(self) -> impl Future<Output = Failure>;
}

impl<F: Future<Output = vocab::outcome::Outcome>> MapFailure for F {
    async fn map_failure(self) -> Failure {
        self.await.failure.unwrap()
    }
}

#[tokio::test]
async fn a_server_whose_child_holds_the_line_open_has_ended_all_the_same() {
    assert_eq!(LSP_REST_MS, 200);
    let rig = rig();
    let lsp = rig.open(rig.server("one", able(), hover(json!([[{"leave": true}, {"exit": 0}]]))));
    let failure = hovered(&lsp, "a.py").await.unwrap_err();
    assert_eq!(failure.code, "lsp_server_ended");
    // What it left goes with it.
    until("its end was told", || lsp.status()[0].state == State::Failed).await;
    lsp.close().await;
}

#[tokio::test]
async fn a_server_that_holds_too_much_is_ended_and_told() {
    let usual = Bounds::default();
    assert_eq!(usual.memory_bytes_max, LSP_MEMORY_BYTES_MAX);
    assert_eq!(usual.memory_look, Duration::from_millis(LSP_MEMORY_LOOK_MS));
    let rig = rig();
    let on = hover(json!([it(), [{"hoard": 300}, {"answer": {"contents": "much"}}]]));
    let lsp = rig.open_with(rig.server("one", able(), on), |bounds| {
        (bounds.memory_look, bounds.memory_bytes_max) = (Duration::ZERO, 200 << 20);
    });
    assert_eq!(hovered(&lsp, "a.py").await.unwrap(), "it");
    let process = pid(&rig, "one");
    let said = hovered(&lsp, "a.py").await.unwrap();
    // The answer is not lost with it.
    assert!(said.starts_with("much\n[one held ") && said.contains("more than 200 MiB"), "{said}");
    assert!(!is_alive(&process));
    assert!(lsp.status()[0].last_error.as_ref().unwrap().contains("more than 200 MiB"));
    assert_eq!(hovered(&lsp, "a.py").await.unwrap(), "it");
    lsp.close().await;
}

#[tokio::test]
async fn last_words_are_bounded() {
    let rig = rig();
    let mut words: Vec<Value> = (0..2 * LSP_LAST_WORDS_LINES_MAX)
        .map(|n| json!({"complain": format!("word {n}")}))
        .collect();
    words.push(json!({"exit": 1}));
    let long = "y".repeat(2 * LSP_LAST_WORDS_BYTES_MAX);
    let on = hover(json!([words, [{"complain": long}, {"exit": 1}]]));
    let lsp = rig.open(rig.server("one", able(), on));
    hovered(&lsp, "a.py").await.unwrap_err();
    until("its end was told", || lsp.status()[0].state == State::Failed).await;
    let error = lsp.status()[0].last_error.clone().unwrap();
    assert_eq!(
        error.lines().filter(|line| line.starts_with("word ")).count(),
        LSP_LAST_WORDS_LINES_MAX
    );
    assert!(error.ends_with(&format!("word {}", 2 * LSP_LAST_WORDS_LINES_MAX - 1)), "{error}");
    lsp.close().await;
    let on = hover(json!([[{"complain": long}, {"exit": 1}]]));
    let lsp = rig.open(rig.server("two", able(), on));
    hovered(&lsp, "a.py").await.unwrap_err();
    until("its end was told", || lsp.status()[0].state == State::Failed).await;
    let error = lsp.status()[0].last_error.clone().unwrap();
    assert!(error.len() <= LSP_ERROR_BYTES_MAX && error.contains("yyy"), "{}", error.len());
    lsp.close().await;
}
