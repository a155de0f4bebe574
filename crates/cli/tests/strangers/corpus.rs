//! Every chunk that a run can tell, read by the AI SDK: its schema takes each one, and its reducer makes
//! of each stream the message that is stored.
//!
//! What is compared is id, role and parts. Metadata is not: a stream tells the run's end, a stored
//! message when it was stored. Calls that are approved and have not ended are left out, since the answer
//! is told with the outcome.

#![expect(clippy::disallowed_methods, reason = "hands the corpus to the SDK in a file")]

use std::fmt::Write as _;

use serde_json::{Value, json};
use testkit::reduce::{Events, Reduced, canonical};
use vocab::{
    ids::{BlockId, CallId, MessageId, RunId, SessionId},
    live::{Chunk, Log, Piece, Position, Told},
    message::{
        Block, CallState, Message, ModelRef, Part, Role, RunEnd, RunState, StopReason, Usage,
    },
    outcome::{Content, Effect, Failure, Outcome},
};

use crate::{dice::Dice, node::Node};

/// A stored message and where its run stands.
struct Case {
    name: String,
    message: Message,
    state: RunState,
}

fn step() -> Part {
    let usage = Some(Usage { input: 10, output: 3, ..Usage::default() });
    Part::Step {
        model: ModelRef { provider: "local".into(), model: "a/b".into() },
        usage,
        stop: Some(StopReason::ToolUse),
    }
}

fn text(text: &str, done: bool) -> Part {
    Part::Text { text: text.into(), done }
}

fn thought(text: &str, redacted: bool) -> Part {
    Part::Reasoning { text: text.into(), signature: Some("c2ln".into()), redacted, done: true }
}

fn call(id: &str, tool: &str, input: Value, state: CallState) -> Part {
    Part::Call { call: CallId(id.into()), tool: tool.into(), input, block: None, state }
}

fn asked(part: Part, id: &BlockId) -> Part {
    let Part::Call { call, tool, input, state, .. } = part else { return part };
    Part::Call { call, tool, input, block: Some(id.clone()), state }
}

fn ended(outcome: Outcome, ordinal: u32) -> CallState {
    CallState::Ended { outcome, ordinal }
}

fn failed(code: &str, effect: Effect) -> Outcome {
    let failure = Failure::new(code, effect, "it did not work: \u{2028}\"ü\"\n\tsecond line");
    Outcome::failed(failure.with_hint("try another way")).with_details(json!({"exit": 3}))
}

fn picture() -> Outcome {
    let image = Content::Image { media_type: "image/png".into(), data: "aGk=".into() };
    Outcome { content: vec![Content::text("seen 🦀"), image], details: None, failure: None }
}

/// Parts with everything that a finished message can hold; outcomes came in another order than calls.
fn everything() -> Vec<Part> {
    let (yes, no) = (BlockId::generate(), BlockId::generate());
    let ok = Outcome::text("ok").with_details(json!({"lines": [1, 2, {"deep": null}]}));
    vec![
        step(),
        thought("Wo bin ich? 🦀", false),
        thought("", true),
        text("I look.\n\n```rust\nfn main() {}\n```", true),
        call(
            "a",
            "read",
            json!({"path": "ä.txt"}),
            ended(failed("not_found", Effect::NotStarted), 3),
        ),
        call(
            "b",
            "bash",
            json!("{\"command\": broken"),
            ended(failed("bad_arguments", Effect::NotStarted), 0),
        ),
        asked(call("c", "bash", json!({"command": "make"}), ended(ok, 2)), &yes),
        asked(call("d", "bash", json!({}), ended(failed("denied", Effect::NotStarted), 1)), &no),
        Part::Note { kind: "retry".into(), text: "the model was busy".into() },
        step(),
        text("", true),
        call("e", "read", json!({"path": "p.png"}), ended(picture(), 4)),
        Part::Steer { message: MessageId::generate() },
        Part::Steer { message: MessageId::generate() },
        step(),
        asked(
            call(
                "f",
                "bash",
                json!({"command": "x"}),
                ended(failed("exit_status", Effect::Completed), 5),
            ),
            &BlockId::generate(),
        ),
        step(),
        text("Done.", true),
        Part::Note { kind: "left_running".into(), text: "ended with the run: a server".into() },
    ]
}

fn blocked() -> (Vec<Part>, RunState) {
    let id = BlockId::generate();
    let parts = vec![
        step(),
        text("I ask.", true),
        asked(call("a", "bash", json!({"command": "make"}), CallState::Blocked), &id),
        call("b", "read", json!({"path": "x"}), ended(Outcome::text("x"), 0)),
    ];
    let block = Block {
        id,
        call: CallId("a".into()),
        tool: "bash".into(),
        input: json!({"command": "make"}),
        asked_at: 1,
        deadline_at: None,
        answer: None,
    };
    (parts, RunState::Parked { blocks: vec![block] })
}

fn cases() -> Vec<Case> {
    let failure = Failure::new("overloaded", Effect::NotStarted, "the vendor is busy");
    let ends = [
        ("finished", RunEnd::Finished),
        ("aborted", RunEnd::Aborted),
        ("failed", RunEnd::Failed { failure }),
        ("interrupted", RunEnd::Interrupted),
        ("step limit", RunEnd::StepLimit { steps_max: 4 }),
    ];
    let mut cases: Vec<(String, Vec<Part>, RunState)> = ends
        .into_iter()
        .map(|(name, end)| (name.to_owned(), everything(), RunState::Ended(end)))
        .collect();
    let (parts, parked) = blocked();
    cases.push(("parked".into(), parts.clone(), parked));
    cases.push(("running".into(), parts, RunState::Running));
    let open = vec![step(), thought("hm", false), text("I am just say", false)];
    cases.push(("speaking".into(), open, RunState::Running));
    let called = vec![step(), call("a", "bash", json!({"command": "make"}), CallState::Started)];
    cases.push(("calling".into(), called, RunState::Running));
    cases.push(("nothing".into(), Vec::new(), RunState::Ended(RunEnd::Aborted)));
    let unanswered = vec![
        step(),
        asked(
            call("a", "bash", json!({}), ended(failed("unanswered", Effect::NotStarted), 0)),
            &BlockId::generate(),
        ),
    ];
    cases.push(("unanswered".into(), unanswered, RunState::Ended(RunEnd::Aborted)));
    let of = |(name, parts, state): (String, Vec<Part>, RunState)| {
        let (id, run) = (MessageId::generate(), Some(RunId::generate()));
        let message = Message { id, role: Role::Assistant, run, parts, created_at: 1_000 };
        Case { name, message, state }
    };
    cases.into_iter().map(of).collect()
}

/// The frames of a live run: the same log, its texts in small pieces, with pulses between.
fn live_pieces(log: &Log, dice: &mut Dice) -> Vec<Piece> {
    let (mut live, mut pieces) = (Log::default(), Vec::new());
    for entry in log.entries() {
        pieces.push(live.push(entry.chunk.clone()));
        let raw = if matches!(entry.chunk, Chunk::InputStart { .. }) {
            "{\"command\":\"cargo täst\"}"
        } else {
            entry.text.as_str()
        };
        let mut rest: Vec<char> = raw.chars().collect();
        while !rest.is_empty() {
            let more: String = rest.drain(..=dice.below(rest.len().min(5))).collect();
            pieces.extend(live.push_text(&more));
        }
    }
    pieces
}

fn wire(run: &RunId, pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        out.push_str(&api::stream::frames(run, piece));
        if let Told::Chunk(Chunk::InputDone { call, .. }) = &piece.told {
            out.push_str(&api::stream::progress_frame(&call.0, "line ü\n", false));
            out.push_str(":\n\n");
        }
    }
    out
}

/// What a reader at a position is told, each text in one piece.
fn since(log: &Log, mut at: Position) -> Vec<Piece> {
    let next = || {
        let piece = log.next(at, usize::MAX)?;
        at = piece.after;
        Some(piece)
    };
    std::iter::from_fn(next).collect()
}

/// The stream of a reader that was cut once and came back at its position in what is stored.
fn resumed(run: &RunId, log: &Log, live: &str, cut: usize) -> String {
    let mut reduced = Reduced::default();
    let mut read = Events::default();
    let mut told = String::new();
    for event in read.feed(&live.as_bytes()[..cut]) {
        reduced.event(&event).unwrap();
        write!(told, "data: {}\n\n", event.data).unwrap();
    }
    let last = reduced.last_id.as_deref().and_then(api::stream::parse_event_id);
    let at = last.map_or(Position::default(), |(_, at)| at);
    if !log.holds(at) || at == Position::default() {
        told.clear();
    }
    told + &wire(run, &since(log, at))
}

fn without_metadata(mut message: Value) -> Value {
    if let Value::Object(fields) = &mut message {
        fields.remove("metadata");
    }
    message
}

fn reduce(stream: &str) -> String {
    let mut reduced = Reduced::default();
    for event in Events::default().feed(stream.as_bytes()) {
        reduced.event(&event).unwrap();
    }
    reduced.canonical()
}

#[test]
fn stranger_the_sdk_reduces_every_stream_to_the_stored_message() {
    let mut dice = Dice::new();
    let session = SessionId::generate();
    let (mut corpus, mut stored) = (Vec::new(), Vec::new());
    for case in cases() {
        let run = case.message.run.clone().unwrap();
        let log = Log::of_message(&session, &run, &case.message, &case.state);
        let message = api::ui::message(&case.message);
        let live = wire(&run, &live_pieces(&log, &mut dice));
        let mut streams =
            vec![("stored", wire(&run, &since(&log, Position::default()))), ("live", live.clone())];
        streams.extend(
            (0..20).map(|_| ("resumed", resumed(&run, &log, &live, dice.below(live.len())))),
        );
        let expected = canonical(&without_metadata(message.clone()));
        for (how, stream) in streams {
            let name = format!("{}, {how}", case.name);
            assert_eq!(reduce(&stream), expected, "{name}, our reader");
            corpus.push(json!({"name": name, "stream": stream, "stored": message}));
            stored.push((expected.clone(), case.state.clone()));
        }
    }
    let Some(node) = Node::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("corpus.json");
    std::fs::write(&path, Value::from(corpus).to_string()).unwrap();
    let told = node.run(include_str!("chunks.mjs"), &[path.to_str().unwrap()]);
    let told = told.as_array().unwrap();
    assert_eq!(told.len(), stored.len());
    for (told, (expected, state)) in told.iter().zip(stored) {
        let name = &told["name"];
        assert_eq!(told["refused"], Value::Null, "{name}");
        assert_eq!(told["invalid"], Value::Null, "{name}");
        let errors = told["errors"].as_array().unwrap().len();
        let broken = matches!(state, RunState::Ended(RunEnd::Failed { .. } | RunEnd::Interrupted));
        // A reader that was cut between the error and the finish hears both once more.
        let most = usize::from(broken) * 2;
        assert!((usize::from(broken)..=most).contains(&errors), "{name}: {}", told["errors"]);
        assert_eq!(canonical(&without_metadata(told["message"].clone())), expected, "{name}");
    }
}
