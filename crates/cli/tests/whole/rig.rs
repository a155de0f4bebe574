//! What the tests share: a typed client of a daemon, a run's stream frame by frame, and what the
//! database holds once the daemon has ended.

#![expect(clippy::disallowed_methods, reason = "reads the environment of the test")]

use std::{collections::VecDeque, io, path::Path, time::Duration};

use api::{
    agent::{RunMessage, RunRequest},
    client::{Address, Client, Target},
    routes::Endpoint,
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, combinators::BoxBody};
use serde_json::{Value, json};
use stdx::clock::Clock;
use store::{Options, Store};
pub(crate) use testkit::home::{Home, Serving, WITHIN};
use vocab::{
    ids::{CallId, RunId, SessionId},
    message::{CallState, Message, Mode, Part, Role, RunState},
    outcome::{Failure, Outcome},
};

/// Makes a home for the program under test.
pub(crate) fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_stead"))
}

/// Makes a home whose model writes, edits and runs a program, says a word between, and answers
/// `again` with a word.
pub(crate) fn working_home(pause_ms: u64) -> Home {
    let home = home();
    home.play(&script(pause_ms).to_string());
    home
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn call(tool: &str, input: Value) -> Value {
    json!({"type": "call", "tool": tool, "input": input})
}

fn script(pause_ms: u64) -> Value {
    json!({
        "pace": {"piece_chars": 8, "pause_ms": pause_ms},
        "turns": [
            {"blocks": [text("First I write."), call("write", json!({"path": "a.txt", "content": "one\n"}))]},
            {"blocks": [call("edit", json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}))]},
            {"blocks": [call("bash", json!({"command": "echo ran >> ran.txt; cat a.txt"}))]},
            {"blocks": [text("All is done.")]},
        ],
        "stories": [
            {"when": "(?m)^again", "turns": [{"blocks": [text("I am well.")]}]},
            {"when": "(?m)^stay", "turns": [{"blocks": [call("bash", json!({
                "command": "sleep 1000 & setsid sleep 1000 & (setsid -f sleep 1000) ; echo up; wait"}))]}]},
            {"when": "(?m)^defy", "turns": [{"blocks": [call("bash", json!({
                "command": "trap '' TERM HUP; echo up; while :; do sleep 1000; done"}))]}]},
            {"when": "(?m)^wipe", "turns": [
                {"blocks": [call("bash", json!({"command": "rm -rf \"$PWD\""}))]},
                {"blocks": [call("write", json!({"path": "late.txt", "content": "late\n"}))]},
                {"blocks": [text("It is gone.")]}]},
        ],
    })
}

/// Returns a client at the home's socket.
pub(crate) fn client(home: &Home) -> Client {
    Client::new(Address::Socket(home.runtime().join("daemon.sock")))
}

/// Ends a test whose event does not come.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(WITHIN, future).await.unwrap_or_else(|_| panic!("{what} takes for ever"))
}

/// A run as one client hears it.
pub(crate) struct Stream {
    pub(crate) session: SessionId,
    pub(crate) run: RunId,
    frames: Frames,
}

/// What a request asks for.
pub(crate) fn request(words: &str, cwd: &Path) -> RunRequest {
    let content = Some(words.to_owned());
    RunRequest {
        messages: vec![RunMessage { id: None, role: Role::User, content, parts: None }],
        cwd: Some(cwd.display().to_string()),
        mode: Some(Mode::Auto),
        interactive: Some(true),
        ..RunRequest::default()
    }
}

/// Starts a run and listens to it.
pub(crate) async fn run(client: &Client, request: &RunRequest) -> Result<Stream, Failure> {
    let answer = client.events(Endpoint::AgentRun, Target::default(), Some(request), None).await?;
    let mut frames = Frames::of(answer.into_body().map_err(io::Error::other).boxed());
    let Some(first) = within("the first frame", frames.next()).await else {
        return Err(Failure::not_started("cut", "the stream ended at once"));
    };
    let id = |name: &str| first[name].as_str().unwrap_or_default().to_owned();
    let (session, run) = (id("session_id").parse().unwrap(), id("run_id").parse().unwrap());
    Ok(Stream { session, run, frames })
}

impl Stream {
    /// Waits for the next chunk; none when the stream ended or broke.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        within("the next frame", self.frames.next()).await
    }

    /// Waits for a chunk of that type.
    pub(crate) async fn until(&mut self, kind: &str) -> Option<Value> {
        loop {
            let chunk = self.next().await?;
            if chunk["type"] == kind {
                return Some(chunk);
            }
        }
    }

    /// Listens to the end; returns how the run ended, if that was told.
    pub(crate) async fn end(&mut self) -> Option<RunState> {
        let finish = self.until("finish").await?;
        serde_json::from_value(finish["messageMetadata"]["run"].clone()).ok()
    }
}

/// The data of server-sent events.
pub(crate) struct Frames {
    body: BoxBody<Bytes, io::Error>,
    buffer: String,
    ready: VecDeque<Value>,
}

impl Frames {
    pub(crate) fn of(body: BoxBody<Bytes, io::Error>) -> Self {
        Self { body, buffer: String::new(), ready: VecDeque::new() }
    }

    /// Waits for the next frame with JSON in it.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(value) = self.ready.pop_front() {
                return Some(value);
            }
            let frame = self.body.frame().await?.ok()?;
            self.buffer.push_str(&String::from_utf8_lossy(frame.data_ref()?));
            while let Some(at) = self.buffer.find("\n\n") {
                let event: String = self.buffer.drain(..at + 2).collect();
                let data = event.lines().filter_map(|line| line.strip_prefix("data: "));
                self.ready.extend(data.filter_map(|data| serde_json::from_str(data).ok()));
            }
        }
    }
}

/// Listens to all facts from now on.
pub(crate) async fn facts(client: &Client) -> Frames {
    let answer =
        client.events::<()>(Endpoint::Events, Target::default(), None, None).await.unwrap();
    Frames::of(answer.into_body().map_err(io::Error::other).boxed())
}

/// The database of a home whose daemon has ended.
pub(crate) struct Stored(Store);

impl Stored {
    pub(crate) fn of(home: &Home) -> Self {
        let options = Options::new(home.state().join("stead.db"), Clock::system());
        let (store, opening) = Store::open(&options).unwrap();
        assert_eq!(opening.set_aside, None);
        Self(store)
    }

    pub(crate) async fn messages(&self, session: &SessionId) -> Vec<Message> {
        self.0.transcript(session).await.unwrap().messages
    }

    pub(crate) async fn state(&self, run: &RunId) -> RunState {
        self.0.run(run).await.unwrap().run.state
    }

    /// Returns what was told of a job, in its order.
    pub(crate) async fn job_facts(&self, job: &str) -> Vec<String> {
        let events = self.0.facts_after(None, 1_000).await.unwrap();
        let of_job = events.iter().filter(|event| event.body["job"] == job);
        of_job.map(|event| event.body["kind"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Counts the runs that have not ended.
    pub(crate) async fn live_runs(&self) -> usize {
        self.0.live_runs().await.unwrap().len()
    }

    /// Returns every session there is.
    pub(crate) async fn sessions(&self) -> Vec<SessionId> {
        let page = self.0.sessions(store::rows::Filter::default()).await.unwrap();
        page.sessions.into_iter().map(|row| row.id).collect()
    }

    pub(crate) async fn close(self) {
        self.0.close().await.unwrap();
    }
}

/// Counts what a user said in these words.
pub(crate) fn said(messages: &[Message], words: &str) -> usize {
    let users = messages.iter().filter(|message| message.role == Role::User);
    users.filter(|message| message.plain_text() == words).count()
}

/// Returns the calls of messages with where they stand.
pub(crate) fn calls(messages: &[Message]) -> Vec<(CallId, String, CallState)> {
    let mut calls = Vec::new();
    for part in messages.iter().flat_map(|message| &message.parts) {
        if let Part::Call { call, tool, state, .. } = part {
            calls.push((call.clone(), tool.clone(), state.clone()));
        }
    }
    calls
}

/// Returns the outcome of a call that ended.
pub(crate) fn outcome(state: &CallState) -> Option<&Outcome> {
    if let CallState::Ended { outcome, .. } = state { Some(outcome) } else { None }
}

/// Says that a test cannot be run here; where all must run it fails instead.
pub(crate) fn cannot(what: &str) {
    assert!(std::env::var_os("STEAD_TEST_REQUIRE").is_none(), "cannot be run here: {what}");
    eprintln!("not run: {what}");
}

/// Returns the value of a number in the environment.
pub(crate) fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// Bounds a wait for what must have happened already.
pub(crate) const SOON: Duration = Duration::from_secs(10);
