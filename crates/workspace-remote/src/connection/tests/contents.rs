//! Content that comes for a request: its order, its credit, its bounds.

use super::*;

pub(super) fn upload(id: u64) -> Value {
    json!({
        "type": "upload", "id": id, "workspace": "fake", "path": "a", "size": 5, "sha256": "",
        "overwrite": true,
    })
}

#[test]
fn transfers_have_limits_of_their_own() {
    let mut one = alone();
    for id in 1..=REMOTE_TRANSFERS_MAX {
        assert_eq!(told(&mut one, &upload(id)), [json!({"start": id})]);
    }
    failure(&mut one, &upload(100), "busy");
    for id in 200..200 + REMOTE_TRANSFERS_MAX {
        let download = json!({"type": "download", "id": id, "workspace": "fake", "path": "a"});
        assert_eq!(told(&mut one, &download), [json!({"start": id})]);
    }
    assert_eq!(told(&mut one, &stat(300)), [json!({"start": 300})]);
}

pub(super) fn write_of(id: u64, size: u64) -> Value {
    json!({"type": "write", "id": id, "workspace": "fake", "path": "a", "size": size})
}

#[test]
fn content_that_is_gathered_is_bounded() {
    let mut one = alone();
    let size = WRITE_BYTES_MAX as u64;
    for id in 1..=REMOTE_GATHERED_BYTES_MAX / size {
        assert_eq!(told(&mut one, &write_of(id, size)), Vec::<Value>::new());
    }
    failure(&mut one, &write_of(50, 1), "busy");
    let wants = told(&mut one, &json!({"type": "cancel", "id": 1}));
    assert_eq!(
        (&wants[0]["code"], &wants[0]["effect"]),
        (&json!("aborted"), &json!("not_started"))
    );
    assert_eq!(told(&mut one, &write_of(51, 1)), Vec::<Value>::new());
    // What comes for a request that has ended is no fault.
    one.hear(&piece_frame(1, 0, b"late"), NOW);
    assert!(!one.is_closed());
}

#[test]
fn changes_begin_in_the_order_in_which_they_were_asked() {
    let mut one = alone();
    assert_eq!(told(&mut one, &write_of(1, 4)), Vec::<Value>::new());
    assert_eq!(told(&mut one, &write_of(2, 2)), Vec::<Value>::new());
    assert_eq!(told(&mut one, &call(3, "change")), Vec::<Value>::new());
    assert_eq!(told(&mut one, &stat(4)), [json!({"start": 4})], "who only looks goes ahead");
    one.hear(&piece_frame(2, 0, b"ab"), NOW);
    one.hear(&piece_frame(1, 0, b"abc"), NOW);
    assert_eq!(wanted(&mut one), Vec::<Value>::new());
    one.hear(&piece_frame(1, 3, b"d"), NOW);
    assert_eq!(wanted(&mut one), [json!({"start": 1}), json!({"start": 2}), json!({"start": 3})]);
    told(&mut one, &write_of(5, 2));
    told(&mut one, &call(6, "change"));
    let wants = told(&mut one, &json!({"type": "cancel", "id": 5}));
    assert_eq!((&wants[0]["id"], &wants[1]), (&json!(5), &json!({"start": 6})));
}

#[test]
fn content_beyond_its_credit_ends_the_connection() {
    let mut one = alone();
    told(&mut one, &upload(1));
    let n_pieces = REMOTE_WINDOW_BYTES / REMOTE_CHARGE_BYTES_MIN;
    for offset in 0..n_pieces {
        one.hear(&piece_frame(1, offset, b"x"), NOW);
    }
    assert_eq!(wanted(&mut one).len() as u64, n_pieces);
    one.used(1, REMOTE_WINDOW_BYTES / 2);
    let more = json!({"type": "more", "id": 1, "bytes": REMOTE_WINDOW_BYTES / 2});
    assert_eq!(wanted(&mut one), [more]);
    one.hear(&piece_frame(1, n_pieces, b"x"), NOW);
    assert!(!one.is_closed());
    wanted(&mut one);
    closes(&mut one, &piece_frame(1, 0, b"twice"), 1008);
    let mut one = alone();
    told(&mut one, &upload(1));
    for offset in 0..n_pieces {
        one.hear(&piece_frame(1, offset, b"x"), NOW);
    }
    wanted(&mut one);
    closes(&mut one, &piece_frame(1, n_pieces, b"x"), 1008);
    let mut one = alone();
    told(&mut one, &upload(1));
    told(&mut one, &json!({"type": "finish", "id": 1}));
    closes(&mut one, &piece_frame(1, 0, b"after the end"), 1002);
}
