//! What a client should not say, one by one, and what becomes of its connection.

use super::*;

fn raw(text: &str) -> Frame {
    Frame::Text(Bytes::copy_from_slice(text.as_bytes()))
}

/// A connection on which an upload, a write whose content is still coming, a look and a download are under way.
fn busy() -> Connection {
    let mut one = alone();
    told(&mut one, &upload(1));
    told(&mut one, &write_of(2, 3));
    told(&mut one, &stat(3));
    told(&mut one, &json!({"type": "download", "id": 4, "workspace": "fake", "path": "a"}));
    done(&mut one, 3);
    told(&mut one, &stat(5));
    wanted(&mut one);
    one
}

#[test]
fn numbers_and_keys_that_can_be_read_two_ways_are_refused() {
    // Answered, since they say which request they are.
    for text in [
        r#"{"type":"stat","id":7,"workspace":"fake","path":"a","path":"b"}"#,
        r#"{"type":"stat","id":6,"id":7,"workspace":"fake","path":"a"}"#,
        r#"{"type":"stat","id":7,"workspace":"fake","path":"a","\u0070ath":"b"}"#,
        r#"{"type":"stat","\u0074ype":"mkdir","id":7,"workspace":"fake","path":"a"}"#,
        r#"{"type":"write","id":7,"workspace":"fake","path":"a","size":18446744073709551616}"#,
        r#"{"type":"write","id":7,"workspace":"fake","path":"a","size":-1}"#,
        r#"{"type":"write","id":7,"workspace":"fake","path":"a","size":1.5}"#,
        r#"{"type":"write","id":7,"workspace":"fake","path":"a","size":"1"}"#,
    ] {
        let mut one = alone();
        one.hear(&raw(text), NOW);
        let answers = wanted(&mut one);
        let [answer] = answers.as_slice() else { panic!("{text}: {answers:?}") };
        assert_eq!((&answer["code"], &answer["id"]), (&json!("invalid_request"), &json!(7)));
        assert!(!one.is_closed() && one.is_idle(), "{text}");
        closes(&mut one, &message(&stat(7)), 1008);
    }
    // Nobody can say which request these would be.
    for id in ["9007199254740992", "18446744073709551616", "-1", "1.0", "1e0", "\"1\"", "null"] {
        let text = format!(r#"{{"type":"stat","id":{id},"workspace":"fake","path":"a"}}"#);
        closes(&mut alone(), &raw(&text), 1002);
    }
    closes(
        &mut alone(),
        &raw(r#"{"type":"stat","\u0069d":1,"workspace":"fake","path":"a"}"#),
        1002,
    );
}

#[test]
fn what_belongs_to_no_request_or_to_another_kind_of_one_closes_the_connection() {
    let finish = |id: u64| message(&json!({"type": "finish", "id": id}));
    for (frame, status) in [
        (piece_frame(9, 0, b"of nobody"), 1002),
        (piece_frame(5, 0, b"to whom looks"), 1002),
        (piece_frame(4, 0, b"to a download"), 1002),
        (piece_frame(1, 1, b"ahead"), 1008),
        (piece_frame(2, 1, b"ahead"), 1008),
        (piece_frame(2, 0, b"too much"), 1008),
        (finish(9), 1002),
        (finish(5), 1002),
        (finish(4), 1002),
        (finish(2), 1002),
    ] {
        closes(&mut busy(), &frame, status);
    }
    let mut twice = busy();
    twice.hear(&finish(1), NOW);
    assert_eq!(wanted(&mut twice), [json!({"finish": 1})]);
    closes(&mut twice, &finish(1), 1002);
    // What was under way when its request ended is no fault.
    let mut late = busy();
    late.hear(&piece_frame(3, 0, b"late"), NOW);
    late.hear(&finish(3), NOW);
    assert!(wanted(&mut late).is_empty() && !late.is_closed());
}

#[test]
fn a_second_greeting_and_words_of_the_other_side_close_the_connection() {
    let resume = json!({"type": "resume", "connection": "c", "token": "t", "received": 0});
    for said in [
        hello(),
        resume,
        json!({"type": "outcome"}),
        json!({"type": "closing", "code": "a", "message": "b"}),
        json!({"type": "ack", "received": 1}),
        json!({"type": "ping"}),
    ] {
        closes(&mut busy(), &message(&said), 1002);
    }
    // With an id, an answer is a request that nobody has.
    let answer = json!({"type": "result", "id": 70, "value": null});
    failure(&mut busy(), &answer, "method_not_supported");
    closes(&mut busy(), &message(&with(answer, "id", json!(5))), 1008);
}

#[test]
fn a_cancel_reaches_what_runs_here_once_and_nothing_else() {
    let runtime = Gate::new(Places::of_runtime());
    let (mut one, mut other) = (connection(&runtime), connection(&runtime));
    let cancel = |id: u64| json!({"type": "cancel", "id": id});
    told(&mut one, &stat(1));
    assert_eq!(told(&mut other, &cancel(1)), Vec::<Value>::new(), "it is another's");
    assert_eq!(wanted(&mut one), Vec::<Value>::new());
    assert_eq!(told(&mut one, &cancel(2)), Vec::<Value>::new(), "it was never asked");
    assert_eq!(told(&mut one, &cancel(1)), [json!({"cancel": 1})]);
    assert_eq!(told(&mut one, &cancel(1)), Vec::<Value>::new(), "it is being ended");
    let more = json!({"type": "more", "id": 2, "bytes": u64::MAX});
    assert_eq!(told(&mut one, &more), Vec::<Value>::new(), "nobody takes that credit");
    done(&mut one, 1);
    assert_eq!(wanted(&mut one).len(), 1);
    assert_eq!(told(&mut one, &cancel(1)), Vec::<Value>::new(), "it has ended");
    // An id that was only cancelled was not used.
    assert_eq!(told(&mut one, &stat(2)), [json!({"start": 2})]);
    assert!(!one.is_closed() && !other.is_closed());
}

#[test]
fn strikes_tombstones_and_ends_are_of_one_connection() {
    let runtime = Gate::new(Places::of_runtime());
    let (mut one, mut other) = (connection(&runtime), connection(&runtime));
    let wrong = |id: u64| with(stat(id), "unknown", json!(1));
    for id in 1..u64::from(REMOTE_STRIKES_MAX) {
        failure(&mut one, &wrong(id), "invalid_request");
        failure(&mut other, &wrong(id), "invalid_request");
    }
    closes(&mut one, &message(&wrong(90)), 1008);
    for frame in [piece_frame(1, 0, b"x"), Frame::Binary(Bytes::new()), raw("{"), raw("")] {
        one.hear(&frame, NOW);
    }
    assert_eq!(wanted(&mut one), Vec::<Value>::new(), "a closed connection is deaf");
    assert_eq!(told(&mut other, &stat(90)), [json!({"start": 90})], "the id is free here");
    closes(&mut other, &message(&wrong(91)), 1008);
}
