//! Which sessions stand in the list, and how much of what they ask for.

use daemon::caller::{CallerKind, Carrier};
use store::NewSession;

use super::*;
use crate::stage;

#[test]
fn a_session_is_in_the_same_state_in_every_list() {
    for phase in Phase::ALL {
        assert_eq!(JobState::of_run(phase.as_str()), Some(phase.state()), "{phase:?}");
    }
}

#[test]
fn a_question_takes_one_line_and_no_more_than_its_room() {
    let block = |tool: &str, input: serde_json::Value| Block {
        id: vocab::ids::BlockId::generate(),
        call: serde_json::from_value("c".into()).unwrap(),
        tool: tool.to_owned(),
        input,
        asked_at: 0,
        deadline_at: None,
        answer: None,
    };
    let bash = |command: &str| block("bash", serde_json::json!({ "command": command }));
    let long = "x".repeat(ROSTER_QUESTION_CHARS_MAX * 2);
    let cut = format!("bash: {}…", &long[..ROSTER_QUESTION_CHARS_MAX - 7]);
    for (blocks, expected) in [
        (vec![bash("rm -rf build")], Some("bash: rm -rf build")),
        (vec![bash("rm\t\u{1b}[2J a\nb")], Some("bash: rm [2J a …")),
        (vec![block("own", serde_json::json!({})), bash("ls")], Some("own (and 1 more)")),
        (vec![bash(&long)], Some(cut.as_str())),
        (Vec::new(), None),
    ] {
        assert_eq!(question(&blocks).as_deref(), expected);
    }
}

#[tokio::test]
async fn so_many_sessions_stand_in_the_list_of_all() {
    let (_dir, sessions) = stage::sessions();
    for n in 0..=ROSTER_SESSIONS_MAX {
        let new = NewSession { title: n.to_string(), ..NewSession::default() };
        let batch = Batch::of_session(sessions.store.epoch(), SessionId::generate());
        let batch = batch.change(Change::CreateSession(new)).fact(SessionFact::SessionCreated);
        sessions.store.append(batch).await.unwrap();
    }
    let all = sessions.roster(&Wanted::default()).await.unwrap();
    assert_eq!(all.len(), ROSTER_SESSIONS_MAX);
    // Those that were active last are there.
    assert_eq!(all[0].name, ROSTER_SESSIONS_MAX.to_string());
    let later = Wanted { since: Some(Timestamp::from_millis(i64::MAX)), cwd: None };
    assert_eq!(sessions.roster(&later).await.unwrap(), []);
    // What is pinned does not age, and a pin is no activity: the end stays when it was.
    let last = &all[ROSTER_SESSIONS_MAX - 1];
    let oldest: SessionId = last.id.parse().unwrap();
    let person = Caller::passed(CallerKind::Person, Carrier::Socket);
    let pinned = sessions.pin(&person, &oldest, true).await.unwrap();
    assert_eq!((pinned.pinned, pinned.ended_at), (true, last.ended_at));
    let renamed = sessions.rename(&person, &oldest, "kept").await.unwrap();
    assert_eq!(renamed.ended_at, last.ended_at);
    let kept = sessions.roster(&later).await.unwrap();
    assert_eq!(kept.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), [oldest.as_str()]);
    // However many are more recent, and however many are pinned.
    let recent = Batch::of_session(sessions.store.epoch(), SessionId::generate());
    let recent = recent.change(Change::CreateSession(NewSession::default()));
    sessions.store.append(recent.fact(SessionFact::SessionCreated)).await.unwrap();
    let everything = sessions.roster(&Wanted::default()).await.unwrap();
    assert_eq!((everything.len(), &everything[0].name[..]), (ROSTER_SESSIONS_MAX, "kept"));
    for row in &all[..=STORE_LIST_MAX] {
        sessions.pin(&person, &row.id.parse().unwrap(), true).await.unwrap();
    }
    assert_eq!(sessions.roster(&later).await.unwrap().len(), STORE_LIST_MAX + 2);
    let agent = Caller::passed(CallerKind::Agent(None), Carrier::Socket);
    let refused = sessions.pin(&agent, &oldest, false).await.unwrap_err();
    assert_eq!(refused.code, "person_required");
}
