//! A short run with two calls against a model that remembers what it was shown, and what must be true
//! after it whatever happened meanwhile.

#![expect(clippy::disallowed_methods, reason = "reads the files of a home")]

use std::fs;

use api::{agent::Done, client::Target, daemon::Registration, routes::Endpoint};
use serde_json::{Value, json};
use testkit::model_server::{ModelServer, Plan};
use vocab::{
    ids::{CallId, RunId, SessionId},
    message::{Message, RunEnd, RunState},
    outcome::Effect,
};

use crate::rig::{Home, Stored, calls, client, outcome, request, run, said};

/// The key that is stored before the run.
const KEY: &str = "key-0123456789";

/// What the model says.
pub(crate) fn plan() -> Plan {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = |tool: &str, input: Value| json!({"type": "call", "tool": tool, "input": input});
    serde_json::from_value(json!({
        "turns": [
            {"blocks": [text("First I write."), call("write", json!({"path": "a.txt", "content": "one\n"}))]},
            {"blocks": [call("bash", json!({"command": "echo ran >> ran.txt; cat a.txt"}))]},
            {"blocks": [text("All is done.")]},
        ],
        "stories": [{"when": "again", "turns": [{"blocks": [text("I am well.")]}]}],
    }))
    .unwrap()
}

/// What the client was told.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    key_stored: bool,
    run: Option<(SessionId, RunId)>,
    outputs: Vec<(CallId, String)>,
    finish: Option<RunState>,
}

impl Heard {
    pub(crate) fn finished(&self) -> bool {
        self.finish == Some(RunState::Ended(RunEnd::Finished))
    }
}

/// Stores a key and lets a run work. Whatever fails fails with a code.
pub(crate) async fn play(home: &Home) -> Heard {
    let mut heard = Heard::default();
    let client = client(home);
    let body = json!({"provider_id": "other", "key": KEY});
    let stored = client.json::<_, Done>(Endpoint::SecretSet, Target::default(), Some(&body)).await;
    heard.key_stored = stored.is_ok();
    let mut stream = match run(&client, &request("go", &home.work())).await {
        Ok(stream) => stream,
        Err(failure) => {
            assert!(!matches!(failure.code.as_str(), "" | "internal"), "{failure:?}");
            return heard;
        }
    };
    heard.run = Some((stream.session.clone(), stream.run.clone()));
    while let Some(chunk) = stream.next().await {
        if chunk["type"] == "tool-output-available" {
            let call = CallId(chunk["toolCallId"].as_str().unwrap_or_default().to_owned());
            let text = chunk["output"]["content"][0]["text"].as_str().unwrap_or_default();
            heard.outputs.push((call, text.to_owned()));
        }
        if chunk["type"] == "finish" {
            heard.finish = serde_json::from_value(chunk["messageMetadata"]["run"].clone()).ok();
        }
    }
    heard
}

/// A home in which something happened, with nobody alive in it.
pub(crate) struct Played {
    pub(crate) home: Home,
    pub(crate) server: ModelServer,
    pub(crate) heard: Heard,
    pub(crate) what: String,
    /// Whether the daemon had the time to clean up.
    pub(crate) clean: bool,
}

impl Played {
    /// Checks the files as they were left, then starts again and checks what is stored.
    pub(crate) async fn check(self) {
        let what = &self.what;
        self.published_files_are_whole();
        let daemon = self.home.serve().unwrap_or_else(|end| panic!("{what}: no start: {end:?}"));
        let mut again = request("again", &self.home.work());
        if let Some((session, _)) = &self.heard.run {
            again.session_id = Some(session.to_string());
            again.cwd = None;
        }
        let shown = self.shown();
        let stream = run(&client(&self.home), &again).await;
        let mut stream = stream.unwrap_or_else(|failure| panic!("{what}: stuck: {failure:?}"));
        assert_eq!(stream.end().await, Some(RunState::Ended(RunEnd::Finished)), "{what}");
        assert!(daemon.terminate().0.success(), "{what}");
        let stored = Stored::of(&self.home);
        let mut all = Vec::new();
        for session in stored.sessions().await {
            let messages = stored.messages(&session).await;
            let questions = said(&messages, "go") + said(&messages, "again");
            assert_eq!(messages.len(), 2 * questions, "{what}: half a turn: {messages:?}");
            assert!(said(&messages, "go") <= 1, "{what}: doubled");
            all.extend(messages);
        }
        self.what_was_told_is_stored(&stored, &all).await;
        stored.close().await;
        for (role, id, text) in shown {
            if role == "user" {
                assert!(said(&all, &text) > 0, "{what}: the model heard {text:?} too early");
            } else {
                self.stored_outcome(&all, &CallId(id), &text);
            }
        }
        self.effects_are_true(&all);
    }

    async fn what_was_told_is_stored(&self, stored: &Stored, all: &[Message]) {
        let what = &self.what;
        let Some((_, run)) = &self.heard.run else { return };
        assert_eq!(said(all, "go"), 1, "{what}: what the user said is lost");
        let state = stored.state(run).await;
        let ended = matches!(state, RunState::Ended(_));
        assert!(
            ended && (!self.heard.finished() || Some(&state) == self.heard.finish.as_ref()),
            "{what}: {state:?}"
        );
        for (call, text) in &self.heard.outputs {
            self.stored_outcome(all, call, text);
        }
    }

    fn stored_outcome(&self, all: &[Message], call: &CallId, text: &str) {
        let what = &self.what;
        let known = calls(all).into_iter().find(|(id, ..)| id == call);
        let Some((.., state)) = known else { panic!("{what}: {call:?} is lost") };
        let kept = outcome(&state).map(|outcome| outcome.plain_text()).unwrap_or_default();
        assert_eq!(kept.trim(), text.trim(), "{what}: another outcome than was told");
    }

    /// Returns what the model was shown: roles, the calls' ids, texts.
    fn shown(&self) -> Vec<(String, String, String)> {
        let mut shown = Vec::new();
        for request in self.server.requests() {
            for message in request.body["messages"].as_array().into_iter().flatten() {
                let role = message["role"].as_str().unwrap_or_default();
                if role != "user" && role != "tool" {
                    continue;
                }
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                for text in texts(&message["content"]) {
                    shown.push((role.to_owned(), id.to_owned(), text));
                }
            }
        }
        shown
    }

    fn published_files_are_whole(&self) {
        let what = &self.what;
        let read = |name: &str| fs::read(self.home.state().join(name)).ok();
        if let Some(bytes) = read("daemon.json") {
            serde_json::from_slice::<Registration>(&bytes)
                .unwrap_or_else(|e| panic!("{what}: {e}"));
        }
        if let Some(bytes) = read("daemon.credential") {
            assert_eq!(bytes.len(), 64, "{what}");
        }
        let key = read("secrets/other");
        assert!(key.as_deref().is_none_or(|key| key == KEY.as_bytes()), "{what}: {key:?}");
        assert!(key.is_some() || !self.heard.key_stored, "{what}: a stored key is gone");
        let written = fs::read_to_string(self.home.work().join("a.txt")).ok();
        assert!(matches!(written.as_deref(), None | Some("one\n")), "{what}: {written:?}");
        if self.clean {
            let names = fs::read_dir(self.home.work()).unwrap().flatten();
            let strange: Vec<_> = names
                .map(|entry| entry.file_name())
                .filter(|name| name != "a.txt" && name != "ran.txt")
                .collect();
            assert!(strange.is_empty(), "{what}: left behind: {strange:?}");
        }
    }

    fn effects_are_true(&self, all: &[Message]) {
        let what = &self.what;
        let there = |name: &str| self.home.work().join(name).exists();
        let mut seen = Vec::new();
        for (_, tool, state) in calls(all) {
            let Some(outcome) = outcome(&state) else { panic!("{what}: {tool} is open") };
            let happened = if tool == "write" { there("a.txt") } else { there("ran.txt") };
            match outcome.effect() {
                // A command that ran may have failed at its own work.
                Effect::Completed => assert!(happened || outcome.is_error(), "{what}: {tool}"),
                Effect::NotStarted => assert!(!happened, "{what}: {tool} happened"),
                Effect::Indeterminate => {}
            }
            assert!(!seen.contains(&tool), "{what}: {tool} is there twice");
            seen.push(tool);
        }
    }
}

fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}
