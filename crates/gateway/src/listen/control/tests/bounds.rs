//! How much, how many and how long.

use super::*;

fn bounded(change: impl FnOnce(&mut Bounds)) -> Plan {
    let mut plan = Plan::default();
    change(&mut plan.bounds);
    plan
}

#[tokio::test]
async fn a_line_that_is_too_long_is_the_last_one() {
    let house = House::open(Plan::default()).await;
    let line = |n_bytes: usize| {
        let (begin, end) = (r#"{"id":1,"op":"abort","args":{"k":""#, "\"}}");
        let fill = n_bytes - begin.len() - end.len();
        format!("{begin}{}{end}\n", "x".repeat(fill))
    };
    let mut lines = Lines::of(house.socket()).await;
    lines.send(line(REQUEST_BODY_BYTES_MAX).as_bytes()).await;
    let told = lines.hear().await.unwrap();
    assert_eq!((&told["id"], &told["ok"]), (&json!(1), &json!(true)));
    // It is told also to one that sends the whole of it before it reads.
    lines.send(line(REQUEST_BODY_BYTES_MAX + 1).as_bytes()).await;
    let told = lines.hear().await.unwrap();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!(null), &json!("body_too_large")));
    assert_eq!(lines.hear().await, None);
}

#[tokio::test]
async fn lines_share_the_budget_of_bodies() {
    let house = House::open(Plan { bodies: Some(8 * 1024), ..Plan::default() }).await;
    let mut lines = Lines::of(house.socket()).await;
    let fill = "x".repeat(4 * 1024);
    for _ in 0..8 {
        assert_eq!(lines.ask("abort", json!({"k": fill})).await["ok"], true);
    }
    let told = lines.ask("abort", json!({"k": fill.repeat(2)})).await;
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!(null), &json!("too_many_bodies")));
    assert_eq!(lines.hear().await, None);
}

#[tokio::test]
async fn so_many_lines_are_answered_at_a_time_and_no_more() {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = waiting(Arc::clone(&entered), Arc::clone(&leave));
    let house = House::open(Plan { handler, ..Plan::default() }).await;
    let mut lines = Lines::of(house.socket()).await;
    for idx in 0..CONTROL_REQUESTS_MAX {
        lines.say(idx, "session_show", json!({"id": "x"})).await;
        entered.notified().await;
    }
    // The next one is heard once there is room.
    lines.say("late", "status", json!({})).await;
    leave.notify_one();
    assert_eq!(lines.hear().await.unwrap()["result"], "x");
    assert_eq!(lines.hear().await.unwrap()["id"], "late");
    for _ in 1..CONTROL_REQUESTS_MAX {
        leave.notify_one();
        assert_eq!(lines.hear().await.unwrap()["result"], "x");
    }
}

#[tokio::test]
async fn so_many_streams_are_told_on_a_connection_and_no_more() {
    let house = House::open(Plan::default()).await;
    let mut lines = Lines::of(house.socket()).await;
    for idx in 0..CONTROL_STREAMS_MAX {
        lines.say(idx, "subscribe", json!({})).await;
        assert_eq!(lines.hear().await.unwrap()["id"], idx);
    }
    assert_eq!(lines.ask("subscribe", json!({})).await["error"]["code"], "too_many_streams");
    assert_eq!(lines.ask("status", json!({})).await["ok"], true);
    let mut other = Lines::of(house.socket()).await;
    assert_eq!(other.ask("subscribe", json!({})).await["event"], "message");
}

#[tokio::test]
async fn who_says_nothing_is_let_go_and_who_listens_is_not() {
    assert_eq!(Bounds::default().head_read, Duration::from_millis(HEAD_READ_MS_MAX));
    let house = House::open(bounded(|b| b.head_read = Duration::from_millis(50))).await;
    let mut listens = Lines::of(house.socket()).await;
    assert_eq!(listens.ask("subscribe", json!({})).await["event"], "message");
    let mut silent = house.unix().await;
    assert_eq!(silent.read(&mut [0]).await.unwrap_or(0), 0);
    let mut lines = Lines::of(house.socket()).await;
    assert_eq!(lines.ask("status", json!({})).await["ok"], true);
    assert_eq!(lines.hear().await, None);
    // The others went after it had begun to listen, and it is still heard.
    assert_eq!(listens.ask("status", json!({})).await["ok"], true);
}

#[tokio::test]
async fn a_line_that_does_not_arrive_in_time_is_the_last_one() {
    let house =
        House::open(Plan { body_read: Some(Duration::from_millis(50)), ..Plan::default() }).await;
    let mut lines = Lines::of(house.socket()).await;
    assert_eq!(lines.ask("subscribe", json!({})).await["event"], "message");
    lines.send(b"{\"id\":1,").await;
    let told = lines.hear().await.unwrap();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!(null), &json!("body_timeout")));
    assert_eq!(lines.hear().await, None);
}

#[tokio::test]
async fn a_client_that_does_not_read_lines_is_cut_and_slows_nobody() {
    let alive = Arc::new(tokio::sync::watch::Sender::new(()));
    let held = Arc::clone(&alive);
    let rest = echo();
    let mut plan = bounded(|b| b.stall = Duration::from_millis(100));
    plan.handler = Arc::new(move |endpoint, ask| {
        if endpoint != Endpoint::Events {
            return rest(endpoint, ask);
        }
        let (frame, here) = (format!("data: \"{}\"\n\n", "x".repeat(16 * 1024)), held.subscribe());
        let frames = stream::repeat_with(move || {
            drop(here.has_changed());
            Ok(Bytes::from(frame.clone()))
        });
        let events = Box::new(Events::new(frames));
        Box::pin(async move { Ok(Reply::Events(events, Vec::new())) })
    });
    let house = House::open(plan).await;
    let (mut deaf, mut keen) = (Lines::of(house.socket()).await, Lines::of(house.socket()).await);
    deaf.say(1, "subscribe", json!({})).await;
    assert_eq!(deaf.hear().await.unwrap()["id"], 1);
    keen.say(1, "subscribe", json!({})).await;
    for _ in 0..1_000 {
        assert_eq!(keen.hear().await.unwrap()["event"], "message");
    }
    // Between the lines of a stream others find their way.
    keen.say(2, "status", json!({})).await;
    while keen.hear().await.unwrap()["id"] != 2 {}
    drop(keen);
    alive.closed().await;
    drop(deaf);
}

#[tokio::test]
async fn a_drain_lets_answers_out_and_waits_for_no_line() {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = waiting(Arc::clone(&entered), Arc::clone(&leave));
    let house = House::open(Plan { handler, ..Plan::default() }).await;
    let (mut idle, mut busy, mut silent) =
        (Lines::of(house.socket()).await, Lines::of(house.socket()).await, house.unix().await);
    idle.send(b"{\"half").await;
    busy.say(1, "session_show", json!({"id": "x"})).await;
    entered.notified().await;
    let House { server, dir: _dir } = house;
    let drain = server.drain(Duration::from_secs(3_600));
    let last = async {
        assert_eq!(idle.hear().await, None);
        assert_eq!(silent.read(&mut [0]).await.unwrap_or(0), 0);
        leave.notify_one();
        let told = busy.hear().await.unwrap();
        (told["result"].clone(), busy.hear().await)
    };
    let (cut, told) = tokio::join!(drain, last);
    assert_eq!((cut, told), (0, (json!("x"), None)));
}

#[tokio::test]
async fn on_tcp_nobody_speaks_lines() {
    let house = House::open(Plan::default()).await;
    let mut tcp = house.tcp().await;
    tcp.write_all(b"{\"id\":1,\"op\":\"status\"}\n\r\n\r\n").await.unwrap();
    let answer = crate::testing::read_answer(&mut tcp).await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (400, "malformed_request"));
}
