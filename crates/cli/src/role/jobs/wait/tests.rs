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
