//! Answers, batches and what a user says meanwhile.

use provider::delta::Delta;
use serde_json::json;
use vocab::{limits::STEPS_MAX, message::StopReason};

use super::rig::*;

async fn check(turns: Vec<Turn>, expected: &str) -> Rig {
    let rig = Rig::new(turns);
    rig.drive().await;
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(rig.journal.lines(), expected);
    rig
}

#[tokio::test(start_paused = true)]
async fn a_plain_answer() {
    let rig = check(
        vec![says("Hello")],
        r#"
        + 0=step > step_start
        ~ text_start 1
        ~ "Hello"
        ~ text_end 1
        + 0=step(stop) 1="Hello". ! step_ended
        +P finished ! run_ended > step_end, finish
        "#,
    )
    .await;
    assert_eq!(rig.last_prompt(), [r#"user "please""#]);
}

#[tokio::test(start_paused = true)]
async fn thinking_words_and_three_calls_in_a_row() {
    let thinks = vec![
        Delta::ReasoningStart,
        Delta::Reasoning("hm".to_owned()),
        Delta::ReasoningEnd { signature: Some("s".to_owned()), redacted: false },
    ];
    let look = || call("c1", "look", json!({"path": "a"}));
    let rig = check(
        vec![
            turn([thinks, look(), stop(StopReason::ToolUse)]),
            turn([look(), stop(StopReason::ToolUse)]),
            turn([text("so"), look(), stop(StopReason::ToolUse)]),
            says("done"),
        ],
        r#"
        + 0=step > step_start
        ~ think_start 1
        ~ "hm"
        ~ think_end 1
        ~ input_start c1
        ~ "{\"path\":\"a\"}"
        ~ input_done c1
        + 0=step(tools) 1=think "hm". 2=c1:started ! step_ended, c1 started
        + 2=c1:ok#0 3=step ! c1 ended > output c1, step_end, step_start
        ~ input_start c1_2
        ~ "{\"path\":\"a\"}"
        ~ input_done c1_2
        + 3=step(tools) 4=c1_2:started ! step_ended, c1_2 started
        + 4=c1_2:ok#1 5=step ! c1_2 ended > output c1_2, step_end, step_start
        ~ text_start 6
        ~ "so"
        ~ text_end 6
        ~ input_start c1_3
        ~ "{\"path\":\"a\"}"
        ~ input_done c1_3
        + 5=step(tools) 6="so". 7=c1_3:started ! step_ended, c1_3 started
        + 7=c1_3:ok#2 8=step ! c1_3 ended > output c1_3, step_end, step_start
        ~ text_start 9
        ~ "done"
        ~ text_end 9
        + 8=step(stop) 9="done". ! step_ended
        +P finished ! run_ended > step_end, finish
        "#,
    )
    .await;
    assert_eq!(
        rig.last_prompt(),
        [
            r#"user "please""#,
            r#"model think "hm" c1{"path":"a"}"#,
            "results c1=ok",
            r#"model c1_2{"path":"a"}"#,
            "results c1_2=ok",
            r#"model "so" c1_3{"path":"a"}"#,
            "results c1_3=ok",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_user_says_meanwhile_comes_in_between_two_steps() {
    let rig = Rig::new([calls(&[("c1", "look", "hook"), ("c2", "look", "")]), says("right")]);
    let journal = rig.journal.clone();
    rig.on_hook(move || {
        journal.user_says("also this");
        Box::pin(async {})
    });
    let state = rig.drive().await;
    assert_eq!(super::words::state(&state), "finished");
    assert_eq!(
        rig.stored(),
        [
            "+ 0=step > step_start",
            "+ 0=step(tools) 1=c1:started 2=c2:started ! step_ended, c1 started, c2 started",
            "+ 1=c1:ok#0 2=c2:ok#1 ! c1 ended, c2 ended > output c1, output c2",
            "+ 3=steer > step_end, steer",
            "+ 4=step > step_start",
            "+ 4=step(stop) 5=\"right\". ! step_ended",
            "+P finished ! run_ended > step_end, finish",
        ]
    );
    assert_eq!(
        rig.last_prompt(),
        [
            r#"user "please""#,
            r#"model c1{"do":"hook","path":"p"} c2{"do":"","path":"p"}"#,
            "results c1=ok c2=ok",
            r#"user "also this""#,
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_before_the_last_word_keeps_the_run_going() {
    let mut first = says("done?");
    first.insert(0, Say::Wait(50));
    let rig = Rig::new([first, says("done!")]);
    let journal = rig.journal.clone();
    let meanwhile = async {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        journal.user_says("not yet");
    };
    tokio::join!(rig.drive(), meanwhile);
    assert_eq!(rig.last_prompt(), [r#"user "please""#, r#"model "done?""#, r#"user "not yet""#]);
    assert!(rig.stored().contains(&"+ 2=steer > step_end, steer".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn text_is_stored_at_intervals_of_time_and_size() {
    let say = |text: &str| Say::Delta(Delta::Text(text.to_owned()));
    let large = "x".repeat(vocab::limits::TEXT_STORE_BYTES);
    let mut said = vec![Say::Delta(Delta::TextStart), say("one"), Say::Wait(400), say(" two")];
    said.extend([Say::Wait(vocab::limits::TEXT_STORE_MS), say(" three"), say(&large)]);
    said.push(Say::Delta(Delta::TextEnd));
    said.extend(turn([stop(StopReason::Stop)]));
    let rig = Rig::new([said]);
    rig.drive().await;
    let stored: Vec<String> = rig.stored().iter().map(|l| l.replace(&large, "LARGE")).collect();
    assert_eq!(
        stored,
        [
            "+ 0=step > step_start",
            "+ 1=\"one two\"…",
            "+ 1=\"one two threeLARGE\"…",
            "+ 0=step(stop) 1=\"one two threeLARGE\". ! step_ended",
            "+P finished ! run_ended > step_end, finish",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_part_that_ended_is_stored_while_the_model_thinks_on() {
    let mut said = turn([text("first")]);
    said.push(Say::Wait(1));
    said.extend(turn([text("second"), stop(StopReason::Stop)]));
    let rig = Rig::new([said]);
    rig.drive().await;
    assert_eq!(
        rig.stored(),
        [
            "+ 0=step > step_start",
            "+ 1=\"first\".",
            "+ 0=step(stop) 2=\"second\". ! step_ended",
            "+P finished ! run_ended > step_end, finish",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_step_limit_ends_a_run_with_a_note() {
    let ids: Vec<String> = (0..STEPS_MAX).map(|step| format!("c{step}")).collect();
    let usual = Rig::new(ids.iter().map(|id| calls(&[(id, "look", "")])));
    usual.journal.leave_unchecked();
    assert_eq!(super::words::state(&usual.drive().await), "step_limit");
    assert_eq!(usual.tools.seen.lock().unwrap().calls, ids);
    let mut rig = Rig::new([calls(&[("c1", "look", "")]), calls(&[("c2", "look", "")])]);
    rig.settings.steps_max = 2;
    let state = rig.drive().await;
    assert_eq!(super::words::state(&state), "step_limit");
    assert_eq!(
        rig.stored().last().unwrap(),
        "+P 4=note(step_limit) step_limit ! run_ended > note 4 step_limit, step_end, finish"
    );
}
