//! What a finish says of its run.

use super::*;
use serde_json::json;

#[test]
fn the_finish_tells_how_the_run_stands() {
    let finish = |run: Value| json!({"type": "finish", "messageMetadata": {"run": run, "usage": {"input": 3}}});
    let state = |run: Value| {
        end_of(&finish(run)).map(|(state, usage)| (vocab::live::state_word(&state), usage.input))
    };
    assert_eq!(state(json!({"state": "ended", "end": "finished"})), Some(("finished", 3)));
    assert_eq!(
        state(json!({"state": "ended", "end": "step_limit", "steps_max": 4})),
        Some(("step_limit", 3))
    );
    assert_eq!(state(json!({"state": "parked", "blocks": []})), Some(("parked", 3)));
    assert_eq!(end_of(&json!({"type": "text-delta"})), None);
}

#[test]
fn calls_that_nobody_could_be_asked_about_are_counted() {
    let line = |n| unasked_line(n).unwrap_or_default();
    assert_eq!(line(0), "");
    for (n, words) in [(1, "1 call was refused, "), (2, "2 calls were refused, ")] {
        assert!(line(n).contains(words) && line(n).contains("--mode auto allows"), "{}", line(n));
    }
}
