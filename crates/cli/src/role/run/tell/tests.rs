//! What a person sees of a stream: snapshots of both streams, once and told twice.

use super::*;
use crate::print::{Face, Style};
use serde_json::json;

fn look(out: bool) -> Look {
    let face = |terminal| Face { terminal, style: Style(false) };
    Look { out: face(out), err: face(out), width: 60 }
}

/// Plays chunks, half a second apart; `>` marks standard output, `!` standard error, `~` the live line.
fn play(look: Look, thinking: bool, chunks: &[Value]) -> String {
    let mut teller = Teller::new(look, thinking);
    let mut out = String::new();
    let mut last = ' ';
    for (n, chunk) in chunks.iter().enumerate() {
        let now = Duration::from_millis(500 * u64::try_from(n).unwrap());
        for piece in teller.take(chunk, now) {
            let (mark, text) = match piece {
                Piece::Out(text) => ('>', text),
                Piece::Err(text) => ('!', text),
                Piece::Live(text) => ('~', text + "\n"),
            };
            if mark != last || out.ends_with('\n') {
                out.push(mark);
            }
            last = mark;
            out.push_str(&text);
        }
    }
    out
}

fn call(id: &str, tool: &str, input: Value) -> Value {
    json!({"type": "tool-input-available", "toolCallId": id, "toolName": tool, "input": input})
}

fn output(id: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    json!({"type": "tool-output-available", "toolCallId": id, "output": {"content": content}})
}

fn words(id: &str, text: &str) -> Value {
    json!({"type": "text-delta", "id": id, "delta": text})
}

fn end(id: &str) -> Value {
    json!({"type": "text-end", "id": id})
}

fn story() -> Vec<Value> {
    vec![
        json!({"type": "start", "messageId": "m1"}),
        words("p1", "I **lo"),
        words("p1", "ok**."),
        end("p1"),
        call("c1", "bash", json!({"command": "npm test"})),
        call("c2", "read", json!({"path": "a.txt"})),
        output("c1", "a\nb\nc"),
        output("c2", "x"),
        json!({"type": "data-stead-note", "id": "p4", "data": {"kind": "retry", "text": "asked again"}}),
        words("p5", "Done."),
        end("p5"),
        json!({"type": "finish"}),
    ]
}

#[test]
fn a_terminal_shows_text_and_work_in_turn() {
    let expected = "\
>I look.
!
!● bash  npm test
!● read  a.txt
!  ⎿ bash npm test: 3 lines · 1.0 s
!  ⎿ read a.txt: 1 line · 1.0 s
!· asked again
>
>Done.
";
    assert_eq!(play(look(true), false, &story()), expected);
}

#[test]
fn a_pipe_gets_the_text_as_it_was_written_and_nothing_else() {
    let piped = play(look(false), false, &story());
    let text: String =
        piped.split_inclusive('\n').filter_map(|line| line.strip_prefix('>')).collect();
    assert_eq!(text, "I **look**.\n\nDone.\n");
}

#[test]
fn what_is_told_twice_is_printed_once() {
    let once = play(look(true), false, &story());
    let story = story();
    for cut in 1..story.len() {
        let mut twice = story[..cut].to_vec();
        // The whole message again, texts in one piece, as a folded message tells them.
        twice.push(json!({"type": "start", "messageId": "m1"}));
        twice.push(words("p1", "I **look**."));
        twice.extend(story[3..].iter().cloned());
        let strip = |text: String| {
            text.lines()
                .map(|line| line.split(" · ").next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(strip(play(look(true), false, &twice)), strip(once.clone()), "cut at {cut}");
    }
}

#[test]
fn a_failed_call_tells_line_code_and_effect() {
    let chunks = [
        call("c1", "bash", json!({"command": "make\nmake install"})),
        json!({"type": "tool-output-error", "toolCallId": "c1", "errorText": "much\n\nexited with code 2"}),
        json!({"type": "data-stead-outcome", "id": "c1",
            "data": {"callId": "c1", "code": "exit_status", "effect": "completed"}}),
        call("c2", "write", json!({"path": "b"})),
        json!({"type": "tool-output-denied", "toolCallId": "c2"}),
        json!({"type": "data-stead-outcome", "id": "c2", "data": {"callId": "c2", "code": "denied",
            "effect": "not_started", "hint": "their words: not today"}}),
        call("c3", "bash", json!({"command": "ls"})),
        json!({"type": "tool-output-error", "toolCallId": "c3",
            "errorText": "bash runs programs, and nobody is there to ask\nuse others"}),
        json!({"type": "data-stead-outcome", "id": "c3", "data": {"callId": "c3",
            "code": "approval_required", "effect": "not_started"}}),
        call("c4", "own", json!({})),
        json!({"type": "tool-output-error", "toolCallId": "c4", "errorText": "it went wrong"}),
        json!({"type": "data-stead-outcome", "id": "c4", "data": {"callId": "c4",
            "code": "a_code_that_is_long", "effect": "indeterminate"}}),
        json!({"type": "finish"}),
    ];
    let expected = "\
!● bash  make …
!  ⎿ exited with code 2 (exit_status · completed) · 1.0 s
!● write  b
!  ⎿ refused: not today · 1.0 s
!● bash  ls
!  ⎿ bash runs programs, and no… (approval_required) · 1.0 s
!● own
!  ⎿ it went wrong (a_code_that_is_long) · 1.0 s
";
    assert_eq!(play(look(true), false, &chunks), expected);
}

#[test]
fn thinking_is_shown_only_when_asked_for() {
    let chunks = [
        json!({"type": "reasoning-delta", "id": "p0", "delta": "hm"}),
        json!({"type": "reasoning-end", "id": "p0"}),
        words("p1", "Yes."),
        json!({"type": "finish"}),
    ];
    assert_eq!(play(look(true), true, &chunks), "!hm\n>\n>Yes.\n");
    assert_eq!(play(look(true), false, &chunks), ">Yes.\n");
}

#[test]
fn progress_is_a_live_line_on_a_terminal_and_nothing_elsewhere() {
    let chunks = [
        call("c1", "bash", json!({"command": "make"})),
        json!({"type": "data-stead-progress", "data": {"callId": "c1", "text": "[1/9] a\n\u{1b}[2K[2/9] b\n", "replaces": false}}),
    ];
    assert_eq!(play(look(true), false, &chunks), "!● bash  make\n~  … ␛[2K[2/9] b\n");
    assert_eq!(play(look(false), false, &chunks), "!● bash  make\n");
}

#[test]
fn nothing_that_a_model_or_tool_says_controls_the_terminal() {
    let evil = "a\u{1b}]52;c;x\u{7}\u{9b}2J\u{202e}";
    let chunks = [
        words("p1", evil),
        end("p1"),
        call(evil, evil, json!({"command": evil})),
        json!({"type": "tool-output-error", "toolCallId": evil, "errorText": evil}),
        json!({"type": "data-stead-note", "id": "n", "data": {"text": evil}}),
        json!({"type": "data-stead-progress", "data": {"text": evil}}),
        json!({"type": "finish"}),
    ];
    let shown = play(look(true), true, &chunks);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{shown:?}");
}

#[test]
fn long_lines_are_cut_to_the_terminal() {
    let chunks = [
        call("c1", "bash", json!({"command": "x".repeat(200)})),
        output("c1", &"漢".repeat(200)),
        json!({"type": "tool-output-error", "toolCallId": "c1", "errorText": "y".repeat(200)}),
        json!({"type": "finish"}),
    ];
    let shown = play(look(true), false, &chunks);
    assert!(shown.lines().all(|line| width::of(line) <= 61), "{shown}");
}
