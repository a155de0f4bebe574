//! How often whoever watches is told, on a clock that stands still while somebody works.

use super::*;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

#[tokio::test(start_paused = true)]
async fn progress_is_told_in_pieces_with_a_pause_between_them() {
    let (end, ended) = oneshot::channel();
    let ended = Box::pin(async move { ended.await.unwrap() });
    let (tell, mut told) = mpsc::channel(8);
    let sink: ProgressSink =
        Arc::new(move |Progress::Output(text)| tell.try_send((text, Instant::now())).unwrap());
    let pending = Arc::new(Pending::default());
    let watched = tokio::spawn(watch(ended, Arc::clone(&pending), sink));
    let (begun, pause) = (Instant::now(), Duration::from_millis(PROGRESS_INTERVAL_MS));
    pending.push("a");
    assert_eq!(told.recv().await, Some(("a".into(), begun)));
    // What comes within the pause is one piece at its end.
    pending.push("b");
    pending.push("c");
    assert_eq!(told.recv().await, Some(("bc".into(), begun + pause)));
    // The end waits for no pause, and loses nothing.
    pending.push("d");
    end.send(Outcome::text("")).unwrap();
    assert_eq!(told.recv().await, Some(("d".into(), begun + pause)));
    watched.await.unwrap();
}
