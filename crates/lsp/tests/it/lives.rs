//! How servers begin, break, rest and end.

use std::{path::Path, time::Duration};

use lsp::{Bounds, Lsp, State};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vocab::{
    limits::{
        LSP_CALL_MS, LSP_IDLE_MS, LSP_PLACES_MAX, LSP_REGISTRATIONS_MAX, LSP_SERVERS_MAX,
        LSP_SHUTDOWN_MS,
    },
    outcome::{Effect, Failure},
};
use workspace::{
    call::{Call, CallContext},
    source::ToolSource,
};

use crate::{
    rig::{Rig, able, call, let_go, prepared, refused, text, until},
    scripted::Player,
};

pub(crate) fn at(path: &str) -> Value {
    json!({"path": path, "line": 1, "symbol": "x"})
}

pub(crate) fn hover(actions: Value) -> Value {
    json!({"textDocument/hover": actions})
}

pub(crate) fn it() -> Value {
    json!([{"answer": {"contents": "it"}}])
}

pub(crate) fn rig() -> Rig {
    let rig = Rig::new();
    rig.file("a.py", "x = 1\n");
    rig
}

pub(crate) fn is_alive(pid: &Value) -> bool {
    // A zombie is not alive.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z"))
}

pub(crate) fn pid(rig: &Rig, name: &str) -> Value {
    rig.log(name).into_iter().rev().find_map(|one| one.get("started").cloned()).unwrap()
}

pub(crate) async fn hovered(lsp: &Lsp, path: &str) -> Result<String, Failure> {
    let outcome = call(lsp, "lsp_hover", at(path)).await;
    let said = outcome.plain_text();
    outcome.failure.map_or(Ok(said), Err)
}

#[tokio::test]
async fn nothing_is_started_before_it_is_asked_and_all_is_ended_on_close() {
    let rig = rig();
    let lsp = rig.open(rig.server("one", able(), hover(json!([it()]))));
    let cancelled = CallContext { cancel: CancellationToken::new(), ..CallContext::detached() };
    cancelled.cancel.cancel();
    let outcome = lsp.call(prepared(&lsp, "lsp_hover", at("a.py")), cancelled).await;
    let failure = outcome.failure.unwrap();
    assert_eq!((failure.code.as_str(), failure.effect), ("aborted", Effect::NotStarted));
    assert_eq!(rig.starts("one"), 0);
    assert_eq!(lsp.status()[0].state, State::Stopped);
    hovered(&lsp, "a.py").await.unwrap();
    let status = lsp.status().remove(0);
    assert_eq!((status.state, status.root.as_str(), status.last_error), (State::Ready, ".", None));
    assert!(status.pid.is_some() && status.rss.is_some_and(|held| held > 0), "{:?}", lsp.status());
    let process = pid(&rig, "one");
    let first = rig.sent("one", "initialize").remove(0);
    assert_eq!(first["processId"], std::process::id());
    assert_eq!(
        first["capabilities"]["general"]["positionEncodings"],
        json!(["utf-8", "utf-16", "utf-32"])
    );
    lsp.close().await;
    let methods: Vec<Value> =
        rig.log("one").iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods[methods.len() - 2..], ["shutdown", "exit"]);
    assert!(!is_alive(&process));
    assert_eq!(refused(&lsp, "lsp_hover", at("a.py")).await.code, "workspace_closed");
}

#[tokio::test]
async fn one_server_runs_for_each_root_and_language() {
    let rig = rig();
    for path in ["p/pyproject.toml", "p/d/b.py", "p/c.py", "q/d.py"] {
        rig.file(path, "x = 1\n");
    }
    let lsp = rig.open(rig.server("one", able(), hover(json!([it()]))));
    let paths = ["a.py", "p/d/b.py", "p/c.py", "q/d.py"];
    futures_util::future::join_all(paths.map(|path| text(&lsp, "lsp_hover", at(path)))).await;
    assert_eq!(rig.starts("one"), 2);
    let roots: Vec<String> = lsp.status().into_iter().map(|row| row.root).collect();
    assert_eq!(roots, [".", "p"]);
    lsp.close().await;
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_the_next_call_starts_it_again() {
    assert_eq!(Bounds::default().idle, Duration::from_millis(LSP_IDLE_MS));
    let rig = rig();
    let operator = rig.server("one", able(), hover(json!([it()])));
    let lsp = rig.open_with(operator, |bounds| bounds.idle = Duration::from_millis(50));
    let before = lsp.catalog();
    hovered(&lsp, "a.py").await.unwrap();
    until("it is stopped", || lsp.status()[0].state == State::Stopped).await;
    assert_eq!(rig.sent("one", "shutdown").len(), 1);
    let after = lsp.catalog();
    assert_eq!((before.generation, before.tools().len()), (after.generation, after.tools().len()));
    // The same call as before the stop is taken.
    hovered(&lsp, "a.py").await.unwrap();
    assert_eq!(rig.starts("one"), 2);
    lsp.close().await;
}

#[tokio::test]
async fn a_slow_start_goes_on_when_the_call_that_began_it_is_given_up() {
    let rig = rig();
    let go = rig.pipe("go");
    let on = json!({
        "initialize": [[{"wait": go}, {"answer": {"capabilities": able()}}]],
        "textDocument/hover": [it()],
    });
    let lsp = rig.open(rig.server("one", able(), on));
    let hasty = Call { timeout_ms: Some(50), ..prepared(&lsp, "lsp_hover", at("a.py")) };
    let outcome = lsp.call(hasty, CallContext::detached()).await;
    assert_eq!(outcome.failure.unwrap().code, "timeout");
    let (said, ()) = tokio::join!(hovered(&lsp, "a.py"), let_go(&go));
    assert_eq!((said.unwrap().as_str(), rig.starts("one")), ("it", 1));
    lsp.close().await;
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_given_up_and_called_off() {
    assert_eq!(Bounds::default().call, Duration::from_millis(LSP_CALL_MS));
    let rig = rig();
    let on = hover(json!([[], [], it()]));
    let lsp = rig.open_with(rig.server("one", able(), on), |_| {});
    let hasty = Call { timeout_ms: Some(2_000), ..prepared(&lsp, "lsp_hover", at("a.py")) };
    let failure = lsp.call(hasty, CallContext::detached()).await.failure.unwrap();
    assert_eq!((failure.code.as_str(), failure.effect), ("timeout", Effect::Indeterminate));
    let context = CallContext { cancel: CancellationToken::new(), ..CallContext::detached() };
    let waiting = lsp.call(prepared(&lsp, "lsp_hover", at("a.py")), context.clone());
    until("it was asked", || rig.sent("one", "textDocument/hover").len() == 2).await;
    context.cancel.cancel();
    assert_eq!(waiting.await.failure.unwrap().code, "aborted");
    until("it was told", || rig.sent("one", "$/cancelRequest").len() == 2).await;
    assert_eq!(hovered(&lsp, "a.py").await.unwrap(), "it");
    lsp.close().await;
}

#[tokio::test]
async fn a_server_that_ignores_its_end_is_killed() {
    assert_eq!(LSP_SHUTDOWN_MS, 3_000);
    let rig = rig();
    let on = json!({"textDocument/hover": [it()], "exit": [[{"hang": true}]]});
    let lsp = rig.open(rig.server("one", able(), on));
    hovered(&lsp, "a.py").await.unwrap();
    let process = pid(&rig, "one");
    assert!(is_alive(&process));
    lsp.close().await;
    assert!(!is_alive(&process));
}

#[tokio::test]
async fn one_more_server_takes_the_place_of_the_one_unused_for_longest() {
    assert_eq!(Bounds::default().servers_max, LSP_SERVERS_MAX);
    let rig = rig();
    for dir in ["p", "q"] {
        rig.file(&format!("{dir}/pyproject.toml"), "");
        rig.file(&format!("{dir}/a.py"), "x = 1\n");
    }
    let operator = rig.server("one", able(), hover(json!([it()])));
    let lsp = rig.open_with(operator, |bounds| bounds.servers_max = 2);
    for path in ["a.py", "p/a.py", "a.py", "q/a.py"] {
        hovered(&lsp, path).await.unwrap();
    }
    let states: Vec<_> = lsp.status().into_iter().map(|row| (row.root, row.state)).collect();
    let wanted = [(".", State::Ready), ("p", State::Stopped), ("q", State::Ready)];
    assert_eq!(states, wanted.map(|(root, state)| (root.to_owned(), state)));
    lsp.close().await;
}

#[tokio::test]
async fn servers_of_many_directories_are_forgotten_when_they_do_not_run() {
    let rig = Rig::new();
    let lsp = rig.open(
        "[servers.m]\ncommand = [\"no-such\"]\nlanguages = [\"python\"]\nroot_markers = [\"m\"]\n"
            .into(),
    );
    for n in 0..=LSP_PLACES_MAX {
        rig.file(&format!("d{n}/m"), "");
        rig.file(&format!("d{n}/a.py"), "x\n");
        assert_eq!(hovered(&lsp, &format!("d{n}/a.py")).await.unwrap_err().code, "program_missing");
        assert!(lsp.status().len() <= LSP_PLACES_MAX);
    }
    lsp.close().await;
}

#[tokio::test]
async fn abilities_that_a_server_adds_are_bounded() {
    let rig = rig();
    let mut many: Vec<Value> = (0..LSP_REGISTRATIONS_MAX)
        .map(|n| json!({"id": n.to_string(), "method": format!("m/{n}")}))
        .collect();
    many.push(json!({"id": "last", "method": "workspace/symbol"}));
    let items = vec![json!({"section": "tool.lint"}); LSP_REGISTRATIONS_MAX + 1];
    let on = hover(json!([[
        {"ask": ["client/registerCapability", {"registrations": many}]},
        {"ask": ["workspace/configuration", {"items": items}]},
        {"ask": ["workspace/configuration", {"items": [{"section": "tool.lint"}, {"section": "none"}]}]},
        {"ask": ["window/workDoneProgress/create", {"token": 1}]},
        {"ask": ["workspace/unheard", {}]},
        {"answer": {"contents": "it"}},
    ]]));
    let able = json!({"hoverProvider": true});
    let layer =
        rig.server("one", able, on) + "init = { tool = { lint = { line-length = 100 } } }\n";
    let lsp = rig.open(layer);
    hovered(&lsp, "a.py").await.unwrap();
    assert_eq!(
        refused(&lsp, "lsp_symbols", json!({"query": "x"})).await.code,
        "method_not_supported"
    );
    let answer = |id: &str| {
        let found = rig
            .log("one")
            .into_iter()
            .find(|message| message["id"] == id && message["method"].is_null());
        found.unwrap_or_default()
    };
    until("all was answered", || !answer("s5").is_null()).await;
    assert_eq!(answer("s2")["result"].as_array().unwrap().len(), LSP_REGISTRATIONS_MAX);
    assert_eq!(answer("s3")["result"], json!([{"line-length": 100}, null]));
    assert_eq!(answer("s4")["result"], Value::Null);
    assert_eq!(answer("s5")["error"]["code"], -32601);
    assert_eq!(
        rig.sent("one", "initialize")[0]["initializationOptions"]["tool"]["lint"]["line-length"],
        100
    );
    lsp.close().await;
}

/// Plays a script on one connection of a socket.
fn listen(socket: &Path, script: &Path) -> std::thread::JoinHandle<i32> {
    let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    let script = script.to_owned();
    std::thread::spawn(move || {
        let (line, _) = listener.accept().unwrap();
        Player::new(&script, Box::new(line.try_clone().unwrap())).play(line)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attached_server_is_used_and_let_go_and_never_told_to_end() {
    let rig = rig();
    let script = rig.script("far", able(), hover(json!([it(), [{"exit": 0}]])));
    let socket = rig.dir.path().join("socket");
    let layer = format!(
        "[servers.far]\nattach = \"unix:{}\"\nlanguages = [\"python\"]\n",
        socket.display()
    );
    let mut options = rig.options(layer);
    // No grant to run programs is needed.
    options.exec = None;
    let lsp = Lsp::open(options).unwrap();
    let failure = hovered(&lsp, "a.py").await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("lsp_server_failed", Effect::NotStarted));
    let player = listen(&socket, &script);
    assert_eq!(hovered(&lsp, "a.py").await.unwrap(), "it");
    let status = lsp.status().remove(0);
    assert_eq!((status.state, status.pid), (State::Ready, None));
    assert_eq!(rig.sent("far", "initialize")[0]["processId"], Value::Null);
    // One that goes away changed nothing of ours.
    let failure = hovered(&lsp, "a.py").await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("lsp_server_ended", Effect::NotStarted));
    player.join().unwrap();
    std::fs::remove_file(&socket).unwrap();
    let player = listen(&socket, &script);
    assert_eq!(hovered(&lsp, "a.py").await.unwrap(), "it");
    lsp.close().await;
    player.join().unwrap();
    assert_eq!(rig.sent("far", "shutdown"), Vec::<Value>::new());
    assert_eq!(rig.log("far").last(), Some(&json!({"closed": true})));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_attached_over_loopback() {
    let rig = rig();
    let script = rig.script("far", able(), hover(json!([it()])));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let player = std::thread::spawn(move || {
        let (line, _) = listener.accept().unwrap();
        Player::new(&script, Box::new(line.try_clone().unwrap())).play(line)
    });
    let lsp = rig
        .open(format!("[servers.far]\nattach = \"tcp://{address}\"\nlanguages = [\"python\"]\n"));
    assert_eq!(hovered(&lsp, "a.py").await.unwrap(), "it");
    lsp.close().await;
    player.join().unwrap();
}
