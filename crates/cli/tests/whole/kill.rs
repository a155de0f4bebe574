//! The daemon is killed after each thing that somebody could see of a run. Then it starts again, and
//! what was promised is compared with what is stored and with what the directory shows.

#![expect(clippy::disallowed_methods, reason = "reads the directory that a run worked in")]

use std::{collections::BTreeMap, fs};

use api::{
    agent::{AnswerDone, AnswerRequest},
    client::Target,
    routes::Endpoint,
};
use serde_json::Value;
use testkit::home::finish;
use vocab::{
    message::{CallState, Message, RunEnd, RunState},
    outcome::Effect,
};

use crate::rig::{
    Home, SOON, Stored, Stream, calls, client, facts, outcome, request, run, said, within,
    working_home,
};

/// What one client saw before the daemon died.
struct Seen {
    stream: Stream,
    chunks: Vec<Value>,
}

/// Another prompt of the session is answered by a daemon that starts now.
async fn goes_on(home: &Home, seen: &Seen, what: &str) {
    let daemon = home.serve().unwrap_or_else(|end| panic!("{what}: {end:?}"));
    let mut again = request("again", &home.work());
    again.cwd = None;
    again.session_id = Some(seen.stream.session.to_string());
    let mut stream = run(&client(home), &again).await.unwrap_or_else(|e| panic!("{what}: {e:?}"));
    assert_eq!(stream.end().await, Some(RunState::Ended(RunEnd::Finished)), "{what}");
    assert!(daemon.terminate().0.success(), "{what}");
}

async fn check(home: &Home, seen: &Seen, what: &str) -> Vec<Message> {
    let stored = Stored::of(home);
    let messages = stored.messages(&seen.stream.session).await;
    let state = stored.state(&seen.stream.run).await;
    stored.close().await;
    assert_eq!((said(&messages, "go"), said(&messages, "again")), (1, 1), "{what}");
    assert_eq!(messages.len(), 4, "{what}: two questions and two answers");
    let finished = seen.chunks.iter().any(|chunk| chunk["type"] == "finish");
    let interrupted = RunState::Ended(RunEnd::Interrupted);
    let ended = RunState::Ended(RunEnd::Finished);
    assert!(state == ended || (!finished && state == interrupted), "{what}: {state:?}");
    for chunk in seen.chunks.iter().filter(|chunk| chunk["type"] == "tool-output-available") {
        let id = chunk["toolCallId"].as_str().unwrap_or_default();
        let (.., state) = calls(&messages).into_iter().find(|(call, ..)| call.0 == id).unwrap();
        let told = &chunk["output"]["content"][0]["text"];
        let kept = outcome(&state).map(|outcome| outcome.plain_text());
        assert_eq!(kept.as_deref(), told.as_str(), "{what}: an outcome that was told is lost");
    }
    effects_are_true(home, &messages, what);
    messages
}

fn effects_are_true(home: &Home, messages: &[Message], what: &str) {
    let file = |name: &str| fs::read_to_string(home.work().join(name)).ok();
    let (written, ran) = (file("a.txt"), file("ran.txt"));
    assert!(matches!(written.as_deref(), None | Some("one\n" | "two\n")), "{what}: {written:?}");
    // A shell that is killed between opening the file and writing to it leaves it empty.
    assert!(matches!(ran.as_deref(), None | Some("" | "ran\n")), "{what}: run twice: {ran:?}");
    let happened = BTreeMap::from([
        ("write", written.is_some()),
        ("edit", written.as_deref() == Some("two\n")),
        ("bash", ran.is_some()),
    ]);
    let mut seen = BTreeMap::new();
    for (_, tool, state) in calls(messages) {
        let Some(outcome) = outcome(&state) else { panic!("{what}: {tool} is still open") };
        if let Some(failure) = &outcome.failure {
            assert_eq!(failure.code, "interrupted", "{what}");
        }
        assert!(seen.insert(tool, outcome.effect()).is_none(), "{what}: a call is there twice");
    }
    for (tool, happened) in happened {
        match seen.get(tool) {
            Some(Effect::Completed) => assert!(happened, "{what}: {tool} did not happen"),
            Some(Effect::NotStarted) | None => assert!(!happened, "{what}: {tool} happened"),
            Some(Effect::Indeterminate) => {}
        }
    }
}

#[tokio::test]
async fn a_kill_after_any_chunk_loses_and_doubles_nothing() {
    let mut killed = 0;
    loop {
        let home = working_home(1);
        let daemon = home.serve().unwrap();
        let stream = run(&client(&home), &request("go", &home.work())).await.unwrap();
        let mut seen = Seen { stream, chunks: Vec::new() };
        while seen.chunks.len() <= killed {
            let Some(chunk) = seen.stream.next().await else { break };
            seen.chunks.push(chunk);
        }
        daemon.crash();
        let what = format!("killed after chunk {killed}: {:?}", seen.chunks.last());
        goes_on(&home, &seen, &what).await;
        check(&home, &seen, &what).await;
        if seen.chunks.last().is_some_and(|chunk| chunk["type"] == "finish") {
            break;
        }
        killed += 1;
    }
    assert!(killed > 30, "only {killed} chunks");
    println!("killed after each of {killed} chunks");
}

#[tokio::test]
async fn a_kill_after_any_fact_loses_and_doubles_nothing() {
    let mut killed = 0;
    let mut kinds = Vec::new();
    loop {
        let home = working_home(0);
        let daemon = home.serve().unwrap();
        let mut told = facts(&client(&home)).await;
        let stream = run(&client(&home), &request("go", &home.work())).await.unwrap();
        let mut ended = false;
        for _ in 0..=killed {
            let Some(fact) = within("a fact", told.next()).await else { break };
            let text = fact.to_string();
            ended |= text.contains("run_ended");
            kinds.push(text);
        }
        daemon.crash();
        let what = format!("killed after fact {killed}: {:?}", kinds.last());
        let seen = Seen { stream, chunks: Vec::new() };
        goes_on(&home, &seen, &what).await;
        check(&home, &seen, &what).await;
        if ended {
            break;
        }
        killed += 1;
    }
    for kind in ["message_stored", "run_started", "call_started", "call_ended", "step_ended"] {
        assert!(kinds.iter().any(|fact| fact.contains(kind)), "no fact of kind {kind}");
    }
    println!("killed after each of {killed} facts");
}

#[tokio::test]
async fn a_call_that_ran_is_indeterminate_and_its_processes_are_gone() {
    let home = working_home(0);
    let daemon = home.serve().unwrap();
    let mut stream = run(&client(&home), &request("stay", &home.work())).await.unwrap();
    stream.until("data-stead-progress").await.unwrap();
    let pid = daemon.pid();
    let left: Vec<_> = home.processes().into_iter().filter(|one| one.pid != pid).collect();
    assert!(left.len() >= 4, "{left:?}");
    daemon.crash();
    // Ready means: what the last daemon left is gone already.
    let daemon = home.serve().unwrap();
    for process in &left {
        assert!(process.gone(SOON), "{} outlives its daemon", process.pid);
    }
    assert!(daemon.terminate().0.success());
    let stored = Stored::of(&home);
    assert_eq!(stored.state(&stream.run).await, RunState::Ended(RunEnd::Interrupted));
    let messages = stored.messages(&stream.session).await;
    stored.close().await;
    let [(.., CallState::Ended { outcome, .. })] = &calls(&messages)[..] else { panic!() };
    assert_eq!(outcome.effect(), Effect::Indeterminate);
    assert_eq!(outcome.failure.as_ref().unwrap().code, "interrupted");
}

#[tokio::test]
async fn a_parked_run_waits_through_kills_and_is_answered_once() {
    let home = working_home(0);
    let daemon = home.serve().unwrap();
    let mut ask = request("go", &home.work());
    ask.mode = Some(vocab::message::Mode::AcceptEdits);
    let mut stream = run(&client(&home), &ask).await.unwrap();
    let Some(RunState::Parked { blocks }) = stream.end().await else { panic!("it does not park") };
    daemon.crash();
    // Twice, because waiting must survive a restart that nobody used.
    home.serve().unwrap().crash();
    let daemon = home.serve().unwrap();
    let shown = finish(home.command(&["sessions", "show", &stream.session.to_string(), "--json"]));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["state"], "parked", "{shown}");
    let answer = AnswerRequest {
        session_id: stream.session.to_string(),
        block_id: blocks[0].id.to_string(),
        approved: true,
        reason: None,
        keys: BTreeMap::new(),
    };
    let mut told = facts(&client(&home)).await;
    let done: AnswerDone =
        client(&home).json(Endpoint::AgentAnswer, Target::default(), Some(&answer)).await.unwrap();
    assert!(done.resumed);
    while !within("the end", told.next()).await.unwrap().to_string().contains("run_ended") {}
    assert!(daemon.terminate().0.success());
    let stored = Stored::of(&home);
    assert_eq!(stored.state(&stream.run).await, RunState::Ended(RunEnd::Finished));
    let messages = stored.messages(&stream.session).await;
    stored.close().await;
    assert!(
        calls(&messages)
            .iter()
            .all(|(.., state)| outcome(state).is_some_and(|end| !end.is_error()))
    );
    effects_are_true(&home, &messages, "after the answer");
}
