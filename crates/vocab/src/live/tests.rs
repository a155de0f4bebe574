//! The log read piece by piece from every position, and how much is left to tell.

use serde_json::json;

use super::*;
use crate::outcome::{Content, Failure};

fn log() -> Log {
    let mut log = Log::default();
    log.push(Chunk::StepStart);
    log.push(Chunk::TextStart { part: 0 });
    log.push_text("aäb🌍");
    log.push(Chunk::TextEnd { part: 0 });
    log
}

fn told(log: &Log, from: Position, bytes_max: usize) -> Vec<String> {
    let mut at = from;
    let pieces = std::iter::from_fn(|| {
        let piece = log.next(at, bytes_max)?;
        at = piece.after;
        Some(match piece.told {
            Told::Chunk(chunk) => format!("{chunk:?}").split(' ').next().unwrap().to_owned(),
            Told::Delta { text, .. } => text,
        })
    });
    pieces.collect()
}

#[test]
fn a_log_is_read_in_pieces_from_every_position() {
    let check = |(chunks, bytes), bytes_max, expected: &[&str]| {
        assert_eq!(told(&log(), Position { chunks, bytes }, bytes_max), expected);
    };
    let whole = &["StepStart", "TextStart", "aäb🌍", "TextEnd"];
    check((0, 0), usize::MAX, whole);
    check((0, 0), 3, &["StepStart", "TextStart", "aä", "b", "🌍", "TextEnd"]);
    check((2, 0), 0, &["a", "ä", "b", "🌍", "TextEnd"]);
    check((2, 3), 9, &["b🌍", "TextEnd"]);
    check((2, 8), 9, &["TextEnd"]);
    check((3, 0), 9, &[]);
    // Nobody can stand inside a character or beyond the end.
    check((2, 2), 99, whole);
    check((4, 0), 99, whole);
}

#[test]
fn what_is_left_to_tell_counts_texts_outcomes_and_arguments() {
    let mut log = log();
    let all = Position::default();
    assert_eq!(log.bytes_after(all), 8);
    assert_eq!(log.bytes_after(Position { chunks: 2, bytes: 3 }), 5);
    let image = Content::Image { media_type: "image/png".into(), data: "x".repeat(1_000) };
    let failure = Failure::not_started("c", "12345").with_hint("678");
    let details = Some(json!({ "ab": ["cd", 1, null] }));
    let outcome =
        Outcome { content: vec![image, Content::text("90")], details, failure: Some(failure) };
    let call = CallId("c".into());
    log.push(Chunk::Output { call: call.clone(), block: None, outcome: Arc::new(outcome) });
    log.push(Chunk::InputDone { call, tool: "t".into(), input: Arc::new(json!({ "path": "a" })) });
    assert_eq!(log.bytes_after(all), 8 + 1_000 + 2 + 8 + 20 + 5);
    assert_eq!(log.bytes_after(log.end()), 0);
}
