//! What a run logs: its ids on every line, and nothing that anybody said.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;
use vocab::message::{Mode, Part, Role, StopReason};

use super::{rig::*, words};

/// Stands for everything people, models and tools say.
const SAID: &str = "PAYLOAD";

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Drives a run and returns its lines, all of which carry its ids and none of which tells what was said.
async fn logged(rig: &Rig, level: tracing::Level) -> Vec<Value> {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_max_level(level)
        .with_writer(lines.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    rig.drive().await;
    drop(guard);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains(SAID), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert_eq!(line["span"]["session"], rig.start.session.as_str(), "{line}");
        assert_eq!(line["span"]["run"], rig.start.run.id.as_str(), "{line}");
    }
    lines
}

fn short(line: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let span = &line["span"];
    let words = [&line["message"], &span["call"], &span["tool"], &line["effect"], &line["code"]];
    words.map(word).join(" ")
}

#[tokio::test(start_paused = true)]
async fn lines_carry_ids_and_never_a_payload() {
    let messages = vec![message(Role::User, SAID), message(Role::Assistant, "")];
    let start = begin_run(
        vocab::ids::SessionId::generate(),
        messages,
        Mode::Auto,
        /* interactive */ true,
    );
    let input = json!({"path": SAID, "do": format!("says:{SAID}")});
    let rig = Rig::of(
        start,
        [
            turn([
                text(SAID),
                call("c1", "look", input.clone()),
                call("c2", SAID, input),
                stop(StopReason::ToolUse),
            ]),
            calls(&[("c3", "look", "fail")]),
            turn([fail("overloaded", provider::delta::Retry::Backoff)]),
            says(SAID),
        ],
    );
    let lines = logged(&rig, tracing::Level::TRACE).await;
    assert!(rig.pen.transcript().parts().iter().any(|part| {
        matches!(part, Part::Call { state, .. } if format!("{state:?}").contains(SAID))
    }));
    assert_eq!(
        lines.iter().map(short).collect::<Vec<_>>(),
        [
            "a call begins c1 look - -",
            "a call ended c1 look completed ok",
            "a call begins c3 look - -",
            "a call ended c3 look completed broke",
            "trying a model call again - - - -",
        ]
    );
    assert!(lines[1]["duration_ms"].is_u64());
}

#[tokio::test(start_paused = true)]
async fn a_bug_is_logged_without_its_words() {
    let rig = Rig::new([calls(&[("c1", "look", "panic:PAYLOAD")])]);
    let lines = logged(&rig, tracing::Level::ERROR).await;
    assert_eq!(lines.iter().map(short).collect::<Vec<_>>(), ["a run met a bug - - - internal"]);
    assert!(words::state(&rig.pen.transcript().run.state).contains("internal"));
}

#[tokio::test(start_paused = true)]
async fn a_refusing_journal_is_logged_by_its_code() {
    let rig = Rig::new([says("x")]);
    rig.journal.fail_at(1);
    let lines = logged(&rig, tracing::Level::ERROR).await;
    assert_eq!(
        lines.iter().map(short).collect::<Vec<_>>(),
        ["a run stopped - - not_started stale_epoch"]
    );
}
