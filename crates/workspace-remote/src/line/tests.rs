//! What is counted, kept, confirmed and said again.

use bytes::Bytes;
use vocab::limits::{
    REMOTE_ACK_BYTES, REMOTE_ACK_MESSAGES, REMOTE_PROGRESS_BYTES_MAX, REMOTE_QUEUE_BYTES_MAX,
    REMOTE_QUEUE_MESSAGES_MAX, REMOTE_QUEUE_ROOM_BYTES,
};

use super::*;

fn message(number: u64) -> Frame {
    Frame::Text(Bytes::from(format!("message {number}")))
}

fn taken(line: &mut Line) -> Vec<Frame> {
    std::iter::from_fn(|| line.take()).collect()
}

#[test]
fn what_the_other_side_lacks_is_said_again_in_order() {
    for n_heard in 0..=6_u64 {
        let mut line = Line::new(Keeping::UntilConfirmed);
        for number in 1..=6 {
            assert_eq!(line.push(message(number)), number);
        }
        assert_eq!(taken(&mut line).len(), 6);
        line.resume(n_heard).unwrap();
        let again: Vec<Frame> = (n_heard + 1..=6).map(message).collect();
        assert_eq!(taken(&mut line), again);
        line.confirmed(6).unwrap();
        assert!(!line.has_more() && line.queue_bytes == 0);
    }
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let mut line = Line::new(Keeping::UntilConfirmed);
    line.push(message(1));
    line.push(message(2));
    assert!(line.confirmed(1).is_err(), "nothing was said yet");
    line.take();
    assert!(line.confirmed(2).is_err());
    line.confirmed(1).unwrap();
    line.confirmed(0).unwrap();
    assert!(line.resume(0).is_err(), "what was confirmed is forgotten");
    assert!(line.resume(2).is_err());
    line.resume(1).unwrap();
    assert_eq!(taken(&mut line), [message(2)]);
    let mut line = Line::new(Keeping::Nothing);
    line.push(message(1));
    assert!(!line.was_written(1));
    line.take();
    assert!(line.was_written(1) && !line.was_written(2) && line.queue.is_empty());
    assert!(line.resume(1).is_err());
}

#[test]
fn acknowledgements_come_after_so_many_messages_or_bytes() {
    let mut line = Line::new(Keeping::UntilConfirmed);
    for _ in 1..REMOTE_ACK_MESSAGES {
        line.heard(1);
    }
    assert!(!line.has_more());
    line.heard(1);
    assert_eq!(line.take(), Some(write(&Ack { received: REMOTE_ACK_MESSAGES })));
    line.heard(REMOTE_ACK_BYTES - 1);
    assert!(!line.has_more());
    line.heard(1);
    assert_eq!(line.take(), Some(write(&Ack { received: REMOTE_ACK_MESSAGES + 2 })));
    assert_eq!(line.take(), None);
}

#[test]
fn a_queue_has_room_until_its_water_mark_and_a_hard_end() {
    let piece = Frame::Binary(Bytes::from(vec![0; REMOTE_PROGRESS_BYTES_MAX]));
    let mut line = Line::new(Keeping::UntilConfirmed);
    line.push(piece.clone());
    assert!(!line.has_room_for_progress() && line.has_room());
    while line.queue_bytes < REMOTE_QUEUE_ROOM_BYTES {
        line.push(piece.clone());
    }
    assert!(!line.has_room());
    while line.queue_bytes < REMOTE_QUEUE_BYTES_MAX {
        line.push(piece.clone());
    }
    assert!(!line.is_overfull());
    line.push(message(1));
    assert!(line.is_overfull());
    let mut line = Line::new(Keeping::UntilConfirmed);
    for number in 1..=REMOTE_QUEUE_MESSAGES_MAX as u64 {
        line.push(message(number));
    }
    assert!(!line.is_overfull() && !line.has_room());
    line.push(message(0));
    assert!(line.is_overfull());
}
