//! What a start does with a run whose daemon died, for every state its parts can be in.

use serde_json::json;
use store::{Batch, Change, NewSession, Store};
use vocab::{
    ids::{BlockId, CallId, MessageId, RunId, SessionId},
    message::{CallState, Message, Mode, ModelRef, Part, Role, Run, RunEnd, RunState, StopReason},
    outcome::Outcome,
};

use crate::rig::Rig;

fn call(id: &str, state: CallState) -> Part {
    let block = matches!(state, CallState::Approved | CallState::Blocked).then(BlockId::generate);
    Part::Call { call: CallId(id.into()), tool: "bash".into(), input: json!({}), block, state }
}

fn model() -> ModelRef {
    ModelRef { provider: "local".into(), model: "actor".into() }
}

fn text(done: bool) -> Part {
    Part::Text { text: "so far".into(), done }
}

/// Stores a run with these parts, as a daemon leaves it that dies in this moment.
pub(crate) async fn leave(store: &Store, parts: &[Part], state: RunState) -> (SessionId, Run) {
    let session = SessionId::generate();
    let user = Message {
        id: MessageId::generate(),
        role: Role::User,
        run: None,
        parts: vec![text(true)],
        created_at: 7,
    };
    let run = Run {
        id: RunId::generate(),
        message: MessageId::generate(),
        model: model(),
        mode: Mode::Auto,
        interactive: false,
        state: RunState::Running,
        started_at: 7,
    };
    let mut batch = Batch::of_session(store.epoch(), session.clone())
        .change(Change::CreateSession(NewSession::default()))
        .change(Change::AddMessage(user))
        .change(Change::StartRun(run.clone()));
    for (idx, part) in parts.iter().enumerate() {
        batch = batch.change(Change::PutPart { run: run.id.clone(), idx, part: part.clone() });
    }
    batch = batch.change(Change::SetRunState { run: run.id.clone(), state });
    store.append(batch).await.unwrap();
    (session, run)
}

/// Tells a part in short: what it is, and how a call ended.
fn short(part: &Part) -> String {
    match part {
        Part::Call { call, state: CallState::Ended { outcome, ordinal }, .. } => {
            let code = outcome.failure.as_ref().map_or("ok", |failure| failure.code.as_str());
            format!("{call} {code}/{}#{ordinal}", outcome.effect())
        }
        Part::Text { done, .. } => format!("text {done}"),
        Part::Reasoning { done, .. } => format!("reasoning {done}"),
        Part::Call { call, .. } => format!("{call} open"),
        Part::Step { .. } | Part::File { .. } | Part::Steer { .. } | Part::Note { .. } => {
            "other".into()
        }
    }
}

async fn check(parts: Vec<Part>, expected: &[&str]) {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let (session, run) = leave(&awake.store, &parts, RunState::Running).await;
    drop(awake);

    let awake = rig.wake(None).await.unwrap();
    let after = awake.store.transcript(&session).await.unwrap();
    let own = after.messages.iter().find(|message| message.id == run.message).unwrap();
    let found: Vec<String> = own.parts.iter().map(short).collect();
    assert_eq!(found, expected);
    assert_eq!(after.run.unwrap().state, RunState::Ended(RunEnd::Interrupted));
    assert_eq!(awake.sessions.mend().await.unwrap(), 0, "a second look finds nothing");
}

#[tokio::test]
async fn a_start_closes_what_was_at_work_and_says_what_may_have_happened() {
    let step = |stop| Part::Step { model: model(), usage: None, stop };
    let thinking =
        Part::Reasoning { text: "hm".into(), signature: None, redacted: false, done: false };
    check(vec![], &[]).await;
    check(vec![step(None)], &["other"]).await;
    check(vec![step(None), thinking], &["other", "reasoning true"]).await;
    check(vec![step(None), text(false)], &["other", "text true"]).await;
    let ended = |ordinal| CallState::Ended { outcome: Outcome::text("ok"), ordinal };
    check(
        vec![
            step(Some(StopReason::ToolUse)),
            call("a", ended(1)),
            call("b", CallState::Started),
            call("c", ended(0)),
            call("d", CallState::Requested),
            call("e", CallState::Approved),
            call("f", CallState::Blocked),
        ],
        &[
            "other",
            "a ok/completed#1",
            "b interrupted/indeterminate#2",
            "c ok/completed#0",
            "d interrupted/not_started#3",
            "e interrupted/not_started#4",
            "f unanswered/not_started#5",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_parked_run_waits_through_a_restart() {
    let rig = Rig::new();
    let awake = rig.wake(None).await.unwrap();
    let parts = [call("a", CallState::Blocked)];
    let (session, _) =
        leave(&awake.store, &parts, RunState::Parked { blocks: vec![waiting()] }).await;
    drop(awake);
    let awake = rig.wake(None).await.unwrap();
    let after = awake.store.transcript(&session).await.unwrap();
    assert!(matches!(after.run.unwrap().state, RunState::Parked { .. }));
}

fn waiting() -> vocab::message::Block {
    vocab::message::Block {
        id: BlockId::generate(),
        call: CallId("a".into()),
        tool: "bash".into(),
        input: json!({}),
        asked_at: 7,
        deadline_at: None,
        answer: None,
    }
}
