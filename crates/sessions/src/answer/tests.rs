//! The last answer to a run that parks in that moment, while somebody else takes its slot.

use std::{future::ready, pin::pin};

use serde_json::json;
use store::{Batch, Change, NewSession};
use vocab::{
    ids::{CallId, MessageId},
    live::{Chunk, Position, Told},
    message::{CallState, Message, Part, Role, Run},
    outcome::Effect,
};

use super::*;
use crate::{
    live::{Content, Next},
    stage,
};

/// Stores a run that waits for one answer, and returns its transcript.
async fn parked(sessions: &Sessions) -> (Transcript, BlockId) {
    let (session, id, call) = (SessionId::generate(), BlockId::generate(), CallId("c".into()));
    let part = Part::Call {
        call: call.clone(),
        tool: "bash".into(),
        input: json!({}),
        block: Some(id.clone()),
        state: CallState::Blocked,
    };
    let (tool, input) = ("bash".into(), json!({}));
    let asked =
        Block { id: id.clone(), call, tool, input, asked_at: 1, deadline_at: None, answer: None };
    let started = stage::a_run();
    let run = Run { state: RunState::Parked { blocks: vec![asked] }, ..started.clone() };
    let user = Message {
        id: MessageId::generate(),
        role: Role::User,
        run: None,
        parts: vec![Part::Text { text: "go".into(), done: true }],
        created_at: 1,
    };
    let batch = Batch::of_session(sessions.epoch.clone(), session.clone())
        .change(Change::CreateSession(NewSession::default()))
        .change(Change::AddMessage(user))
        .change(Change::StartRun(started))
        .change(Change::PutPart { run: run.id.clone(), idx: 0, part })
        .change(Change::SetRunState { run: run.id.clone(), state: run.state.clone() });
    sessions.store.append(batch).await.unwrap();
    let messages = sessions.store.transcript(&session).await.unwrap().messages;
    (Transcript { session, messages, run }, id)
}

#[tokio::test]
async fn an_answer_is_not_said_to_resume_a_run_that_somebody_else_failed_to_resume() {
    let (_dir, sessions) = stage::sessions();
    let (transcript, block) = parked(&sessions).await;
    let session = transcript.session.clone();
    let (reservation, working) = stage::live_transcript(&sessions, transcript);
    let mut reader = working.live.reader(Position::default());
    let stored = async {
        while let Next::Frame(frame) = reader.next().await {
            let Content::Piece(piece) = &frame.content else { continue };
            if matches!(piece.told, Told::Chunk(Chunk::Finish { .. })) {
                break;
            }
        }
    };
    let given = (Answer { approved: true, reason: None }, Keys::default());
    let mut taken = pin!(sessions.take(&session, &block, given));
    tokio::select! {
        biased;
        told = &mut taken => panic!("the run is still at work: {told:?}"),
        () = stored => {}
    }
    // Whoever looks after deadlines is faster, and has no model to go on with.
    drop(reservation);
    let other = sessions.runs.reserve(&session).unwrap();
    tokio::select! {
        biased;
        told = &mut taken => panic!("nobody knows yet: {told:?}"),
        () = ready(()) => {}
    }
    drop(other);
    let failure = taken.await.unwrap_err();
    assert_eq!((failure.code.as_str(), failure.effect), ("model_unavailable", Effect::Completed));
}
