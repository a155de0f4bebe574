//! Streams of events with time that stands still.

use super::*;
use futures_util::future::{pending, poll_fn};

async fn next(events: &mut Events) -> Option<Result<Bytes, Cut>> {
    poll_fn(|cx| events.poll_next(cx)).await
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_has_heartbeats() {
    let mut events = Events::new(futures_util::stream::once(pending()));
    let start = Instant::now();
    for beat in 1..=3 {
        assert_eq!(next(&mut events).await, Some(Ok(HEARTBEAT)));
        let passed = start.elapsed().as_millis();
        assert!(passed >= u128::from(beat * limits::STREAM_HEARTBEAT_MS), "{passed}");
    }
}

#[tokio::test]
async fn frames_come_in_order_and_the_end_is_the_end() {
    let frames = ["a", "b"].map(|text| Ok(Bytes::from(text)));
    let mut events = Events::new(futures_util::stream::iter(frames)).after(Bytes::from("first"));
    for text in ["first", "a", "b"] {
        assert_eq!(next(&mut events).await, Some(Ok(Bytes::from(text))));
    }
    assert_eq!(next(&mut events).await, None);
    assert_eq!(next(&mut events).await, None);
}

#[tokio::test]
async fn a_cut_stream_ends_with_the_cut() {
    let frames = [Ok(Bytes::from("a")), Err(Cut), Ok(Bytes::from("b"))];
    let mut events = Events::new(futures_util::stream::iter(frames));
    assert_eq!(next(&mut events).await, Some(Ok(Bytes::from("a"))));
    assert_eq!(next(&mut events).await, Some(Err(Cut)));
    assert_eq!(next(&mut events).await, None);
}

#[tokio::test]
async fn an_endless_source_ends_with_the_token() {
    let token = CancellationToken::new();
    let mut events = Events::new(futures_util::stream::once(pending())).until(token.clone());
    token.cancel();
    assert_eq!(next(&mut events).await, None);
}
