//! Mending late, while others are at work already.

use store::{Batch, Change, NewSession, rows::Phase};
use vocab::message::{Run, RunEnd};

use super::*;
use crate::stage;

/// Stores a session with a run that works, as a daemon leaves it that dies, or as one has it that just begins.
async fn stored(sessions: &Sessions) -> (SessionId, Run) {
    let (session, run) = (SessionId::generate(), stage::a_run());
    let batch = Batch::of_session(sessions.store.epoch(), session.clone())
        .change(Change::CreateSession(NewSession::default()))
        .change(Change::StartRun(run.clone()));
    sessions.store.append(batch).await.unwrap();
    (session, run)
}

async fn phase(sessions: &Sessions, session: &SessionId) -> Phase {
    sessions.row(session).await.unwrap().run.unwrap().phase
}

#[tokio::test]
async fn what_is_mended_late_is_over_all_the_time_and_what_just_begins_is_not_closed() {
    let (_dir, sessions) = stage::sessions();
    sessions.runs.leave_open();
    let (left, _) = stored(&sessions).await;
    // One is stored and not yet seen to work when the mending begins.
    let (begins, run) = stored(&sessions).await;
    let mut reservation = sessions.runs.reserve(&begins).unwrap();
    assert_eq!(phase(&sessions, &left).await, Phase::Interrupted);
    assert_eq!(phase(&sessions, &begins).await, Phase::Running);
    let mending = tokio::spawn({
        let sessions = Arc::clone(&sessions);
        async move { sessions.mend().await }
    });
    while sessions
        .store
        .run(&sessions.row(&left).await.unwrap().run.unwrap().id)
        .await
        .unwrap()
        .run
        .state
        == RunState::Running
    {
        tokio::task::yield_now().await;
    }
    assert!(!mending.is_finished(), "it waits for whoever has the slot");
    let transcript = Transcript { session: begins.clone(), messages: Vec::new(), run };
    let handle = stage::go_live(&sessions, &mut reservation, transcript);
    assert_eq!(mending.await.unwrap().unwrap(), 1);
    assert_eq!(phase(&sessions, &begins).await, Phase::Running);
    assert_eq!(phase(&sessions, &left).await, Phase::Interrupted);
    drop((handle, reservation));
}

#[tokio::test]
async fn a_session_that_is_used_before_it_is_mended_tells_the_truth_about_its_last_run() {
    let (_dir, sessions) = stage::sessions();
    sessions.runs.leave_open();
    let (left, run) = stored(&sessions).await;
    let reservation = sessions.runs.reserve(&left).unwrap();
    let row = sessions.row(&left).await.unwrap();
    let row = sessions.without_orphan(Some(row)).await.unwrap().unwrap();
    assert_eq!(row.run.unwrap().phase, Phase::Interrupted);
    let stored = sessions.store.run(&run.id).await.unwrap().run.state;
    assert_eq!(stored, RunState::Ended(RunEnd::Interrupted));
    drop(reservation);
    assert_eq!(sessions.mend().await.unwrap(), 0);
    assert!(!sessions.runs.are_left_open());
}
