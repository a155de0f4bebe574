//! Conversations, from stored messages and from streams.

use super::*;
use crate::testing::{block, loaded, parked, said, session_id};
use serde_json::json;

fn texts(transcript: &Transcript, columns: usize) -> Vec<String> {
    transcript.lines(columns, usize::MAX / 2, 0).into_iter().map(|line| line.text).collect()
}

fn hear(transcript: &mut Transcript, chunks: &[Value]) {
    for chunk in chunks {
        transcript.hear(chunk);
    }
}

#[test]
fn a_stored_conversation_is_shown_and_nothing_in_it_is_obeyed() {
    let transcript = Transcript::of(&loaded(&session_id(1), &parked(1, "make -n"), said()));
    assert_eq!(
        texts(&transcript, 40),
        [
            "> why does the 🚀 build fail?",
            "",
            "I look at the script first, since the",
            "build names it in its last line.",
            "",
            "● read  build.sh",
            "  │ #!/bin/sh",
            "  │ set -e",
            "  │ exec ␇make",
            "  │ 4",
            "  │ 5",
            "  │ 6",
            "  │ 7",
            "  │ 8",
            "  … 2 more",
            "",
            "● bash  make -n",
            "  │ waits for an answer",
            "",
        ]
    );
    assert_eq!((transcript.state.as_str(), transcript.questions.len()), ("parked", 1));
    assert!(!transcript.is_running);
    let all = texts(&transcript, 40);
    assert_eq!(transcript.n_lines(40), all.len());
    let some: Vec<String> = transcript.lines(40, 5, 3).into_iter().map(|line| line.text).collect();
    assert_eq!(some, all[all.len() - 8..all.len() - 3]);
}

#[test]
fn a_refusal_is_told_with_its_reason_and_a_failure_with_its_text() {
    let messages = json!([{"id": "m", "role": "assistant", "parts": [
        {"type": "tool-bash", "toolCallId": "c1", "input": {"command": "false"}, "state": "output-error",
         "errorText": "exited with code 1"},
        {"type": "tool-bash", "toolCallId": "c2", "input": {"command": "rm x"}, "state": "output-denied"},
        {"type": "data-stead-outcome", "data": {"callId": "c2", "hint": "their words: keep it"}},
        {"type": "data-stead-note", "data": {"kind": "retry", "text": "tried again"}},
        {"type": "of-tomorrow"},
    ]}]);
    let transcript = Transcript::of(&loaded(&session_id(1), &Value::Null, messages));
    assert_eq!(
        texts(&transcript, 40),
        [
            "● bash  false",
            "  │ exited with code 1",
            "",
            "● bash  rm x",
            "  │ refused: keep it",
            "",
            "· tried again",
            ""
        ]
    );
    assert_eq!(transcript.state, "idle");
}

#[test]
fn a_stream_writes_its_message_anew_each_time_it_begins() {
    let running = json!({"state": "running"});
    let mut transcript = Transcript::of(&loaded(&session_id(1), &running, said()));
    assert!(transcript.is_running);
    // What comes before the first beginning is of a stream that was left.
    hear(&mut transcript, &[json!({"type": "text-delta", "id": "p1", "delta": "lost"})]);
    let stream = [
        json!({"type": "start", "messageId": "m2"}),
        json!({"type": "text-start", "id": "p1"}),
        json!({"type": "text-delta", "id": "p1", "delta": "I lo"}),
        json!({"type": "text-delta", "id": "p1", "delta": "ok."}),
        json!({"type": "tool-input-start", "toolCallId": "c1", "toolName": "bash"}),
        json!({"type": "tool-input-available", "toolCallId": "c1", "toolName": "bash", "input": {"command": "make"}}),
        json!({"type": "data-stead-progress", "data": {"callId": "c1", "text": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"}}),
    ];
    for _ in 0..2 {
        hear(&mut transcript, &stream);
        assert_eq!(
            texts(&transcript, 40)[2..],
            [
                "I look.",
                "",
                "● bash  make",
                "  │ 3",
                "  │ 4",
                "  │ 5",
                "  │ 6",
                "  │ 7",
                "  │ 8",
                "  │ 9",
                "  │ 10",
                ""
            ]
        );
    }
    hear(
        &mut transcript,
        &[
            json!({"type": "tool-output-available", "toolCallId": "c1",
                "output": {"content": [{"type": "text", "text": "made"}]}}),
            json!({"type": "data-stead-progress", "data": {"callId": "c1", "text": "late"}}),
            json!({"type": "tool-input-start", "toolCallId": "c2", "toolName": "bash"}),
            json!({"type": "tool-output-denied", "toolCallId": "c2"}),
            json!({"type": "data-stead-outcome", "data": {"callId": "c2", "hint": "their words: no"}}),
            json!({"type": "error", "errorText": "the model is gone"}),
            json!({"type": "abort"}),
        ],
    );
    assert_eq!(
        texts(&transcript, 40)[4..],
        [
            "● bash  make",
            "  │ made",
            "",
            "● bash",
            "  │ refused: no",
            "",
            "! the model is gone",
            "",
            "· stopped",
            ""
        ]
    );
}

#[test]
fn a_conversation_is_bounded() {
    let note = |n: usize| json!({"type": "data-stead-note", "data": {"text": n.to_string()}});
    let parts: Vec<Value> = (0..VIEW_ITEMS_MAX + 1).map(note).collect();
    let messages = json!([{"id": "m", "role": "assistant", "parts": parts}]);
    let mut transcript = Transcript::of(&loaded(&session_id(1), &Value::Null, messages));
    assert!(transcript.items.len() <= VIEW_ITEMS_MAX);
    let all = texts(&transcript, 40);
    assert_eq!(all[0], "… what came before is not shown here");
    assert_eq!(all[all.len() - 2], format!("· {VIEW_ITEMS_MAX}"));

    hear(
        &mut transcript,
        &[json!({"type": "start", "messageId": "n"}), json!({"type": "text-start", "id": "p"})],
    );
    let delta = "漢".repeat(VIEW_ITEM_BYTES_MAX / 6);
    for _ in 0..20 {
        hear(&mut transcript, &[json!({"type": "text-delta", "id": "p", "delta": delta})]);
    }
    hear(&mut transcript, &[json!({"type": "text-delta", "id": "p", "delta": "end"})]);
    let What::Agent(text) = &transcript.items.last().unwrap().what else { panic!("no text") };
    assert!(text.len() <= VIEW_ITEM_BYTES_MAX * 2 + 3 && text.ends_with("end"), "{}", text.len());
    let output =
        json!({"content": [{"type": "text", "text": "x".repeat(VIEW_ITEM_BYTES_MAX + 1)}]});
    assert_eq!(output_text(&output).len(), VIEW_ITEM_BYTES_MAX);
}

#[test]
fn only_questions_without_an_answer_are_open() {
    let mut answered = block(1, "a");
    answered["answer"] = json!({"approved": true});
    let run = json!({"state": "parked", "blocks": [answered, block(2, "b")]});
    let transcript = Transcript::of(&loaded(&session_id(1), &run, json!([])));
    let open: Vec<String> = transcript.questions.iter().map(|block| block.id.to_string()).collect();
    assert_eq!(open, [format!("blk_{:032}", 2)]);
}
