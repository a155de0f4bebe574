//! A view in tests: rows as the daemon tells them, and a person who presses keys.

use api::job::JobRow;
use serde_json::{Value, json};
use stdx::clock::Timestamp;

use crate::{
    msg::{Command, Key, Link, Loaded, Msg, Size},
    state::{Place, State},
    update,
};

/// The moment of all tests: 2023-11-14T22:13:20Z.
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A session's id, by its last digit.
pub(crate) fn session_id(n: usize) -> String {
    format!("ses_0190aabbccdd7eeff0011223{n:08}")
}

/// Builds a row of a job that works; `change` says what is otherwise.
pub(crate) fn row(id: &str, name: &str, change: &Value) -> JobRow {
    let is_session = id.starts_with("ses_");
    let mut row = json!({
        "id": id, "kind": if is_session { "session" } else { "job" }, "name": name,
        "cwd": "/home/me/src/site", "command": if is_session { json!([]) } else { json!(["claude"]) },
        "state": "working", "status": null, "state_source": "process", "waiting_for": null,
        "pid": 1, "pinned": false, "started_at": "2023-11-14T22:10:00.000Z", "ended_at": null,
        "session": null, "session_file": null, "env_names": [], "exit": null,
    });
    for (name, value) in change.as_object().unwrap() {
        row[name] = value.clone();
    }
    serde_json::from_value(row).unwrap()
}

/// What changes a row of a program that has ended.
pub(crate) fn ended(state: &str, status: &str, at: &str) -> Value {
    json!({"state": state, "status": status, "ended_at": at, "pid": null})
}

/// What changes a row of a session that asks.
pub(crate) fn asks() -> Value {
    json!({"state": "blocked", "status": null, "waiting_for": "an answer", "state_source": "session"})
}

/// Rows of every group.
pub(crate) fn rows() -> Vec<JobRow> {
    vec![
        row(
            "0123abcd",
            "fix the build",
            &json!({"pinned": true, "started_at": "2023-11-14T20:00:00.000Z"}),
        ),
        row(
            "0123abce",
            "漢字の仕事をする長い名前のジョブです",
            &json!({"command": ["/usr/bin/codex", "exec"]}),
        ),
        row(
            "0123abcf",
            "server",
            &json!({
                "command": ["npm"], "cwd": "/srv/a/very/long/path/to/some/deep/project/directory",
                "status": "listening\u{1b}[2J on 3000", "started_at": "2023-11-14T22:12:50.000Z",
            }),
        ),
        row(
            "0123abd0",
            "review",
            &json!({
                "state": "blocked", "waiting_for": "permission", "state_source": "report",
            }),
        ),
        row("0123abd1", "tests", &ended("failed", "exit code 1", "2023-11-14T21:00:00.000Z")),
        row("0123abd2", "old", &ended("stopped", "SIGTERM", "2023-11-12T21:00:00.000Z")),
        row("0123abd3", "migrate", &ended("done", "exit code 0", "2023-11-14T22:00:00.000Z")),
        row(&session_id(1), "why does the 🚀 build fail?", &asks()),
        row(
            &session_id(2),
            "totals",
            &json!({"state": "done", "ended_at": "2023-11-14T22:01:00.000Z", "pid": null}),
        ),
    ]
}

/// Builds a session whose run stands so, with what was said.
pub(crate) fn loaded(id: &str, run: &Value, messages: Value) -> Box<Loaded> {
    let mut detail = json!({
        "id": id, "title": "why does the 🚀 build fail?", "workspace": "w", "cwd": "/home/me/src/site",
        "mode": "ask", "model": "demo/fix", "state": "parked", "messages": 2, "usage": {"input": 7},
        "created_at": "", "updated_at": "", "run": null,
    });
    if !run.is_null() {
        let id = format!("run_{}", "0".repeat(32));
        let message = format!("msg_{}", "0".repeat(32));
        detail["run"] = json!({
            "id": id, "message": message, "model": {"provider": "demo", "model": "fix"},
            "mode": "ask", "interactive": true, "state": run, "started_at": 0,
        });
    }
    Box::new(Loaded {
        detail: serde_json::from_value(detail).unwrap(),
        messages: serde_json::from_value(messages).unwrap(),
    })
}

/// A run that waits for an answer to a command.
pub(crate) fn parked(n: usize, command: &str) -> Value {
    json!({"state": "parked", "blocks": [block(n, command)]})
}

/// A question about a command.
pub(crate) fn block(n: usize, command: &str) -> Value {
    json!({
        "id": format!("blk_{n:032}"), "call": "c1", "tool": "bash", "asked_at": 0,
        "input": {"command": command, "timeout": 5},
    })
}

/// What was said before a question.
pub(crate) fn said() -> Value {
    json!([
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "why does the 🚀 build fail?"}]},
        {"id": "m2", "role": "assistant", "parts": [
            {"type": "step-start"},
            {"type": "text", "text": "I look at the script first, since the build names it in its last line."},
            {"type": "tool-read", "toolCallId": "c0", "input": {"path": "build.sh"}, "state": "output-available",
             "output": {"content": [{"type": "text", "text": "#!/bin/sh\n\u{1b}[31mset -e\u{1b}[0m\nexec \u{7}make\n4\n5\n6\n7\n8\n9\n10"}]}},
            {"type": "tool-bash", "toolCallId": "c1", "input": {"command": "make -n"}, "state": "approval-requested"},
        ]},
    ])
}

/// A view, and what it wanted done since that was last asked.
pub(crate) struct Play {
    pub(crate) state: State,
    commands: Vec<Command>,
}

impl Play {
    /// Opens a view that is connected and shows some rows.
    pub(crate) fn of(rows: Vec<JobRow>, (columns, lines): (usize, usize)) -> Self {
        let place = Place {
            cwd: "/home/me/src".to_owned(),
            home: Some("/home/me".to_owned()),
            is_alone: false,
        };
        let state = State::new(place, Size { columns, lines }, NOW);
        let mut play = Self { state, commands: Vec::new() };
        play.tell(Msg::Link(Link::Live));
        play.tell(Msg::Rows(Ok(rows)));
        play.commands();
        play
    }

    pub(crate) fn tell(&mut self, msg: Msg) -> &mut Self {
        let state = std::mem::replace(&mut self.state, State::nothing());
        let (state, commands) = update::update(state, msg);
        self.state = state;
        self.commands.extend(commands);
        self
    }

    pub(crate) fn key(&mut self, key: Key) -> &mut Self {
        self.tell(Msg::Key(key))
    }

    /// Presses the keys of a text.
    pub(crate) fn keys(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.key(if c == '\n' { Key::Enter } else { Key::Char(c) });
        }
        self
    }

    /// Returns what was wanted since this was last asked.
    pub(crate) fn commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// Selects the row that has this id.
    pub(crate) fn select(&mut self, id: &str) -> &mut Self {
        self.key(Key::Home);
        while self.state.list.selected().unwrap().id != id {
            self.key(Key::Down);
        }
        self.commands();
        self
    }

    /// Returns what is said at the bottom.
    pub(crate) fn notice(&self) -> &str {
        self.state.notice.as_ref().map_or("", |notice| &notice.text)
    }
}
