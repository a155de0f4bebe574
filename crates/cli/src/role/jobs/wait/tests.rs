//! What makes one who waits look again, and when a stream is given up.

use std::collections::VecDeque;

use futures_util::future::BoxFuture;

use super::*;

/// A body that gives its pieces, then ends or stays silent for ever.
struct Pieces(VecDeque<&'static str>, End);

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Breaks,
    Silent,
}

impl Body for Pieces {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            match (self.0.pop_front(), self.1) {
                (Some(piece), _) => Some(piece.as_bytes().to_vec()),
                (None, End::Silent) => std::future::pending().await,
                (None, End::Breaks) => None,
            }
        })
    }
}

const FIRST: &str = "retry: 1000\nid: c.1\n\n";
const FACT: &str = "id: c.2\nevent: stead-fact\ndata: {\"job\":\"0123abcd\"}\n\n";
const OTHER: &str = "id: c.3\nevent: stead-fact\ndata: {\"job\":\"ffffffff\"}\n\n";
const GAP: &str = "event: stead-gap\ndata: {}\n\n";
const HEARTBEAT: &str = ":\n\n";

#[tokio::test(start_paused = true)]
async fn a_waiter_looks_again_at_each_heartbeat_and_gives_a_silent_stream_up() {
    let check = async |pieces: &[&'static str], end: End, looks: bool, is_alive: bool| {
        let mut retry = Retry::default();
        assert!(retry.next().await);
        let mut body = Pieces(pieces.iter().copied().collect(), end);
        let looked = news(&mut body, &mut Decoder::default(), "0123abcd", &mut retry).await;
        assert_eq!((looked, retry.attempts() == 0), (looks, is_alive), "{pieces:?}");
    };
    for end in [End::Breaks, End::Silent] {
        check(&[], end, false, false).await;
        check(&[FIRST], end, false, false).await;
        check(&[FIRST, GAP], end, false, false).await;
        check(&[FIRST, OTHER], end, false, true).await;
    }
    check(&[FIRST, FACT], End::Silent, true, true).await;
    check(&[FIRST, HEARTBEAT], End::Silent, true, true).await;
    check(&[FIRST, OTHER, HEARTBEAT], End::Silent, true, true).await;
    check(&["retry: 1000\nid: c.1\n\n:\n\n"], End::Silent, true, true).await;
}

#[tokio::test(start_paused = true)]
async fn an_end_is_held_back_until_it_is_written_down_or_that_takes_too_long() {
    let row = |state: &str, source: &str, ended_at: Option<&str>| -> JobRow {
        let row = serde_json::json!({
            "id": "01234567", "kind": "job", "name": "n", "cwd": "/w", "command": ["sh"],
            "state": state, "status": null, "state_source": source, "waiting_for": null, "pid": null,
            "pinned": false, "started_at": "2023-11-14T22:13:20.000Z", "ended_at": ended_at,
            "session": null, "session_file": null, "env_names": [], "exit": null,
        });
        serde_json::from_value(row).unwrap()
    };
    let mut ending = Ending::default();
    assert_eq!(ending.left(&row("working", "process", None)), None);
    // What an agent says of itself is no end.
    assert_eq!(ending.left(&row("done", "report", None)), None);
    let told = row("done", "process", None);
    assert_eq!(ending.left(&told), Some(Duration::from_millis(CLIENT_END_MS_MAX)));
    assert_eq!(ending.left(&row("done", "process", Some("2026-01-01T00:00:00.000Z"))), None);
    tokio::time::advance(Duration::from_millis(CLIENT_END_MS_MAX - 1)).await;
    assert_eq!(ending.left(&told), Some(Duration::from_millis(1)));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(ending.left(&told), None);
}
