//! Batches of calls: order, overlap, and calls that cannot run.

use serde_json::{Value, json};
use vocab::{
    limits::{CALL_NAME_BYTES_MAX, CALLS_AT_ONCE_MAX},
    message::{Part, StopReason},
};

use super::rig::*;

#[tokio::test(start_paused = true)]
async fn results_keep_the_order_of_calls_and_ends_the_order_of_time() {
    let rig = Rig::new([
        calls(&[("c1", "look", "ms:30"), ("c2", "look", "ms:10"), ("c3", "look", "ms:20")]),
        says("done"),
    ]);
    rig.drive().await;
    assert_eq!(rig.ends(), ["c1 ok#2", "c2 ok#0", "c3 ok#1"]);
    assert_eq!(rig.last_prompt().last().unwrap(), "results c1=ok c2=ok c3=ok");
    assert_eq!(rig.tools.seen.lock().unwrap().at_once, 3);
}

#[tokio::test(start_paused = true)]
async fn one_tool_that_wants_to_be_alone_makes_the_batch_a_queue() {
    let rig = Rig::new([
        calls(&[("c1", "look", "ms:30"), ("c2", "alone", "ms:10"), ("c3", "look", "ms:20")]),
        says("done"),
    ]);
    rig.drive().await;
    assert_eq!(rig.ends(), ["c1 ok#0", "c2 ok#1", "c3 ok#2"]);
    assert_eq!(rig.tools.seen.lock().unwrap().at_once, 1);
    assert!(
        rig.stored()
            .contains(&"+ 1=c1:ok#0 2=c2:started ! c1 ended, c2 started > output c1".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_at_once_than_allowed() {
    let ids: Vec<String> = (0..CALLS_AT_ONCE_MAX * 2 + 3).map(|n| format!("c{n}")).collect();
    let list: Vec<(&str, &str, &str)> = ids.iter().map(|id| (&**id, "look", "ms:5")).collect();
    let rig = Rig::new([calls(&list), says("done")]);
    rig.drive().await;
    assert_eq!(rig.ends().len(), ids.len());
    assert_eq!(rig.tools.seen.lock().unwrap().at_once, CALLS_AT_ONCE_MAX);
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_and_not_stored() {
    let rig = Rig::new([calls(&[("c1", "look", "talk")]), says("done")]);
    rig.drive().await;
    assert!(rig.journal.lines().contains(&"~ c1 says \"half way\"".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_came_with_an_old_look_begins_again_once() {
    let rig = Rig::new([calls(&[("c1", "look", "stale")]), says("done")]);
    rig.drive().await;
    assert_eq!(rig.ends(), ["c1 ok#0"]);
    assert_eq!(rig.tools.seen.lock().unwrap().calls, ["c1", "c1"]);
}

/// Calls `tool` with `input` and checks how the call ends, that nothing ran, and that the run goes on.
async fn check(tool: &str, input: Value, reason: StopReason, ends: &str, read: &str) {
    let rig = Rig::new([turn([text("so"), call("c1", tool, input), stop(reason)]), says("I see")]);
    let state = rig.drive().await;
    assert_eq!(super::words::state(&state), "finished");
    assert_eq!(rig.ends(), [format!("c1 {ends}#0")]);
    assert!(rig.tools.seen.lock().unwrap().calls.is_empty());
    let prompts = rig.script.prompts.lock().unwrap();
    assert_valid(&prompts.last().unwrap().messages);
    let Some(provider::prompt::PromptMessage::Results(results)) =
        prompts.last().unwrap().messages.last()
    else {
        panic!("no results");
    };
    assert_eq!(results[0].2.plain_text(), read);
}

#[tokio::test(start_paused = true)]
async fn calls_that_cannot_run_tell_the_model_why() {
    let good = json!({"path": "a"});
    check(
        "look",
        good.clone(),
        StopReason::Length,
        "arguments_cut/not_started",
        "the answer reached its output limit, so the arguments may be cut; nothing was run\n\
         call again with shorter arguments, in several calls if need be",
    )
    .await;
    check(
        "look",
        json!("{\"path\": "),
        StopReason::ToolUse,
        "invalid_arguments/not_started",
        "the arguments of look were not a JSON object\n\
         call it again with one complete JSON object",
    )
    .await;
    check(
        "look",
        json!({"n": 12, "do": []}),
        StopReason::ToolUse,
        "invalid_arguments/not_started",
        "the arguments of look do not fit:\n- path: is required\n- do: must be a text, not a list\n\
         - n: must be an integer from 1 to 9, not 12",
    )
    .await;
    check(
        "Looks",
        good.clone(),
        StopReason::ToolUse,
        "unknown_tool/not_started",
        "there is no tool named \"Looks\"\ndid you mean \"look\"?",
    )
    .await;
    check(
        "frobnicate",
        good,
        StopReason::ToolUse,
        "unknown_tool/not_started",
        "there is no tool named \"frobnicate\"\nthe tools are: look, change, exec, alone",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_cut_without_calls_ends_the_run_with_a_note() {
    let rig = Rig::new([turn([text("so lo"), stop(StopReason::Length)])]);
    rig.drive().await;
    assert_eq!(
        rig.stored().last().unwrap(),
        "+P 2=note(answer_cut) finished ! run_ended > note 2 answer_cut, step_end, finish"
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_does_not_end_the_run() {
    let rig = Rig::new([calls(&[("c1", "look", "fail"), ("c2", "look", "")]), says("I see")]);
    let state = rig.drive().await;
    assert_eq!(super::words::state(&state), "finished");
    assert_eq!(rig.ends(), ["c1 broke/completed#0", "c2 ok#1"]);
}

#[tokio::test(start_paused = true)]
async fn names_that_models_write_are_bounded() {
    let long = "n".repeat(10_000);
    let rig = Rig::new([calls(&[(&long, &long, ""), (&long, "look", "")]), says("I see")]);
    assert_eq!(super::words::state(&rig.drive().await), "finished");
    let ends = rig.ends();
    assert_eq!(ends.len(), 2);
    assert!(ends[0].contains(" unknown_tool/not_started#0") && ends[1].contains("_2 ok#1"));
    let kept = "n".repeat(CALL_NAME_BYTES_MAX);
    let names = |end: &str| end.split([' ', '_']).next().unwrap_or_default().to_owned();
    assert!(ends.iter().all(|end| names(end) == kept));
    let transcript = rig.pen.transcript();
    let tools = transcript.parts().iter().filter_map(|part| match part {
        Part::Call { tool, .. } => Some(tool.as_str()),
        _ => None,
    });
    assert_eq!(tools.collect::<Vec<_>>(), [&kept, "look"]);
}
