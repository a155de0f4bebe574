//! Runs that wait for a person, and runs whose daemon died: readers that were there before have the
//! same message afterwards.

use api::{
    agent::{AbortRequest, AnswerRequest, Done},
    client::{Client, Target},
    routes::Endpoint,
    session::SessionDetail,
};
use serde_json::{Value, json};
use testkit::{model_server::Plan, reduce::Reduced};
use vocab::message::{Mode, RunState};

use crate::{
    dice::Dice,
    positions::{Recording, come_back, plan as long_plan},
    reading::{DIALECTS, Gate, Place, Stream, start, start_in, stored, within},
};

/// What a person does with the two questions.
#[derive(Debug, Clone, Copy)]
enum Does {
    Approves,
    Denies,
    Mixes,
    Aborts,
}

fn plan() -> Plan {
    let bash =
        |command: &str| json!({"type": "call", "tool": "bash", "input": {"command": command}});
    let text = |text: &str| json!({"type": "text", "text": text});
    serde_json::from_value(json!({"turns": [
        {"blocks": [text("I ask twice."), bash("echo one"), {"type": "call", "tool": "ls"}, bash("echo two")]},
        {"blocks": [text("And done.")]},
    ]}))
    .unwrap()
}

async fn act(client: &Client, session: &str, does: Does) {
    if matches!(does, Does::Aborts) {
        let body = AbortRequest { session_id: session.to_owned() };
        let target = Target::default();
        client.json::<_, Done>(Endpoint::AgentAbort, target, Some(&body)).await.unwrap();
        return;
    }
    let target = Target::of(session);
    let shown =
        client.json::<(), SessionDetail>(Endpoint::SessionShow, target, None).await.unwrap();
    let RunState::Parked { blocks } = shown.run.unwrap().state else { panic!("it waits") };
    assert_eq!(blocks.len(), 2);
    // The later question first: the order of answers is nobody's business.
    for (nth, block) in blocks.iter().rev().enumerate() {
        let body = AnswerRequest {
            session_id: session.to_owned(),
            block_id: block.id.to_string(),
            approved: matches!((does, nth), (Does::Approves, _) | (Does::Mixes, 0)),
            reason: None,
            keys: std::collections::BTreeMap::new(),
        };
        let target = Target::default();
        client.json::<_, Value>(Endpoint::AgentAnswer, target, Some(&body)).await.unwrap();
    }
}

/// Reads a parked run to where it waits, lets the person act, and comes back.
async fn check(place: &Place, dialect: &str, does: Does) {
    let client = place.client();
    let session = start_in(place, dialect, "ask me", Mode::AcceptEdits).await;
    let waiting = Stream::open(&client, &session, None).await.finish(Reduced::default()).await;
    assert_eq!(waiting.finish.as_deref(), Some("tool-calls"), "{does:?}");
    assert_eq!(waiting.canonical(), stored(&client, &session).await, "{does:?}: while it waits");
    let at = waiting.last_id.clone();
    let again = Stream::open(&client, &session, at.as_deref()).await.finish(waiting.clone()).await;
    assert_eq!(
        (again.canonical(), again.starts),
        (waiting.canonical(), 1),
        "{does:?}: nothing new"
    );
    act(&client, &session, does).await;
    let known = Stream::open(&client, &session, at.as_deref()).await.finish(waiting).await;
    assert_eq!(known.starts, 1, "{does:?}: told where it stood");
    assert_eq!(known.canonical(), stored(&client, &session).await, "{does:?}: {at:?}");
    let refused = known.parts.iter().filter(|part| part["state"] == "output-denied").count();
    let expected = match does {
        Does::Approves => 0,
        Does::Mixes => 1,
        Does::Denies | Does::Aborts => 2,
    };
    assert_eq!(refused, expected, "{does:?}");
}

#[test]
fn stranger_a_reader_of_a_run_that_waits_misses_nothing() {
    let place = Place::new(plan());
    within(async {
        for dialect in DIALECTS {
            for does in [Does::Approves, Does::Denies, Does::Mixes, Does::Aborts] {
                check(&place, dialect, does).await;
            }
        }
    });
}

#[test]
fn stranger_a_reader_of_a_run_whose_daemon_died_has_what_survived() {
    let gate = Gate::new();
    let mut place = Place::new(long_plan(&gate));
    let mut dice = Dice::new();
    let (mut session, mut bytes) = (String::new(), Vec::new());
    within(async {
        let client = place.client();
        session = start(&place, "chat", "do everything").await;
        bytes = Recording::until_it_waits(&client, &session).await.bytes;
    });
    place.crash();
    within(async {
        let client = place.client();
        let expected = stored(&client, &session).await;
        assert!(expected.contains("\"interrupted\""), "{expected}");
        come_back(&client, &session, &bytes, &expected, &mut dice).await;
    });
}
