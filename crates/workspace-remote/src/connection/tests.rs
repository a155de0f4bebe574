//! A connection by hand: messages in, actions out, and what closes it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use vocab::{
    limits::{
        REMOTE_CALLS_ALL_MAX, REMOTE_CALLS_MAX, REMOTE_CHARGE_BYTES_MIN, REMOTE_CONNECTIONS_MAX,
        REMOTE_GATHERED_ALL_BYTES_MAX, REMOTE_GATHERED_BYTES_MAX, REMOTE_NAME_BYTES_MAX,
        REMOTE_PROGRESS_BYTES_MAX, REMOTE_STRIKES_MAX, REMOTE_TOMBSTONE_MS, REMOTE_TOMBSTONES_MAX,
        REMOTE_TRANSFERS_ALL_MAX, REMOTE_TRANSFERS_MAX, REMOTE_WINDOW_BYTES, WRITE_BYTES_MAX,
    },
    outcome::Outcome,
};
use workspace::{fake::Fake, source::ToolSource};

use self::contents::{upload, write_of};
use super::{gate::Places, greeting::Offered, *};
use crate::{codec::piece_frame, offer};

mod bad;
mod contents;
mod greetings;
mod random;

const NOW: Duration = Duration::ZERO;

pub(super) fn message(value: &Value) -> Frame {
    Frame::Text(Bytes::from(value.to_string()))
}

pub(super) fn hello() -> Value {
    json!({
        "type": "hello",
        "protocol": {"major": 1, "minor_min": 0, "minor_max": 9},
        "capabilities": {"required": ["transfer"], "optional": ["resume", "unheard-of"]},
        "client": {"name": "test", "version": "1"},
    })
}

pub(super) fn agreed(value: &Value) -> Result<Agreed, Violation> {
    match greeting::first(&message(value))? {
        greeting::First::Hello(hello) => greeting::agree(&hello, &Offered::default()),
        greeting::First::Resume(_) => panic!("no greeting"),
    }
}

pub(super) fn connection(runtime: &Gate) -> Connection {
    let catalog = Arc::new(offer::body(&Fake::default().catalog()));
    let gates = [Gate::new(Places::of_connection()), runtime.clone()];
    Connection::new(agreed(&hello()).unwrap(), Served { catalog, exec: true }, gates)
}

fn alone() -> Connection {
    connection(&Gate::new(Places::of_runtime()))
}

/// What the connection wants, in short: messages as JSON, everything else by name.
pub(super) fn wanted(connection: &mut Connection) -> Vec<Value> {
    std::iter::from_fn(|| connection.next_action())
        .map(|action| match action {
            Action::Send(Frame::Text(text)) => serde_json::from_slice(&text).unwrap(),
            Action::Send(Frame::Binary(bytes)) => json!({"piece": bytes.len() - 16}),
            Action::Start(id, _) => json!({"start": id}),
            Action::Feed(id, bytes) => json!({"feed": [id, bytes.len()]}),
            Action::Finish(id) => json!({"finish": id}),
            Action::Credit(id) => json!({"credit": id}),
            Action::Cancel(id) => json!({"cancel": id}),
            Action::Close(status) => json!({"close": status.code()}),
        })
        .collect()
}

fn told(connection: &mut Connection, value: &Value) -> Vec<Value> {
    connection.hear(&message(value), NOW);
    wanted(connection)
}

pub(super) fn stat(id: u64) -> Value {
    json!({"type": "stat", "id": id, "workspace": "fake", "path": "a"})
}

pub(super) fn call(id: u64, tool: &str) -> Value {
    let catalog = Fake::default().catalog();
    let hash = catalog.find(tool).map_or_else(String::new, |spec| spec.schema_hash());
    json!({
        "type": "call", "id": id, "call_id": "c", "run": vocab::ids::RunId::generate(), "tool": tool,
        "arguments": {}, "arguments_prepared": true, "expected_generation": 1, "schema_hash": hash,
        "envelope": {"image_resize": true},
    })
}

fn with(mut value: Value, key: &str, to: Value) -> Value {
    value[key] = to;
    value
}

fn failure(connection: &mut Connection, value: &Value, code: &str) {
    let answers = told(connection, value);
    let [answer] = answers.as_slice() else { panic!("{code}: {answers:?}") };
    let found = (&answer["type"], &answer["code"], &answer["effect"], &answer["id"]);
    let effect = json!("not_started");
    assert_eq!(found, (&json!("error"), &json!(code), &effect, &value["id"]));
}

/// Something after which the connection is closed in one way.
fn closes(connection: &mut Connection, frame: &Frame, status: u16) {
    connection.hear(frame, NOW);
    let wants = wanted(connection);
    assert!(wants.contains(&json!({"close": status})), "{frame:?}: {wants:?}");
    assert!(connection.is_closed());
    connection.hear(&message(&stat(999)), NOW);
    assert_eq!(wanted(connection), Vec::<Value>::new(), "nothing is said after the end");
}

fn done(connection: &mut Connection, id: u64) {
    let value = write(&crate::protocol::ValueOf { id, value: () });
    connection.end(id, Ending::Value(value), NOW);
}

#[test]
fn a_request_runs_and_ends_once() {
    let mut one = alone();
    assert_eq!(told(&mut one, &stat(1)), [json!({"start": 1})]);
    assert!(!one.is_idle());
    done(&mut one, 1);
    assert_eq!(wanted(&mut one), [json!({"type": "result", "id": 1, "value": null})]);
    done(&mut one, 1);
    assert_eq!(wanted(&mut one), Vec::<Value>::new(), "a late end is none");
    assert!(one.is_idle());
    assert_eq!(told(&mut one, &json!({"type": "cancel", "id": 1})), Vec::<Value>::new());
}

#[test]
fn an_id_is_used_once() {
    let mut one = alone();
    told(&mut one, &stat(1));
    closes(&mut one, &message(&stat(1)), 1008);
    for ended in [true, false] {
        let mut one = alone();
        if ended {
            told(&mut one, &stat(1));
            done(&mut one, 1);
        } else {
            failure(&mut one, &json!({"type": "format", "id": 1}), "method_not_supported");
        }
        wanted(&mut one);
        closes(&mut one, &message(&call(1, "look")), 1008);
    }
}

#[test]
fn what_is_no_request_closes_the_connection() {
    let text = |text: &'static str| Frame::Text(Bytes::from_static(text.as_bytes()));
    for (frame, status) in [
        (text("{\"type\":\"stat\""), 1002),
        (text("{\"type\":\"stat\",\"id\":1,}"), 1002),
        (text("{\"type\":\"stat\",\"workspace\":\"fake\",\"path\":\"a\"}"), 1002),
        (text("{\"type\":\"stat\",\"id\":0,\"workspace\":\"fake\",\"path\":\"a\"}"), 1002),
        (text("{\"type\":\"format\"}"), 1002),
        (message(&hello()), 1002),
        (Frame::Text(Bytes::from_static(b"{\"type\":\"\xff\"}")), 1007),
        (
            text(
                "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]",
            ),
            1008,
        ),
        (Frame::Binary(Bytes::from_static(b"short")), 1002),
        (piece_frame(77, 0, b"of no request"), 1002),
        (message(&json!({"type": "finish", "id": 77})), 1002),
        (message(&json!({"type": "welcome"})), 1002),
    ] {
        closes(&mut alone(), &frame, status);
    }
}

#[test]
fn three_strikes_close_the_connection() {
    let mut one = alone();
    for id in 1..REMOTE_STRIKES_MAX.into() {
        failure(&mut one, &with(stat(id), "unknown", json!(1)), "invalid_request");
    }
    assert_eq!(told(&mut one, &stat(50)), [json!({"start": 50})]);
    let unprepared = with(call(60, "look"), "arguments_prepared", json!(false));
    let wants = told(&mut one, &unprepared);
    let kinds: Vec<_> = wants.iter().map(|want| want["type"].as_str().unwrap_or("")).collect();
    assert_eq!(kinds, ["error", "closing", "", ""]);
    assert_eq!(wants[2..], [json!({"close": 1008}), json!({"cancel": 50})]);
}

#[test]
fn calls_are_checked_before_they_take_a_place() {
    let mut one = alone();
    failure(&mut one, &with(call(1, "look"), "expected_generation", json!(2)), "stale_generation");
    failure(&mut one, &with(call(2, "look"), "schema_hash", json!("0")), "stale_generation");
    assert!(one.is_idle());
    assert_eq!(told(&mut one, &call(3, "no such tool")), [json!({"start": 3})]);
    let large = json!({"type": "write", "id": 4, "workspace": "fake", "path": "a", "size": WRITE_BYTES_MAX + 1});
    failure(&mut one, &large, "too_large");
    failure(&mut one, &json!({"type": "format", "id": 5, "x": 1}), "method_not_supported");
}

#[test]
fn what_was_not_agreed_on_is_not_supported() {
    let catalog = Arc::new(offer::body(&Fake::default().catalog()));
    let bare = with(hello(), "capabilities", json!({"required": [], "optional": []}));
    let gates = [Gate::new(Places::of_connection()), Gate::new(Places::of_runtime())];
    let served = Served { catalog, exec: false };
    let mut one = Connection::new(agreed(&bare).unwrap(), served, gates);
    let at =
        |kind: &str, id: u64| json!({"type": kind, "id": id, "workspace": "fake", "path": "a"});
    failure(&mut one, &at("download", 1), "method_not_supported");
    let exec = with(with(at("exec", 2), "command", json!("true")), "timeout_ms", json!(1));
    failure(&mut one, &exec, "method_not_supported");
}

#[test]
fn requests_beyond_the_limit_are_refused_before_they_start() {
    let runtime = Gate::new(Places::of_runtime());
    let mut one = connection(&runtime);
    for id in 1..=REMOTE_CALLS_MAX {
        assert_eq!(told(&mut one, &stat(id)).len(), 1);
    }
    failure(&mut one, &stat(900), "busy");
    assert_eq!(runtime.taken(Room::Calls), REMOTE_CALLS_MAX);
    let mut other = connection(&runtime);
    assert_eq!(told(&mut other, &stat(1)), [json!({"start": 1})]);
    done(&mut one, 5);
    wanted(&mut one);
    assert_eq!(told(&mut one, &stat(901)), [json!({"start": 901})]);
    drop(one);
    assert_eq!(runtime.taken(Room::Calls), 1);
}

#[test]
fn the_gate_of_a_runtime_has_the_numbers_of_the_table() {
    let gate = Gate::new(Places::of_runtime());
    for (room, max) in [
        (Room::Connections, REMOTE_CONNECTIONS_MAX),
        (Room::Calls, REMOTE_CALLS_ALL_MAX),
        (Room::Uploads, REMOTE_TRANSFERS_ALL_MAX),
        (Room::Downloads, REMOTE_TRANSFERS_ALL_MAX),
        (Room::Gathered, REMOTE_GATHERED_ALL_BYTES_MAX),
    ] {
        let all = gate.take(room, max);
        assert!(all.is_some() && gate.take(room, 1).is_none(), "{room:?}");
        drop(all);
        assert!(gate.take(room, max + 1).is_none() && gate.taken(room) == 0);
    }
}

#[test]
fn progress_that_finds_no_room_is_told_as_a_gap() {
    let mut one = alone();
    told(&mut one, &call(1, "change"));
    one.progress(1, "abc".into(), Space::Free);
    one.progress(1, "x".repeat(REMOTE_PROGRESS_BYTES_MAX + 1), Space::Free);
    one.progress(1, "lost".into(), Space::Full);
    one.progress(1, "lost too".into(), Space::Full);
    one.progress(1, "d".into(), Space::Free);
    one.progress(1, "gone".into(), Space::Full);
    one.end(1, Ending::Outcome(Box::new(Outcome::text("done"))), NOW);
    one.progress(1, "late".into(), Space::Free);
    let dropped = REMOTE_PROGRESS_BYTES_MAX + 1 + "lost".len() + "lost too".len();
    let wants = wanted(&mut one);
    let shown: Vec<Value> = wants
        .iter()
        .map(|want| json!([want["type"], want["offset"], want["output"], want["bytes"]]))
        .collect();
    assert_eq!(
        shown,
        [
            json!(["progress", 0, "abc", null]),
            json!(["gap", null, null, dropped]),
            json!(["progress", dropped + 3, "d", null]),
            json!(["gap", null, null, 4]),
            json!(["outcome", null, null, null]),
        ]
    );
}

#[test]
fn tombstones_are_bounded_in_number_and_time() {
    let mut tombs = Tombs::default();
    for id in 0..REMOTE_TOMBSTONES_MAX as u64 + 10 {
        tombs.insert(id, NOW);
    }
    assert_eq!(tombs.len(), REMOTE_TOMBSTONES_MAX);
    assert!(!tombs.contains(9) && tombs.contains(10));
    tombs.insert(1 << 40, Duration::from_millis(REMOTE_TOMBSTONE_MS));
    assert!(tombs.contains(10 + 1));
    tombs.insert(1 << 41, Duration::from_millis(REMOTE_TOMBSTONE_MS + 1));
    assert_eq!(tombs.len(), 2);
}

#[test]
fn a_new_generation_is_told_and_ends_what_runs_programs() {
    let mut one = alone();
    told(&mut one, &call(1, "change"));
    let exec = json!({
        "type": "exec", "id": 2, "workspace": "fake", "path": ".", "command": "x", "timeout_ms": 9,
    });
    told(&mut one, &exec);
    let fake = Fake::default();
    fake.publish(fake.catalog().tools().to_vec());
    let catalog = Arc::new(offer::body(&fake.catalog()));
    one.publish(Served { catalog: Arc::clone(&catalog), exec: true }, NOW);
    let hash = &catalog.catalog_hash;
    let changed = json!({"type": "catalog_changed", "generation": 2, "catalog_hash": hash});
    assert_eq!(wanted(&mut one), [changed, json!({"cancel": 2})]);
    one.end(
        2,
        Ending::Failed(Failure::new("aborted", vocab::outcome::Effect::Indeterminate, "x")),
        NOW,
    );
    let wants = wanted(&mut one);
    let found = (&wants[0]["code"], &wants[0]["effect"]);
    assert_eq!(found, (&json!("generation_retired"), &json!("indeterminate")));
    failure(&mut one, &call(3, "look"), "stale_generation");
    let answers = told(&mut one, &json!({"type": "catalog", "id": 4}));
    assert_eq!(answers[0]["catalog"]["generation"], json!(2));
}

#[test]
fn a_draining_connection_refuses_what_is_new_and_ends_what_runs() {
    let mut one = alone();
    told(&mut one, &stat(1));
    told(&mut one, &write_of(2, 9));
    one.drain(NOW);
    let wants = wanted(&mut one);
    assert!(wants.contains(&json!({"cancel": 1})), "{wants:?}");
    assert!(wants.iter().any(|want| want["id"] == 2 && want["code"] == "aborted"), "{wants:?}");
    failure(&mut one, &stat(3), "draining");
    assert!(!one.is_idle());
}

#[test]
fn a_result_that_no_client_can_read_is_said_to_be_too_large() {
    let mut one = alone();
    told(&mut one, &call(1, "change"));
    let text = "x".repeat(vocab::limits::REMOTE_TEXT_BYTES_MAX);
    one.end(1, Ending::Outcome(Box::new(Outcome::text(text.clone()))), NOW);
    let failure = &wanted(&mut one)[0]["outcome"]["failure"];
    assert_eq!(
        (&failure["code"], &failure["effect"]),
        (&json!("result_too_large"), &json!("completed"))
    );
    for (request, effect) in [(stat(2), "not_started"), (write_of(3, 0), "completed")] {
        let id = request["id"].as_u64().unwrap();
        told(&mut one, &request);
        let value = write(&crate::protocol::ValueOf { id, value: &text });
        one.end(id, Ending::Value(value), NOW);
        let answer = &wanted(&mut one)[0];
        assert_eq!(
            (&answer["code"], &answer["effect"]),
            (&json!("result_too_large"), &json!(effect))
        );
    }
}
