//! How runs end: failures, retries, aborts, bugs, and a journal that refuses.

use std::time::Duration;

use provider::delta::{Delta, Retry};
use serde_json::json;
use vocab::{
    limits::{
        ABORT_WAIT_MS, ANSWER_BYTES_MAX, END_RUN_WAIT_MS, RETRY_WAIT_MS_MAX, RUN_FAILURE_BYTES_MAX,
    },
    message::{Mode, RunEnd, RunState, StopReason},
    outcome::Failure,
};

use super::{rig::*, words};
use crate::close::close;

/// Runs a script and checks what was stored.
async fn check(turns: Vec<Turn>, stored: &[&str]) -> Rig {
    let rig = Rig::new(turns);
    rig.drive().await;
    assert_eq!(rig.stored(), stored);
    assert_eq!(rig.tools.seen.lock().unwrap().ended_runs, 1);
    rig
}

fn failing(code: &str, retry: Retry) -> Turn {
    turn([fail(code, retry)])
}

#[tokio::test(start_paused = true)]
async fn a_call_that_failed_before_its_first_word_is_tried_again() {
    let begun = tokio::time::Instant::now();
    let wait = Retry::After { wait_ms: 700 };
    check(
        vec![failing("overloaded", Retry::Backoff), failing("rate_limited", wait), says("yes")],
        &[
            "+ 0=step > step_start",
            "+ 1=note(retry) ! retry 2 in 2000 > note 1 retry",
            "+ 2=note(retry) ! retry 3 in 700 > note 2 retry",
            "+ 0=step(stop) 3=\"yes\". ! step_ended",
            "+P finished ! run_ended > step_end, finish",
        ],
    )
    .await;
    assert_eq!(begun.elapsed().as_millis() / 10, 270);
}

#[tokio::test(start_paused = true)]
async fn retries_end_and_the_run_fails() {
    let overloaded = || failing("overloaded", Retry::Backoff);
    check(
        vec![overloaded(), overloaded(), overloaded()],
        &[
            "+ 0=step > step_start",
            "+ 1=note(retry) ! retry 2 in 2000 > note 1 retry",
            "+ 2=note(retry) ! retry 3 in 4000 > note 2 retry",
            "+P 0=step failed(overloaded) ! step_ended, run_ended > step_end, finish",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_bearing_fails_at_once() {
    let begun = tokio::time::Instant::now();
    let wait_ms = RETRY_WAIT_MS_MAX + 1;
    let asks = "the provider asks to wait 61 s; try again then";
    for (retry, hint) in [(Retry::Never, None), (Retry::After { wait_ms }, Some(asks))] {
        let rig = check(
            vec![failing("out_of_credit", retry)],
            &[
                "+ 0=step > step_start",
                "+P 0=step failed(out_of_credit) ! step_ended, run_ended > step_end, finish",
            ],
        )
        .await;
        let RunState::Ended(RunEnd::Failed { failure }) = &rig.pen.transcript().run.state else {
            panic!("it failed")
        };
        assert_eq!(failure.hint.as_deref(), hint);
    }
    assert!(begun.elapsed().is_zero());
    // One that can be borne is waited for to its end.
    let wait = Retry::After { wait_ms: RETRY_WAIT_MS_MAX };
    Rig::new([failing("rate_limited", wait), says("yes")]).drive().await;
    assert_eq!(begun.elapsed(), Duration::from_millis(RETRY_WAIT_MS_MAX));
}

#[tokio::test(start_paused = true)]
async fn a_failure_in_the_middle_keeps_the_words_and_trusts_no_call() {
    let mut said = turn([text("I will"), call("c1", "look", json!({"path": "a"}))]);
    said.extend([
        Say::Delta(Delta::CallStart {
            id: vocab::ids::CallId("c2".to_owned()),
            tool: "look".to_owned(),
        }),
        Say::Delta(Delta::CallInput("{\"pa".to_owned())),
    ]);
    said.extend(failing("disconnected", Retry::Backoff));
    let rig = check(
        vec![said],
        &[
            "+ 0=step > step_start",
            "+P 0=step 1=\"I will\". 2=c1:disconnected/not_started#0 \
             3=c2:disconnected/not_started#1 failed(disconnected) \
             ! step_ended, c1 ended, c2 ended, run_ended \
             > input_done c2, output c1, output c2, step_end, finish",
        ],
    )
    .await;
    let asked = crate::prompt::conversation(&rig.pen.transcript(), true);
    let lines: Vec<String> = asked.iter().map(prompt_line).collect();
    assert_eq!(lines, [r#"user "please""#, r#"model "I will""#]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end_is_no_answer() {
    check(
        vec![turn([vec![Delta::TextStart, Delta::Text("hal".to_owned())]])],
        &[
            "+ 0=step > step_start",
            "+P 0=step 1=\"hal\". failed(answer_cut) ! step_ended, run_ended \
             > text_end 1, step_end, finish",
        ],
    )
    .await;
    // Nor is it asked for again when it had not even begun: nobody knows what was done with the prompt.
    check(
        vec![turn([])],
        &[
            "+ 0=step > step_start",
            "+P 0=step failed(answer_cut) ! step_ended, run_ended > step_end, finish",
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_endless_answer_is_cut_off() {
    let piece = Delta::Text("x".repeat(ANSWER_BYTES_MAX / 4));
    let mut said = vec![Say::Delta(Delta::TextStart)];
    said.extend(std::iter::repeat_n(Say::Delta(piece), 5));
    said.push(Say::Hang);
    let rig = Rig::new([said]);
    assert_eq!(words::state(&rig.drive().await), "failed(answer_too_long)");
}

#[tokio::test(start_paused = true)]
async fn a_long_failure_is_cut_in_the_fact() {
    let rig = Rig::new([]);
    let failure = Failure::not_started("loud", "é".repeat(RUN_FAILURE_BYTES_MAX));
    let entry = close(&rig.start, RunEnd::Failed { failure });
    let Some(RunState::Ended(RunEnd::Failed { failure })) = entry.state else { panic!() };
    assert_eq!(failure.message.len(), RUN_FAILURE_BYTES_MAX);
}

async fn aborted_after(rig: &Rig, wait_ms: u64) {
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        rig.cancel.cancel();
    };
    let (state, ()) = tokio::join!(rig.drive(), cancel);
    assert_eq!(state, RunState::Ended(RunEnd::Aborted));
    assert_eq!(rig.tools.seen.lock().unwrap().ended_runs, 1);
}

#[tokio::test(start_paused = true)]
async fn an_abort_in_the_stream_keeps_the_words() {
    let mut said = turn([vec![Delta::TextStart, Delta::Text("so f".to_owned())]]);
    said.push(Say::Hang);
    let rig = Rig::new([said]);
    aborted_after(&rig, 10).await;
    assert_eq!(
        rig.stored(),
        [
            "+ 0=step > step_start",
            "+P 0=step 1=\"so f\". aborted ! step_ended, run_ended > text_end 1, step_end, finish",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_in_the_wait_before_a_retry_ends_it() {
    let begun = tokio::time::Instant::now();
    let rig = Rig::new([failing("overloaded", Retry::Backoff)]);
    aborted_after(&rig, 10).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(
        rig.stored().last().unwrap(),
        "+P 0=step aborted ! step_ended, run_ended > step_end, finish"
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_in_a_call_keeps_its_outcome_and_begins_no_other() {
    let rig = Rig::new([calls(&[("c1", "alone", "wait"), ("c2", "look", "")])]);
    aborted_after(&rig, 10).await;
    assert_eq!(rig.ends(), ["c1 aborted/completed#0", "c2 aborted/not_started#1"]);
    assert_eq!(rig.tools.seen.lock().unwrap().calls, ["c1"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_does_not_wait_for_ever_for_a_call() {
    let begun = tokio::time::Instant::now();
    let rig = Rig::new([calls(&[("c1", "look", "hang"), ("c2", "look", "wait")])]);
    aborted_after(&rig, 10).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(10 + ABORT_WAIT_MS));
    assert_eq!(rig.ends(), ["c1 aborted/indeterminate#1", "c2 aborted/completed#0"]);
}

#[tokio::test(start_paused = true)]
async fn a_parked_run_can_be_stopped() {
    let turn = calls(&[("c1", "exec", "")]);
    let rig = Rig::of(fresh(Mode::Ask, true), [turn]);
    assert_eq!(words::state(&rig.drive().await), "parked");
    rig.cancel.cancel();
    assert_eq!(rig.drive().await, RunState::Ended(RunEnd::Aborted));
    assert_eq!(rig.ends(), ["c1 unanswered/not_started#0"]);
    // And what is over stays so.
    assert_eq!(rig.drive().await, RunState::Ended(RunEnd::Aborted));
}

#[tokio::test(start_paused = true)]
async fn a_bug_in_a_tool_ends_the_run_and_nothing_else() {
    let rig = Rig::new([calls(&[("c1", "look", "panic"), ("c2", "look", "ms:5")])]);
    let state = rig.drive().await;
    assert_eq!(words::state(&state), "failed(internal)");
    assert_eq!(rig.ends(), ["c1 internal/indeterminate#0", "c2 internal/indeterminate#1"]);
    assert_eq!(rig.tools.seen.lock().unwrap().ended_runs, 1);
}

#[tokio::test(start_paused = true)]
async fn a_bug_in_a_provider_ends_the_run_and_nothing_else() {
    let mut said = turn([vec![Delta::TextStart, Delta::Text("lost".to_owned())]]);
    said.push(Say::Panic);
    let rig = Rig::new([said]);
    rig.journal.leave_unchecked();
    assert_eq!(words::state(&rig.drive().await), "failed(internal)");
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_refuses_stops_the_run_at_once() {
    let story = || [calls(&[("c1", "look", ""), ("c2", "look", "")]), says("done")];
    let whole = Rig::new(story());
    whole.drive().await;
    for at in 0..whole.journal.entries().len() {
        let rig = Rig::new(story());
        rig.journal.fail_at(at);
        assert_eq!(words::state(&rig.drive().await), "failed(stale_epoch)");
        assert_eq!(rig.journal.entries().len(), at);
        let ran = rig.tools.seen.lock().unwrap().calls.len();
        // A call's beginning is stored before its effect.
        assert_eq!(ran, if at <= 1 { 0 } else { 2 }, "at {at}");
        assert!(rig.tools.seen.lock().unwrap().ended_runs > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_run_left_running_is_ended_and_said() {
    let rig = Rig::new([says("done")]);
    rig.leave_running("sleep 1000");
    rig.drive().await;
    assert_eq!(
        rig.stored().last().unwrap(),
        "+P 2=note(left_running) finished ! run_ended > note 2 left_running, step_end, finish"
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_run_does_not_wait_for_ever_for_its_tools() {
    let begun = tokio::time::Instant::now();
    let rig = Rig::new([turn([text("done"), stop(StopReason::Stop)])]);
    *rig.tools.hang_at_end.lock().unwrap() = true;
    assert_eq!(words::state(&rig.drive().await), "finished");
    assert!(rig.stored().last().unwrap().contains("note(left_running)"));
    assert_eq!(begun.elapsed(), Duration::from_millis(END_RUN_WAIT_MS));
}
