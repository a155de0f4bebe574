//! The control protocol over real jobs and runs, in the spellings that its first clients used.

use super::*;
use crate::testing::Lines;

impl Stage {
    async fn lines(&self) -> Lines {
        Lines::of(self.house.socket()).await
    }
}

/// Hears lines until one is what is waited for, and returns it.
async fn until(lines: &mut Lines, mut is_it: impl FnMut(&Value) -> bool) -> Value {
    loop {
        let told = lines.hear().await.expect("a line");
        if is_it(&told) {
            return told;
        }
    }
}

fn wish(script: &str) -> Value {
    json!({
        "cwd": "/", "command": ["sh", "-c", script],
        "env": {"PATH": "/usr/local/bin:/usr/bin:/bin"}, "name": "told", "origin": "bg",
        "model": "m", "thinking": "high",
    })
}

#[tokio::test]
async fn jobs_are_driven_by_lines_as_their_first_clients_did() {
    let stage = Stage::new().await;
    let mut lines = stage.lines().await;
    let told = lines.ask("ping", json!({})).await;
    assert_eq!((&told["ok"], &told["result"]["protocol"]), (&json!(true), &json!(PROTOCOL)));
    let file = stage.work.join("session.jsonl");
    let mut body = wish("read x; exit 3");
    body["sessionFile"] = json!(file);
    let job = lines.ask("dispatch", body).await["result"].clone();
    assert_eq!((&job["name"], &job["state"]), (&json!("told"), &json!("working")));
    assert_eq!(job["session_file"], json!(file));
    let id = job["id"].as_str().unwrap();
    let rows = lines.ask("list", json!({"all": true, "cwd": "/"})).await["result"].clone();
    assert_eq!(rows[0]["id"], *id);
    assert_eq!(lines.ask("list", json!({"cwd": "/else"})).await["result"], json!([]));
    assert_eq!(lines.ask("resolve", json!({"query": "tol"})).await["result"]["id"], *id);
    // Noted, and told to nobody.
    let files = pty::job::JobFiles::new(
        &stage.services.daemon.paths.home,
        &stage.services.daemon.paths.runtime,
        &id.parse().unwrap(),
    );
    let asked = files.read().unwrap().asked;
    assert_eq!((asked.model.as_deref(), asked.thinking.as_deref()), (Some("m"), Some("high")));
    assert!(!asked.by_agent);
    assert_eq!(lines.ask("send", json!({"id": "told", "text": "x\r"})).await["ok"], true);
    let ended = async {
        loop {
            let told = lines.ask("show", json!({"job": id})).await;
            if told["result"]["ended_at"].is_string() {
                return told["result"].clone();
            }
        }
    };
    assert_eq!(ended.await["exit"]["code"], 3);
    let again = lines.ask("respawn", json!({"id": id})).await["result"].clone();
    assert_eq!(again["state"], "working");
    assert_eq!(lines.ask("stop", json!({"id": id})).await["result"]["state"], "stopped");
    assert_eq!(lines.ask("rm", json!({"id": id})).await["result"]["ok"], true);
    let gone = lines.ask("stop", json!({"id": id})).await;
    assert_eq!((&gone["ok"], &gone["error"]["code"]), (&json!(false), &json!("job_not_found")));
    let twins = [wish("sleep 1000"), wish("sleep 1000")];
    for twin in twins {
        assert_eq!(lines.ask("dispatch", twin).await["ok"], true);
    }
    let told = lines.ask("resolve", json!({"query": "tol"})).await;
    assert_eq!(told["error"]["code"], "ambiguous");
    assert_eq!(told["error"]["candidates"].as_array().unwrap().len(), 2);
    assert_eq!(lines.ask("status", json!({})).await["result"]["jobs"]["live"], 2);
    let told = lines.ask("dispatch", json!({"command": ["true"], "cwd": "/", "x": 1})).await;
    assert_eq!(
        (&told["error"]["code"], &told["error"]["field"]),
        (&json!("unknown_field"), &json!("x"))
    );
    let told = lines.ask("list", json!({"x": 1})).await;
    assert_eq!(told["error"]["code"], "invalid_query");
    let told = lines.ask("shutdown", json!({"keepWorkers": true})).await;
    assert_eq!(told["result"], json!({"ok": true}));
    assert_eq!(stage.services.daemon.jobs.counts().await, (2, 2));
    assert!(stage.services.stop.is_cancelled());
    assert_eq!(lines.ask("shutdown", json!({})).await["ok"], true);
    assert_eq!(stage.services.daemon.jobs.counts().await, (2, 0));
}

#[tokio::test]
async fn who_subscribes_is_told_each_fact_with_the_job_as_it_is_now() {
    let stage = Stage::new().await;
    let (mut told, mut lines) = (stage.lines().await, stage.lines().await);
    told.say("s", "subscribe", json!({})).await;
    let first = told.hear().await.unwrap();
    assert_eq!((&first["event"], &first["data"]), (&json!("stead-cursor"), &json!(null)));
    let begin = first["cursor"].as_str().unwrap().to_owned();
    let id = lines.ask("dispatch", wish("sleep 1000")).await["result"]["id"].clone();
    let id = id.as_str().unwrap();
    let is = |kind: &'static str| move |line: &Value| line["data"]["body"]["kind"] == kind;
    let started = until(&mut told, is("job_started")).await;
    assert_eq!((&started["id"], &started["event"]), (&json!("s"), &json!("stead-fact")));
    assert_eq!((&started["job"]["id"], &started["job"]["name"]), (&json!(id), &json!("told")));
    assert_eq!(started["cursor"], started["data"]["cursor"]);
    lines.ask("stop", json!({"id": id})).await;
    assert_eq!(until(&mut told, is("job_ended")).await["job"]["state"], "stopped");
    lines.ask("rm", json!({"id": id})).await;
    let removed = until(&mut told, is("job_removed")).await;
    assert_eq!(removed["job"], json!(null));
    // A fact about a session has none.
    lines.ask("session_create", json!({"cwd": "/"})).await;
    let created = until(&mut told, is("session_created")).await;
    assert!(created.get("job").is_none(), "{created}");
    // From a cursor on everything is told again, as it is now: the job is gone.
    let mut again = stage.lines().await;
    again.say(1, "subscribe", json!({"after": begin})).await;
    let started = until(&mut again, is("job_started")).await;
    assert_eq!(started["job"], json!(null));
    again.say(2, "subscribe", json!({"after": "00000000.1"})).await;
    let gone = until(&mut again, |line| line["id"] == 2).await;
    assert_eq!(gone["error"]["code"], "cursor_expired");
    // Subscriptions end with the doors.
    let Stage { house, .. } = stage;
    let ending = async {
        let end = until(&mut told, |line| line.get("ok").is_some()).await;
        assert_eq!(end, json!({"id": "s", "ok": true, "result": null}));
        drop((again, lines));
    };
    let drain = house.server.drain(std::time::Duration::from_secs(3_600));
    assert_eq!(tokio::join!(drain, ending).0, 0);
}

#[tokio::test]
async fn a_run_is_told_in_lines_and_can_be_read_again_from_anywhere() {
    let stage = Stage::new().await;
    let mut lines = stage.lines().await;
    let hi = json!([{"role": "user", "content": "hi"}]);
    lines.say("r", "run", json!({"messages": hi, "cwd": stage.work})).await;
    let first = lines.hear().await.unwrap();
    assert_eq!(first["event"], "stead-session");
    let session = first["data"]["session_id"].as_str().unwrap().to_owned();
    let (mut all, mut cursors) = (Vec::new(), Vec::new());
    loop {
        let told = lines.hear().await.unwrap();
        if told.get("ok").is_some() {
            assert_eq!(told, json!({"id": "r", "ok": true, "result": null}));
            break;
        }
        all.push(told["data"]["delta"].as_str().unwrap_or_default().to_owned());
        cursors.push(told["cursor"].as_str().map(str::to_owned));
    }
    let words = "Hello there, this is an answer of some length.";
    assert_eq!(all.concat(), words);
    for (idx, cursor) in cursors.iter().enumerate() {
        let Some(cursor) = cursor else { continue };
        let mut said = all[..=idx].concat();
        lines.say(idx, "stream", json!({"session": session, "after": cursor})).await;
        until(&mut lines, |told| {
            said += told["data"]["delta"].as_str().unwrap_or_default();
            told.get("ok").is_some()
        })
        .await;
        assert_eq!(said, words, "{cursor}");
    }
    let told = lines.ask("stream", json!({"id": session})).await;
    assert_eq!(told["error"]["code"], "no_live_run");
    let told = lines.ask("chat_stream", json!({"id": session})).await;
    assert_eq!((&told["ok"], &told["result"]), (&json!(true), &json!(null)));
    let told = lines.ask("session_messages", json!({"id": session})).await;
    assert_eq!(told["result"][0]["role"], "user");
}
