//! What asks, who answers, and what happens until then.

use vocab::{
    ids::BlockId,
    message::{Answer, Mode, RunState},
};

use super::{rig::*, words};
use crate::answer;

fn yes() -> Answer {
    Answer { approved: true, reason: None }
}

fn no() -> Answer {
    Answer { approved: false, reason: Some("not today".to_owned()) }
}

fn three() -> Turn {
    calls(&[("c1", "look", ""), ("c2", "change", ""), ("c3", "exec", "")])
}

fn blocks(state: &RunState) -> Vec<BlockId> {
    let RunState::Parked { blocks } = state else { panic!("not parked: {state:?}") };
    blocks.iter().filter(|b| b.answer.is_none()).map(|b| b.id.clone()).collect()
}

/// Checks which calls of a reader, a writer and a runner run at once, and which wait or are refused.
async fn check(mode: Mode, interactive: bool, ran: &[&str], waits: usize, refused: &[&str]) {
    let rig = Rig::of(fresh(mode, interactive), [three(), says("done")]);
    let state = rig.drive().await;
    assert_eq!(rig.tools.seen.lock().unwrap().calls, ran);
    if waits > 0 {
        assert_eq!(blocks(&state).len(), waits);
        assert_eq!(rig.tools.seen.lock().unwrap().ended_runs, 0);
        return;
    }
    assert_eq!(words::state(&state), "finished");
    let ends = rig.ends();
    for call in refused {
        let prefix = format!("{call} approval_required/not_started");
        assert!(ends.iter().any(|end| end.starts_with(&prefix)), "{ends:?}");
    }
    assert_eq!(ends.iter().filter(|end| end.contains("approval")).count(), refused.len());
}

#[tokio::test(start_paused = true)]
async fn modes_and_reach_decide_what_asks() {
    check(Mode::Auto, true, &["c1", "c2", "c3"], 0, &[]).await;
    check(Mode::Auto, false, &["c1", "c2", "c3"], 0, &[]).await;
    check(Mode::AcceptEdits, true, &["c1", "c2"], 1, &[]).await;
    check(Mode::AcceptEdits, false, &["c1", "c2"], 0, &["c3"]).await;
    check(Mode::Ask, true, &["c1"], 2, &[]).await;
    check(Mode::Ask, false, &["c1"], 0, &["c2", "c3"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_parks_the_run_and_its_answers_go_on() {
    let rig = Rig::of(fresh(Mode::Ask, true), [three(), says("done")]);
    let state = rig.drive().await;
    let asked = blocks(&state);
    // Driving a run that waits changes nothing.
    assert_eq!(rig.drive().await, state);
    let state = rig.pen.answer(&asked[1], no(), 0).await.unwrap();
    assert_eq!(blocks(&state), asked[..1]);
    let again = rig.pen.answer(&asked[1], yes(), 0).await.unwrap_err();
    assert_eq!(again.code, "already_answered");
    let unknown = rig.pen.answer(&BlockId::generate(), yes(), 0).await.unwrap_err();
    assert_eq!(unknown.code, "unknown_block");
    assert_eq!(blocks(&rig.drive().await), asked[..1]);
    rig.pen.answer(&asked[0], yes(), 0).await.unwrap();
    assert_eq!(words::state(&rig.drive().await), "finished");
    assert_eq!(
        rig.stored(),
        [
            "+ 0=step > step_start",
            "+ 0=step(tools) 1=c1:requested 2=c2:requested 3=c3:requested ! step_ended",
            "+ 2=c2:blocked 3=c3:blocked ! run_blocked, run_blocked > approval c2, approval c3",
            "+ 1=c1:started ! c1 started",
            "+ 1=c1:ok#0 ! c1 ended > output c1",
            "+P parked > finish",
            "+P 3=c3:denied/not_started#1 parked ! answered(false), c3 ended > output c3, finish",
            "+P 2=c2:approved parked ! answered(true) > finish",
            "+ running ! run_resumed",
            "+ 2=c2:started ! c2 started",
            "+ 2=c2:ok#2 4=step ! c2 ended > output c2, step_end, step_start",
            "+ 4=step(stop) 5=\"done\". ! step_ended",
            "+P finished ! run_ended > step_end, finish",
        ]
    );
    assert_eq!(rig.last_prompt().last().unwrap(), "results c1=ok c2=ok c3=denied/not_started");
}

#[tokio::test(start_paused = true)]
async fn an_answer_while_others_still_run_needs_no_parking() {
    for (given, end) in [(yes(), "c2 ok#1"), (no(), "c2 denied/not_started#0")] {
        let turn = calls(&[("c1", "look", "hook"), ("c2", "exec", "")]);
        let rig = Rig::of(fresh(Mode::Ask, true), [turn, says("done")]);
        let pen = rig.pen.clone();
        rig.on_hook(move || {
            let (pen, given) = (pen.clone(), given.clone());
            Box::pin(async move {
                let block = pen.transcript().parts().iter().find_map(|part| match part {
                    vocab::message::Part::Call { block, .. } => block.clone(),
                    _ => None,
                });
                pen.answer(&block.unwrap(), given, 0).await.unwrap();
            })
        });
        assert_eq!(words::state(&rig.drive().await), "finished");
        assert!(rig.ends().contains(&end.to_owned()), "{:?}", rig.ends());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_whose_time_is_over_counts_as_denied() {
    let rig = Rig::of(fresh(Mode::AcceptEdits, true), [three(), says("done")]);
    let RunState::Parked { mut blocks } = rig.drive().await else { panic!("not parked") };
    blocks[0].deadline_at = Some(5_000);
    let late = blocks[0].id.clone();
    let change = |_: &crate::transcript::Transcript| {
        let state = RunState::Parked { blocks };
        let usage = vocab::message::Usage { input: 10, output: 1, ..Default::default() };
        Ok(crate::journal::Entry {
            chunks: vec![vocab::live::Chunk::Finish { state: state.clone(), usage }],
            state: Some(state),
            ..Default::default()
        })
    };
    rig.pen.write(change).await.unwrap();
    assert_eq!(words::state(&rig.drive().await), "parked");
    rig.clock.advance(std::time::Duration::from_secs(60));
    // Whether or not the denial is stored: nobody may allow it any more.
    let refused = async || rig.pen.answer(&late, yes(), 5_000).await.unwrap_err().code;
    assert_eq!(refused().await, "answer_late");
    let expire = |now: &crate::transcript::Transcript| answer::expire(now, &late);
    rig.pen.write(expire).await.unwrap();
    assert_eq!(refused().await, "answer_late");
    assert_eq!(words::state(&rig.drive().await), "finished");
    assert_eq!(rig.ends()[2], "c3 denied/not_started#2");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_and_a_question_of_one_batch_are_stored_together() {
    let turn = calls(&[("c1", "nothing", ""), ("c2", "exec", "")]);
    let rig = Rig::of(fresh(Mode::Ask, true), [turn, says("done")]);
    rig.drive().await;
    assert_eq!(
        rig.stored()[2],
        "+ 2=c2:blocked 1=c1:unknown_tool/not_started#0 ! run_blocked, c1 ended \
         > approval c2, output c1"
    );
}
